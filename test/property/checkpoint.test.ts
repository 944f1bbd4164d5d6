import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CheckpointRow,
  isSettledBy,
  nextCheckpoint,
  type ParsedCheckpoint,
  type PartitionNow,
  parseCheckpoint,
} from "../../src/core/checkpoint.ts";
import { encodeOffsets, type Interval } from "../../src/core/known-offsets.ts";
import { type DueCursor, hasArrived } from "../../src/core/unsettled.ts";
import { holds } from "./replay.ts";

const NO_LIMIT = Number.MAX_SAFE_INTEGER;

interface Entry {
  offset: number;
  delayed: boolean;
  dueAtMs: number;
  /** false: its offset was given, and it is going to appear later. */
  committed: boolean;
}

type Step =
  | { kind: "publish"; gap: number; delayMs: number; late: boolean }
  | { kind: "commit"; at: number }
  | { kind: "read"; part: number; dueCut: number }
  | { kind: "settle"; at: number; count: number }
  | { kind: "checkpoint"; maxBytes: number; saved: boolean }
  | { kind: "lose" }
  | { kind: "clock"; byMs: number };

const place = fc.nat(1000);
const publish = fc.record({
  kind: fc.constant("publish" as const),
  gap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5000 })),
  delayMs: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 60 })),
  late: fc.boolean(),
});
const commit = fc.record({ kind: fc.constant("commit" as const), at: place });
const read = fc.record({
  kind: fc.constant("read" as const),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  dueCut: fc.oneof(fc.constant(0), place),
});
const settle = fc.record({
  kind: fc.constant("settle" as const),
  at: place,
  count: fc.integer({ min: 1, max: 6 }),
});
const lose = fc.constant({ kind: "lose" as const });
const clock = fc.record({ kind: fc.constant("clock" as const), byMs: fc.integer({ min: -20, max: 40 }) });

function steps(maxBytes: fc.Arbitrary<number>): fc.Arbitrary<Step[]> {
  const checkpoint = fc.record({
    kind: fc.constant("checkpoint" as const),
    maxBytes,
    saved: fc.integer({ min: 0, max: 9 }).map((chance) => chance > 0),
  });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: publish },
    { weight: 2, arbitrary: commit },
    { weight: 4, arbitrary: read },
    { weight: 4, arbitrary: settle },
    { weight: 4, arbitrary: checkpoint },
    { weight: 1, arbitrary: lose },
    { weight: 2, arbitrary: clock },
  );
  return fc.array(step, { maxLength: 60, size: "max" });
}

/** A partition, its stored row, and a group that reads it, as simple as can be: what it read is a set. */
class World {
  nowMs = 1000;
  readonly entries: Entry[] = [];
  /** By any object ever. */
  readonly settled = new Set<number>();
  row: CheckpointRow | null = null;
  rowsMade = 0;

  // Gone with the object.
  private loaded: ParsedCheckpoint | null = null;
  private readThrough = 0;
  private completeOffset = 0;
  private due: DueCursor = { dueAtMs: 1000, offset: NO_LIMIT };
  private seen = new Set<number>();
  private held: number[] = [];
  /** By this object, and not left out of a row for want of room. */
  private settledHere = new Set<number>();
  private settledSince: number[] = [];

  take(step: Step): void {
    switch (step.kind) {
      case "publish": {
        const offset = (this.entries.at(-1)?.offset ?? 0) + step.gap;
        const entry = { offset, delayed: step.delayMs > 0, dueAtMs: this.nowMs + step.delayMs };
        this.entries.push({ ...entry, committed: !step.late });
        return;
      }
      case "commit": {
        const open = this.entries.filter((entry) => !entry.committed);
        const entry = open[step.at % open.length];
        if (entry) entry.committed = true;
        return;
      }
      case "read":
        this.read(step.part, step.dueCut);
        return;
      case "settle":
        for (const offset of this.held.splice(step.at % Math.max(1, this.held.length), step.count)) {
          this.settled.add(offset);
          this.settledHere.add(offset);
          this.settledSince.push(offset);
        }
        return;
      case "checkpoint":
        this.checkpoint(step.maxBytes, step.saved);
        return;
      case "lose":
        this.lose();
        return;
      case "clock":
        this.nowMs = Math.max(0, this.nowMs + step.byMs);
    }
  }

