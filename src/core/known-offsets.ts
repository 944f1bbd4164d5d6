import { assert } from "./assert.ts";

/**
 * Which offsets a group has read above the commit horizon (G9). There a smaller offset may still appear after a
 * larger one was read, so "everything up to here" is not known: the offsets themselves are kept, each exactly.
 *
 *   known   = everything at or below `sureOffset`, and the kept offsets above it
 *   unsaved = kept offsets that are in no chunk spilled so far, a subset of known
 *
 * Invariants: kept offsets lie above `sureOffset`, which never goes back; intervals are ascending, and between two
 * of them at least one integer is missing, so that each set has one form and one text. An interval never covers an
 * integer that was not added.
 *
 * Saving. The owner writes `unsavedText` with the group's row, and, when that grows too long for a row that is
 * written so often, what `spill` returns as a chunk of its own, in the same transaction. A chunk may be deleted once
 * its `lastOffset` is at or below the saved sure offset. `load` takes both back; what was in the row is unsaved again,
 * for the row's next text must hold it. Memory is ahead of the rows: after a failed transaction, load anew.
 */
export class KnownOffsets {
  private sure: number;
  private readonly known = new IntervalSet();
  private readonly unsaved = new IntervalSet();
  /** Of all unsaved intervals but the last, which may still grow; null: to be made anew. */
  private closedText: string | null = "";
  /** Where the text after `closedText` begins to count. */
  private closedThrough = NOTHING_BEFORE;

  constructor(sureOffset: number) {
    assertOffset(sureOffset);
    this.sure = sureOffset;
  }

  /** From the saved rows: texts of chunks in any order, and the text in the group's row. Throws for any other text. */
  static load(sureOffset: number, spilledTexts: Iterable<string>, unsavedText: string): KnownOffsets {
    const loaded = new KnownOffsets(sureOffset);
    for (const text of spilledTexts) {
      for (const { first, last } of decodeOffsets(text)) loaded.known.add(first, last);
    }
    for (const { first, last } of decodeOffsets(unsavedText)) {
      loaded.known.add(first, last);
      loaded.unsaved.add(first, last);
    }
    loaded.closedText = null;
    loaded.dropThrough(sureOffset);
    return loaded;
  }

  /** Highest offset that is certainly complete: everything at or below it counts as known. */
  get sureOffset(): number {
    return this.sure;
  }

  /** How many intervals of consecutive offsets are kept: what memory goes by. */
  get size(): number {
    return this.known.size;
  }

  has(offset: number): boolean {
    return offset <= this.sure || this.known.has(offset);
  }

  /** false when it was known. Constant time above all others, else that of a search. */
  add(offset: number): boolean {
    assertOffset(offset);
    if (offset <= this.sure || !this.known.add(offset, offset)) return false;
    this.addUnsaved(offset);
    return true;
  }

  /** Everything at or below `offset` is complete: single offsets there are forgotten. Never goes back. */
  raiseSure(offset: number): void {
    assertOffset(offset);
    if (offset <= this.sure) return;
    this.sure = offset;
    this.dropThrough(offset);
  }

  /** Offsets added since the last `spill`, those still above `sureOffset`, encoded; "" for none. */
  get unsavedText(): string {
    const last = this.unsaved.last;
    if (!last) return "";
    if (this.closedText === null) this.closeText();
    return this.closedText + intervalText(this.closedThrough, last.first, last.last);
  }

  /** How many offsets `unsavedText` holds. */
  get unsavedCount(): number {
    let count = 0;
    for (const { first, last } of this.unsaved.intervals()) count += last - first + 1;
    return count;
  }

  /** Takes what is unsaved out as a chunk to be saved now; null when there is nothing. */
  spill(): { lastOffset: number; text: string } | null {
    const last = this.unsaved.last;
    if (!last) return null;
    const chunk = { lastOffset: last.last, text: this.unsavedText };
    this.unsaved.clear();
    this.closedText = null;
    return chunk;
  }

  private addUnsaved(offset: number): void {
    const last = this.unsaved.last;
    this.unsaved.add(offset, offset);
    if (this.closedText === null || last?.last === offset - 1) return;
    if (last && offset < last.last) {
      this.closedText = null;
    } else if (last) {
      this.closedText += intervalText(this.closedThrough, last.first, last.last);
      this.closedThrough = last.last;
    }
  }

