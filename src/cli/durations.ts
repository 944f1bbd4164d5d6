import { InvalidArgumentError } from "commander";
import { MAX_DURATION_MS } from "../core/limits.ts";

const MS_PER_UNIT = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 24 * 3_600_000],
]);

/** Milliseconds of a text like 500ms, 5s, 10m, 2h or 7d; null where it is none, or more than ten years. */
export function durationMs(text: string): number | null {
  const match = /^([0-9]{1,15})(ms|s|m|h|d)$/.exec(text);
  const unitMs = MS_PER_UNIT.get(match?.[2] ?? "");
  if (!match || unitMs === undefined) return null;
  const ms = Number(match[1]) * unitMs;
  return ms <= MAX_DURATION_MS ? ms : null;
}

/** As a flag's value. */
export function durationFlag(text: string): number {
  const ms = durationMs(text);
  if (ms === null) throw new InvalidArgumentError("Give a duration like 500ms, 5s, 10m, 2h or 7d.");
  return ms;
}

/** A duration that only makes sense when it is some time at all. */
export function timeoutFlag(text: string): number {
  const ms = durationFlag(text);
  if (ms === 0) throw new InvalidArgumentError("Give a duration above 0, like 500ms, 5s or 10m.");
  return ms;
}

/** A whole number from `min` to `max`, as a flag's value. */
export function integerFlag(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}

/** An offset of a topic's log. */
export const offsetFlag = integerFlag(0, Number.MAX_SAFE_INTEGER);

const STEPS: readonly [unit: string, ms: number, below: number][] = [
  ["ms", 1, 1000],
  ["s", 1000, 120],
  ["min", 60_000, 120],
  ["h", 3_600_000, 48],
  ["d", 24 * 3_600_000, Number.POSITIVE_INFINITY],
];

/** For reading: "350 ms", "12 s", "3 min", "5 h", "9 d". */
export function durationText(ms: number): string {
  for (const [unit, unitMs, below] of STEPS) {
    const value = Math.round(ms / unitMs);
    if (value < below) return `${value} ${unit}`;
  }
  return `${ms} ms`;
}
