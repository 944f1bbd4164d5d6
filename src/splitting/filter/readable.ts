import type { Range } from "./code-points.ts";

/** Best first: what a person reads easily, and no shell or terminal misunderstands. */
const PREFERRED: readonly Range[] = [
  [0x61, 0x7a], // a to z
  [0x30, 0x39], // 0 to 9
  [0x41, 0x5a], // A to Z
  [0x2d, 0x2e], // - and .
  [0x5f, 0x5f], // _
  [0x21, 0x7e],
  [0x20, 0x20],
  [0xc0, 0x24f], // Latin letters
  [0x370, 0x4ff], // Greek and Cyrillic
  [0x3041, 0x30ff],
  [0x4e00, 0x9fff],
  [0x1f300, 0x1f5ff],
  [0, 0x10ffff],
];

export interface ReadableCodePoint {
  codePoint: number;
  /** Lower is better. */
  rank: number;
}

/** The best one from `from` to `to`, both included. */
export function readableIn(from: number, to: number): ReadableCodePoint {
  const rank = PREFERRED.findIndex(([first, last]) => first <= to && from <= last);
  const [first] = PREFERRED[rank] as Range;
  return { codePoint: Math.max(from, first), rank };
}