  private closeText(): void {
    let text = "";
    let through = NOTHING_BEFORE;
    let open: Interval | null = null;
    for (const interval of this.unsaved.intervals()) {
      if (open) {
        text += intervalText(through, open.first, open.last);
        through = open.last;
      }
      open = interval;
    }
    this.closedText = text;
    this.closedThrough = through;
  }

  private dropThrough(offset: number): void {
    this.known.dropThrough(offset);
    if (this.unsaved.dropThrough(offset)) this.closedText = null;
  }
}

/** Consecutive integers, both ends included. */
export interface Interval {
  first: number;
  last: number;
}

/** So that inserting into a million intervals moves few numbers, and finding a chunk reads few. */
const MAX_CHUNK_INTERVALS = 256;

interface Chunk {
  firsts: number[];
  lasts: number[];
}

/** Ascending intervals, in chunks that are never empty. */
class IntervalSet {
  size = 0;
  private chunks: Chunk[] = [];

  get last(): Interval | null {
    const chunk = this.chunks[this.chunks.length - 1];
    if (!chunk) return null;
    const at = chunk.firsts.length - 1;
    return { first: chunk.firsts[at] as number, last: chunk.lasts[at] as number };
  }

  *intervals(): Generator<Interval> {
    for (const { firsts, lasts } of this.chunks) {
      for (const [at, first] of firsts.entries()) yield { first, last: lasts[at] as number };
    }
  }

  has(offset: number): boolean {
    const chunk = this.chunks[this.chunkAt(offset)];
    return chunk !== undefined && lastThrough(chunk, offset) >= offset;
  }

  /** false when all of it was there. */
  add(first: number, last: number): boolean {
    const at = this.chunkAt(first);
    const chunk = this.chunks[at];
    const place = chunk ? countThrough(chunk.firsts, first) - 1 : -1;
    const before = chunk?.lasts[place] ?? NOTHING_BEFORE;
    if (before >= last) return false;
    if (chunk && before >= first - 1) {
      chunk.lasts[place] = last;
    } else {
      this.insert(at, place + 1, first, last);
    }
    this.joinAfter(first);
    return true;
  }

  /** false when nothing was there. */
  dropThrough(offset: number): boolean {
    let dropped = 0;
    for (const { firsts, lasts } of this.chunks) {
      if ((lasts[lasts.length - 1] as number) > offset) break;
      this.size -= firsts.length;
      dropped += 1;
    }
    this.chunks.splice(0, dropped);
    const chunk = this.chunks[0];
    if (!chunk || (chunk.firsts[0] as number) > offset) return dropped > 0;
    const whole = countThrough(chunk.lasts, offset);
    chunk.firsts.splice(0, whole);
    chunk.lasts.splice(0, whole);
    this.size -= whole;
    if ((chunk.firsts[0] as number) <= offset) chunk.firsts[0] = offset + 1;
    return true;
  }

  clear(): void {
    this.chunks = [];
    this.size = 0;
  }

  private insert(at: number, place: number, first: number, last: number): void {
    const chunk = this.chunks[Math.max(at, 0)];
    this.size += 1;
    if (!chunk) {
      this.chunks.push({ firsts: [first], lasts: [last] });
      return;
    }
    chunk.firsts.splice(place, 0, first);
    chunk.lasts.splice(place, 0, last);
    if (chunk.firsts.length <= MAX_CHUNK_INTERVALS) return;
    // Ascending is the rule: then chunks are left full, not half full.
    const grewAtEnd = at === this.chunks.length - 1 && place === MAX_CHUNK_INTERVALS;
    const kept = grewAtEnd ? MAX_CHUNK_INTERVALS : MAX_CHUNK_INTERVALS / 2;
    const rest = { firsts: chunk.firsts.splice(kept), lasts: chunk.lasts.splice(kept) };
    this.chunks.splice(Math.max(at, 0) + 1, 0, rest);
  }

