import { assert } from "./assert.ts";
import {
  assertOffset,
  decodeOffsets,
  encodeOffsets,
  type Interval,
  intervalText,
  NOTHING_BEFORE,
} from "./known-offsets.ts";
import { type DueCursor, hasArrived } from "./unsettled.ts";

/**
 * What a group has settled in one partition, as a row that outlives the tenant object. A new object reads the log
 * from the start and leaves out what the row says is settled. It may say too little, then a message comes again; if it
 * said too much, a message would be lost.
 *
 * What a row claims of an entry, the first line that fits:
 *
 *   delayed, and not arrived by `due`    not settled
 *   at or below `ackedOffset`            settled, unless in `unsettled`
 *   above it                             settled if in `ackedAbove`
 *
 * So there are two kinds of claims. Below `ackedOffset` a row claims entries that it does not name, late ones
 * included: it may rise only to where everything was read. In `ackedAbove` it names what somebody settled; no entry
 * there is guessed.
 *
 * The next row follows from two sources: the row before, and what the group knows now. After a loss neither knows
 * all: the object has read less than the row before covers, but has settled (`settled`) and holds (`unsettled`)
 * what the row cannot know. Both may be believed, each in its own reach:
 *
 *   now     at or below `completeOffset`, for what was not delayed or arrived by `now.due`
 *   before  at or below its `ackedOffset`, for what was not delayed or arrived by `before.due`
 *
 * One row has one `ackedOffset` and one `due`, so it must take both from one of them:
 *
 *   advanced  `now` reaches at least as far in both. Row of `now`, plus what `before` names above it.
 *   kept      else. `ackedOffset` and `due` stay. Were `due` raised, the row would claim delayed entries between
 *             `completeOffset` and `ackedOffset` that arrived since and were never read; were `ackedOffset` raised
 *             while `before.due` is ahead, it would claim what arrives only then. What `before` lists as unsettled
 *             goes when it is among `settled`, or when `now` reaches as far as `before.due` and has it at or below
 *             `completeOffset`.
 *
 * In a kept row, settled messages that were delayed and arrived after `before.due` cannot be claimed. They are
 * once a row advances, which is as soon as the group has read up to where it was; lost before that, they come again.
 *
 * Invariants of the result: it claims nothing that neither source knows as settled, nothing in `now.unsettled`;
 * `ackedOffset` and `due` never go back; without pressure on bytes it claims all that `before` does. `before` and `now`
 * are of one generation and reset epoch.
 */
export interface CheckpointRow {
  ackedOffset: number;
  /** Offsets at or below `ackedOffset`, by `encodeOffsets`; so is `ackedAbove`. */
  unsettled: string;
  ackedAbove: string;
  due: DueCursor;
}

/** What the group knows of one partition now. */
export interface PartitionNow {
  /**
   * Everything the partition has at or below it was read and is settled unless in `unsettled`; delayed entries
   * only if they arrived by `due`. Not above the commit horizon.
   */
  completeOffset: number;
  /**
   * Offsets that are known and not settled, on either side of `completeOffset`: deliveries, holds, and what was read
   * and waits. Ascending.
   */
  unsettled: readonly number[];
  /** Offsets settled since the row was last made, in any order, on either side of `completeOffset`. */
  settled: readonly number[];
  /**
   * Delayed entries up to here have arrived. One that is unsettled is in `unsettled` or above `completeOffset`.
   */
  due: DueCursor;
}

export interface ParsedCheckpoint {
  ackedOffset: number;
  /** Ascending and apart, both. */
  unsettled: readonly Interval[];
  ackedAbove: readonly Interval[];
  due: DueCursor;
}

/** Before its fitting into bytes. */
type Draft = Pick<ParsedCheckpoint, "ackedOffset" | "unsettled" | "due">;

/**
 * The row to store in place of `before`; null to leave that: because it is the same, or because what is
 * unsettled does not fit into `maxBytes` (of `unsettled` and `ackedAbove` together) unless `ackedOffset` went back.
 * Either way `now.settled` may be forgotten: what did not fit may come again. Ask only for partitions where
 * something was settled: a mere rise of `completeOffset` or `due` is a new row as well.
 */
export function nextCheckpoint(
  before: CheckpointRow | null,
  now: PartitionNow,
  maxBytes: number,
): CheckpointRow | null {
  assertOffset(now.completeOffset);
  const old = before && parseCheckpoint(before);
  const open = intervalsOf(now.unsettled);
  const settled = subtract(intervalsOf(now.settled.toSorted((a, b) => a - b)), open);
  const draft = !old || reaches(now, old) ? advanced(now, open) : kept(old, now, open, settled);
  const listed = fitting(draft.unsettled, maxBytes);
  // Where the list ends, so must what it is a list of exceptions to.
  const missing = draft.unsettled[listed.length];
  const ackedOffset = missing ? missing.first - 1 : draft.ackedOffset;
  if (ackedOffset < (old?.ackedOffset ?? 0)) return null;
  const unsettled = encodeOffsets(listed);
  const named = subtract(union(old?.ackedAbove ?? [], settled), open);
  const above = fitting(clip(named, ackedOffset + 1, Number.MAX_SAFE_INTEGER), maxBytes - unsettled.length);
  const row = { ackedOffset, unsettled, ackedAbove: encodeOffsets(above), due: { ...draft.due } };
  return isSame(before ?? CLAIMS_NOTHING, row) ? null : row;
}