  /** Brings all that was committed up to somewhere, what was late included, and of the delayed what arrived. */
  private read(part: number, dueCut: number): void {
    const reached = this.entries[Math.floor(part * this.entries.length)]?.offset ?? 0;
    this.readThrough = Math.max(this.readThrough, reached);
    this.due = this.dueAfter(dueCut);
    for (const entry of this.entries) {
      if (!entry.committed || entry.offset > this.readThrough || this.seen.has(entry.offset)) continue;
      if (entry.delayed && !hasArrived(entry, this.due)) continue;
      this.seen.add(entry.offset);
      if (this.loaded && isSettledBy(this.loaded, entry)) continue;
      this.held.push(entry.offset);
    }
    this.held.sort((a, b) => a - b);
    const lowestOpen = this.entries.find((entry) => !entry.committed)?.offset ?? NO_LIMIT;
    this.completeOffset = Math.min(this.readThrough, lowestOpen - 1);
  }

  /** A full page of due entries ends at one of them; else all is due through now. Never back. */
  private dueAfter(dueCut: number): DueCursor {
    const whole = { dueAtMs: this.nowMs, offset: NO_LIMIT };
    const cut = this.entries.filter((entry) => entry.delayed && hasArrived(entry, whole));
    const { dueAtMs, offset } = (dueCut > 0 ? cut[dueCut % cut.length] : null) ?? whole;
    return hasArrived({ dueAtMs, offset }, this.due) ? this.due : { dueAtMs, offset };
  }

  private checkpoint(maxBytes: number, saved: boolean): void {
    const before = this.row;
    const { completeOffset, due } = this;
    const now = { completeOffset, due, unsettled: this.held, settled: this.settledSince };
    const next = nextCheckpoint(before, now, maxBytes);
    if (next) {
      this.rowsMade += 1;
      expect(next.ackedOffset).toBeGreaterThanOrEqual(before?.ackedOffset ?? 0);
      expect(before === null || hasArrived(before.due, next.due)).toBe(true);
      expect(next.unsettled.length + next.ackedAbove.length).toBeLessThanOrEqual(maxBytes);
      expect(next).not.toEqual(before);
    }
    if (maxBytes === NO_LIMIT) this.checkComplete(before, next ?? before);
    if (!saved) return;
    this.row = next ?? before;
    this.settledSince = [];
    // What did not fit may come again: nothing more is expected of it.
    if (maxBytes !== NO_LIMIT) this.settledHere = new Set();
  }

  /** With room for all, a row says what the one before said and what this object settled. */
  private checkComplete(before: CheckpointRow | null, after: CheckpointRow | null): void {
    const [was, is] = [before, after].map((row) => row && parseCheckpoint(row));
    const goesOn = !before || (this.completeOffset >= before.ackedOffset && hasArrived(before.due, this.due));
    if (goesOn && after) expect(after.due).toEqual(this.due);
    for (const entry of this.entries) {
      const claimed = is ? isSettledBy(is, entry) : false;
      const wasClaimed = was ? isSettledBy(was, entry) : false;
      const arrived = !entry.delayed || (after !== null && hasArrived(entry, after.due));
      const expected = wasClaimed || (this.settledHere.has(entry.offset) && arrived);
      if (expected && !claimed)
        expect(after, `claims ${JSON.stringify(entry)} after ${JSON.stringify(before)}`).toBe("");
    }
  }

  private lose(): void {
    this.loaded = this.row && parseCheckpoint(this.row);
    this.readThrough = 0;
    this.completeOffset = 0;
    this.due = { dueAtMs: this.nowMs, offset: NO_LIMIT };
    this.seen = new Set();
    this.held = [];
    this.settledHere = new Set();
    this.settledSince = [];
  }

  /** What would be lost with the object now: claimed by the row, and settled by nobody. */
  wronglyClaimed(): Entry[] {
    const row = this.row && parseCheckpoint(this.row);
    return this.entries.filter((entry) => row && !this.settled.has(entry.offset) && isSettledBy(row, entry));
  }
}

