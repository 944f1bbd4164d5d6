import type { Run } from "./run.ts";
import { relativeText } from "./times.ts";

/** A number of messages as the API counts them: exact, or a lower bound. */
export function countText(count: number, atLeast?: boolean): string {
  return atLeast ? `${count}+` : String(count);
}

/** "1 message", "3 messages". */
export function counted(count: number, thing: string, atLeast?: boolean): string {
  return `${countText(count, atLeast)} ${thing}${count === 1 && !atLeast ? "" : "s"}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** A time in a table: how long ago on a terminal, ISO for a program. */
export function ageCell(run: Run, atMs: number | null): string {
  if (atMs === null) return run.out.terminal ? "–" : "";
  return run.out.terminal ? relativeText(atMs, run.nowMs) : new Date(atMs).toISOString();
}

/** Lines of "name   value", aligned; those without a value are left out. */
export function facts(rows: readonly (readonly [name: string, value: string | null])[]): string {
  const given = rows.filter(([, value]) => value !== null);
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}
