/** Ranges of code points with both ends, ascending and apart. Never a surrogate: no well-formed text has one. */
export type CodePointSet = readonly Range[];
export type Range = readonly [from: number, to: number];

const encoder = new TextEncoder();
const LAST = 0x10ffff;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

export const EVERY_CODE_POINT: CodePointSet = [
  [0, FIRST_SURROGATE - 1],
  [LAST_SURROGATE + 1, LAST],
];

/** The union of ranges in any order. */
export function codePointSet(ranges: readonly Range[]): CodePointSet {
  const sorted = ranges.flatMap(withoutSurrogates).sort((a, b) => a[0] - b[0]);
  const set: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = set.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else set.push([from, to]);
  }
  return set;
}

/** All others. */
export function inverse(set: CodePointSet): CodePointSet {
  const others: Range[] = [];
  let next = 0;
  for (const [from, to] of set) {
    if (from > next) others.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= LAST) others.push([next, LAST]);
  return codePointSet(others);
}

export function codePointsOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) as number);
}

/** Stops counting at the limit, so that a long text costs no more than a short one. */
export function hasMoreCodePoints(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _ of text) if (++count > max) return true;
  return false;
}

/** Whether it has more than `max` bytes in UTF-8. */
export function hasMoreBytes(text: string, max: number): boolean {
  // A unit of UTF-16 is one to three bytes.
  if (text.length > max) return true;
  return 3 * text.length > max && encoder.encode(text).length > max;
}

function withoutSurrogates([from, to]: Range): Range[] {
  if (to < FIRST_SURROGATE || from > LAST_SURROGATE) return [[from, to]];
  const parts: Range[] = [];
  if (from < FIRST_SURROGATE) parts.push([from, FIRST_SURROGATE - 1]);
  if (to > LAST_SURROGATE) parts.push([LAST_SURROGATE + 1, to]);
  return parts;
}