describe("checkpoints over the losses of an object", () => {
  test.each([
    ["any room", fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constant(NO_LIMIT))],
    ["room for all", fc.constant(NO_LIMIT)],
  ])("G2 never claim what nobody settled, and forget nothing they have room for (%s)", (_, maxBytes) => {
    let rowsMade = 0;
    holds(
      fc.property(steps(maxBytes), (all) => {
        const world = new World();
        for (const next of all) {
          world.take(next);
          if (world.wronglyClaimed().length > 0) {
            expect(world.wronglyClaimed(), JSON.stringify(world.row)).toEqual([]);
          }
        }
        rowsMade += world.rowsMade;
      }),
      3000,
    );
    expect(rowsMade).toBeGreaterThan(3000);
  });
});

/** So few that every combination of row and knowledge comes up. */
const OFFSETS = Array.from({ length: 12 }, (_, at) => at + 1);
const DUE_TIMES = [0, 1, 2, 3, 4];

const some = fc.subarray(OFFSETS);
const cursor = fc.record({ dueAtMs: fc.constantFrom(...DUE_TIMES), offset: fc.constantFrom(...OFFSETS) });
const anyRow = fc
  .record({ ackedOffset: fc.constantFrom(0, ...OFFSETS), unsettled: some, ackedAbove: some, due: cursor })
  .map(({ ackedOffset, unsettled, ackedAbove, due }) => ({
    ackedOffset,
    unsettled: encodeOffsets(intervalsOf(unsettled.filter((offset) => offset <= ackedOffset))),
    ackedAbove: encodeOffsets(intervalsOf(ackedAbove.filter((offset) => offset > ackedOffset))),
    due,
  }));
const anyNow: fc.Arbitrary<PartitionNow> = fc.record({
  completeOffset: fc.constantFrom(0, ...OFFSETS),
  unsettled: some,
  settled: fc.array(fc.constantFrom(...OFFSETS), { maxLength: 6 }),
  due: cursor,
});

/** Every entry that there could be at these offsets. */
const POSSIBLE = OFFSETS.flatMap((offset) => [
  { offset, delayed: false, dueAtMs: 0 },
  ...DUE_TIMES.map((dueAtMs) => ({ offset, delayed: true, dueAtMs })),
]);

function intervalsOf(ascending: readonly number[]): Interval[] {
  const intervals: Interval[] = [];
  for (const offset of ascending) {
    const open = intervals.at(-1);
    if (open?.last === offset - 1) open.last = offset;
    else intervals.push({ first: offset, last: offset });
  }
  return intervals;
}

describe("a checkpoint made of any row and any knowledge", () => {
  test("claims what one of them knows, never what is held, and with room for all keeps every claim", () => {
    holds(
      fc.property(
        fc.option(anyRow),
        anyNow,
        fc.constantFrom(0, 1, 2, 3, 4, NO_LIMIT),
        (before, now, maxBytes) => {
          const next = nextCheckpoint(before, now, maxBytes);
          fc.pre(next !== null);
          const was = before && parseCheckpoint(before);
          const is = parseCheckpoint(next);
          const named = new Set(now.settled);
          const open = new Set(now.unsettled);
          for (const entry of POSSIBLE) {
            const { offset, delayed } = entry;
            const claimed = isSettledBy(is, entry);
            const wasClaimed = was !== null && isSettledBy(was, entry);
            const wasNamed = was?.ackedAbove.some(({ first, last }) => first <= offset && offset <= last);
            const isComplete = offset <= now.completeOffset && (!delayed || hasArrived(entry, now.due));
            const known = wasClaimed || wasNamed || named.has(offset) || isComplete;
            if (claimed) expect([entry, known && !open.has(offset)]).toEqual([entry, true]);
            const arrived = !delayed || hasArrived(entry, next.due);
            const keeps = !open.has(offset) && (wasClaimed || (named.has(offset) && arrived));
            if (maxBytes === NO_LIMIT && keeps) expect([entry, claimed]).toEqual([entry, true]);
          }
          expect(next.ackedOffset).toBeGreaterThanOrEqual(before?.ackedOffset ?? 0);
          expect(next.unsettled.length + next.ackedAbove.length).toBeLessThanOrEqual(maxBytes);
        },
      ),
      5000,
    );
  });

  test("is left as it is when asked again", () => {
    holds(
      fc.property(fc.option(anyRow), anyNow, (before, now) => {
        const next = nextCheckpoint(before, now, NO_LIMIT);
        fc.pre(next !== null);
        expect(nextCheckpoint(next, now, NO_LIMIT)).toBeNull();
      }),
      2000,
    );
  });
});