/** Throws `AssertionFailure` when the row is none that `nextCheckpoint` makes. */
export function parseCheckpoint(row: CheckpointRow): ParsedCheckpoint {
  const { ackedOffset, due } = row;
  const unsettled = decodeOffsets(row.unsettled);
  const ackedAbove = decodeOffsets(row.ackedAbove);
  assertOffset(ackedOffset);
  assert((unsettled.at(-1)?.last ?? 0) <= ackedOffset, "unsettled offsets lie at or below ackedOffset");
  assert(
    (ackedAbove[0]?.first ?? Number.POSITIVE_INFINITY) > ackedOffset,
    "ackedAbove lies above ackedOffset",
  );
  return { ackedOffset, unsettled, ackedAbove, due };
}

/** Does the row claim that this entry is settled? What a reset put aside before it was due is not its matter. */
export function isSettledBy(
  row: ParsedCheckpoint,
  entry: { offset: number; delayed: boolean; dueAtMs: number },
): boolean {
  if (entry.delayed && !hasArrived(entry, row.due)) return false;
  if (entry.offset <= row.ackedOffset) return !includes(row.unsettled, entry.offset);
  return includes(row.ackedAbove, entry.offset);
}

/** Of a partition without a row; only its `due` is unlike any. */
const CLAIMS_NOTHING = { ackedOffset: 0, unsettled: "", ackedAbove: "", due: null };

function isSame(before: CheckpointRow | typeof CLAIMS_NOTHING, row: CheckpointRow): boolean {
  return (
    before.ackedOffset === row.ackedOffset &&
    before.unsettled === row.unsettled &&
    before.ackedAbove === row.ackedAbove &&
    (!before.due || (before.due.dueAtMs === row.due.dueAtMs && before.due.offset === row.due.offset))
  );
}

function reaches(now: PartitionNow, old: ParsedCheckpoint): boolean {
  return now.completeOffset >= old.ackedOffset && hasArrived(old.due, now.due);
}

function advanced(now: PartitionNow, open: readonly Interval[]): Draft {
  return { ackedOffset: now.completeOffset, unsettled: clip(open, 0, now.completeOffset), due: now.due };
}

function kept(
  old: ParsedCheckpoint,
  now: PartitionNow,
  open: readonly Interval[],
  settled: readonly Interval[],
): Draft {
  // While `old.due` is ahead, what is missing from `now` may not have arrived yet.
  const firstDoubtful = hasArrived(old.due, now.due) ? now.completeOffset + 1 : 0;
  const stillOpen = subtract(clip(old.unsettled, firstDoubtful, old.ackedOffset), settled);
  const unsettled = union(stillOpen, clip(open, 0, old.ackedOffset));
  return { ackedOffset: old.ackedOffset, unsettled, due: old.due };
}

/** As many of them, from the lowest on, as can be written in `maxBytes`. */
function fitting(intervals: readonly Interval[], maxBytes: number): readonly Interval[] {
  let bytes = 0;
  let through = NOTHING_BEFORE;
  for (const [at, { first, last }] of intervals.entries()) {
    bytes += intervalText(through, first, last).length;
    if (bytes > maxBytes) return intervals.slice(0, at);
    through = last;
  }
  return intervals;
}

/** Of ascending offsets, where one may be there twice. */
export function intervalsOf(ascending: readonly number[]): Interval[] {
  const intervals: Interval[] = [];
  let open: Interval | undefined;
  for (const offset of ascending) {
    assertOffset(offset);
    assert(!open || offset >= open.last, "offsets are ascending");
    if (open && offset <= open.last + 1) {
      open.last = offset;
    } else {
      open = { first: offset, last: offset };
      intervals.push(open);
    }
  }
  return intervals;
}

function clip(intervals: readonly Interval[], from: number, through: number): Interval[] {
  return intervals
    .filter(({ first, last }) => last >= from && first <= through)
    .map(({ first, last }) => ({ first: Math.max(first, from), last: Math.min(last, through) }));
}

function union(some: readonly Interval[], others: readonly Interval[]): Interval[] {
  const joined: Interval[] = [];
  for (const { first, last } of [...some, ...others].sort((a, b) => a.first - b.first)) {
    const open = joined.at(-1);
    if (open && first <= open.last + 1) open.last = Math.max(open.last, last);
    else joined.push({ first, last });
  }
  return joined;
}

function subtract(from: readonly Interval[], gone: readonly Interval[]): Interval[] {
  const left: Interval[] = [];
  let at = 0;
  for (const { first, last } of from) {
    let next = first;
    while (at < gone.length && (gone[at] as Interval).last < first) at += 1;
    // The last one looked at may reach into the next interval: `at` stays.
    for (let hole = at; next <= last; hole += 1) {
      const hit = gone[hole];
      if (!hit || hit.first > last) {
        left.push({ first: next, last });
        break;
      }
      if (hit.first > next) left.push({ first: next, last: hit.first - 1 });
      next = Math.max(next, hit.last + 1);
    }
  }
  return left;
}

function includes(intervals: readonly Interval[], offset: number): boolean {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((intervals[middle] as Interval).last < offset) low = middle + 1;
    else high = middle;
  }
  return (intervals[low]?.first ?? Number.POSITIVE_INFINITY) <= offset;
}
