import { durationText } from "./durations.ts";

const two = (value: number) => String(value).padStart(2, "0");

/** Local time of the day; with the date where it is not today's. */
export function timeText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** "3 min ago", "in 12 s", "now". */
export function relativeText(atMs: number, nowMs: number): string {
  const awayMs = atMs - nowMs;
  // Clocks of two machines differ by more than this.
  if (Math.abs(awayMs) < 500) return "now";
  return awayMs > 0 ? `in ${durationText(awayMs)}` : `${durationText(-awayMs)} ago`;
}

/** Both: "14:03:02 (in 12 s)". */
export function momentText(atMs: number, nowMs: number): string {
  return `${timeText(atMs, nowMs)} (${relativeText(atMs, nowMs)})`;
}