  /** The interval that holds `first` takes in those after it that it touches. */
  private joinAfter(first: number): void {
    const at = this.chunkAt(first);
    const chunk = this.chunks[at] as Chunk;
    const place = countThrough(chunk.firsts, first) - 1;
    for (;;) {
      const isLastHere = place === chunk.firsts.length - 1;
      const next = isLastHere ? this.chunks[at + 1] : chunk;
      const nextPlace = isLastHere ? 0 : place + 1;
      const last = chunk.lasts[place] as number;
      if (!next || (next.firsts[nextPlace] as number) > last + 1) return;
      chunk.lasts[place] = Math.max(last, next.lasts[nextPlace] as number);
      next.firsts.splice(nextPlace, 1);
      next.lasts.splice(nextPlace, 1);
      this.size -= 1;
      if (next.firsts.length === 0) this.chunks.splice(at + 1, 1);
    }
  }

  /** The last chunk that begins at or below `offset`, -1 if none does. */
  private chunkAt(offset: number): number {
    let low = 0;
    let high = this.chunks.length;
    const last = this.chunks[high - 1];
    if (last && (last.firsts[0] as number) <= offset) return high - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (((this.chunks[middle] as Chunk).firsts[0] as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Where the last interval that begins at or below `offset` ends. */
function lastThrough({ firsts, lasts }: Chunk, offset: number): number {
  return lasts[countThrough(firsts, offset) - 1] ?? NOTHING_BEFORE;
}

/** How many of the ascending numbers are at most `limit`. */
function countThrough(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length;
  if (high > 0 && (ascending[high - 1] as number) <= limit) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The text of a set of offsets: for each interval the integers missing before it, less one, and, if it is longer
 * than one, RUN and its length less two. A number is its digits in base 32, highest first; the last digit is
 * taken from the second half of DIGITS, so that no separator is needed. Offsets a millisecond apart take two or
 * three bytes.
 */
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE = 32;
const RUN = "~";
/** So that the first interval is written as where it begins. */
export const NOTHING_BEFORE = -2;

/** Ascending intervals of safe integers from 0, at least one integer missing between two. Printable ASCII. */
export function encodeOffsets(intervals: readonly Interval[]): string {
  let text = "";
  let through = NOTHING_BEFORE;
  for (const { first, last } of intervals) {
    text += intervalText(through, first, last);
    through = last;
  }
  return text;
}

/** What one interval adds to a text that ends with the interval through `through`. */
export function intervalText(through: number, first: number, last: number): string {
  assertOffset(first);
  assertOffset(last);
  assert(first > through + 1 && last >= first, "intervals are ascending and apart");
  // In this order every step is exact, up to the largest offset.
  const gap = numberText(first - (through + 2));
  return last === first ? gap : gap + RUN + numberText(last - first - 1);
}

/** Throws `AssertionFailure` for anything that `encodeOffsets` does not write. */
export function decodeOffsets(text: string): Interval[] {
  const intervals: Interval[] = [];
  let at = 0;
  let through = NOTHING_BEFORE;
  const readNumber = (): number => {
    let value = 0;
    const begin = at;
    for (;;) {
      const digit = DIGITS.indexOf(text.charAt(at));
      // charAt beyond the end is "", which is found at 0.
      assert(at < text.length && digit >= 0, "text of offsets: a digit is missing");
      assert(digit !== 0 || at > begin, "text of offsets: a number begins with 0");
      at += 1;
      value = value * BASE + (digit % BASE);
      if (digit >= BASE) return value;
    }
  };
  while (at < text.length) {
    const first = through + 2 + readNumber();
    through = first;
    if (text.charAt(at) === RUN) {
      at += 1;
      through = first + 1 + readNumber();
    }
    // A sum of numbers that are not exact any more is not below the largest exact one either.
    assert(Number.isSafeInteger(through), "text of offsets: an offset is too large");
    intervals.push({ first, last: through });
  }
  return intervals;
}

function numberText(value: number): string {
  let text = DIGITS.charAt(BASE + (value % BASE));
  for (let rest = Math.floor(value / BASE); rest > 0; rest = Math.floor(rest / BASE)) {
    text = DIGITS.charAt(rest % BASE) + text;
  }
  return text;
}

export function assertOffset(offset: number): void {
  assert(Number.isSafeInteger(offset) && offset >= 0, "an offset is a safe integer from 0");
}
