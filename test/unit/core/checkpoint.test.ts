import { describe, expect, test } from "vitest";
import { AssertionFailure } from "../../../src/core/assert.ts";
import {
  type CheckpointRow,
  isSettledBy,
  nextCheckpoint,
  type PartitionNow,
  parseCheckpoint,
} from "../../../src/core/checkpoint.ts";
import { decodeOffsets, encodeOffsets } from "../../../src/core/known-offsets.ts";

const ROOM = 4096;
const DUE = { dueAtMs: 1000, offset: 50 };
const LATER = { dueAtMs: 2000, offset: 0 };
const EARLIER = { dueAtMs: 1000, offset: 49 };

function text(...offsets: number[]): string {
  return encodeOffsets(parts(offsets));
}

/** None of the offsets of these tests follows another. */
function parts(offsets: readonly number[]) {
  return offsets.map((offset) => ({ first: offset, last: offset }));
}

function offsetsOf(encoded: string): number[] {
  return decodeOffsets(encoded).flatMap(({ first, last }) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at),
  );
}

function row(over: Partial<CheckpointRow>): CheckpointRow {
  return { ackedOffset: 0, unsettled: "", ackedAbove: "", due: DUE, ...over };
}

function now(over: Partial<PartitionNow>): PartitionNow {
  return { completeOffset: 0, unsettled: [], settled: [], due: DUE, ...over };
}

describe("what a row claims", () => {
  const parsed = parseCheckpoint(row({ ackedOffset: 20, unsettled: text(10, 12), ackedAbove: text(30, 32) }));

  test.each([
    [9, true],
    [10, false],
    [11, true],
    [12, false],
    [20, true],
    [21, false],
    [30, true],
    [31, false],
    [32, true],
    [33, false],
  ])("of %i: settled %s", (offset, settled) => {
    expect(isSettledBy(parsed, { offset, delayed: false, dueAtMs: 0 })).toBe(settled);
    expect(isSettledBy(parsed, { offset, delayed: true, dueAtMs: 999 })).toBe(settled);
    // Due when it was published: whatever the due cursor says.
    expect(isSettledBy(parsed, { offset, delayed: false, dueAtMs: 9999 })).toBe(settled);
    expect(isSettledBy(parsed, { offset, delayed: true, dueAtMs: 1001 })).toBe(false);
  });

  test("of entries that are due at the same time goes by their offsets", () => {
    const all = parseCheckpoint(row({ ackedOffset: 100 }));
    expect(isSettledBy(all, { offset: 50, delayed: true, dueAtMs: 1000 })).toBe(true);
    expect(isSettledBy(all, { offset: 51, delayed: true, dueAtMs: 1000 })).toBe(false);
  });

  test.each([
    ["unsettled above ackedOffset", row({ ackedOffset: 9, unsettled: text(10) })],
    ["ackedAbove at ackedOffset", row({ ackedOffset: 9, ackedAbove: text(9) })],
    ["unsettled that is no text of offsets", row({ ackedOffset: 9, unsettled: "[]" })],
    ["ackedAbove that is no text of offsets", row({ ackedAbove: "[]" })],
    ["a negative ackedOffset", row({ ackedOffset: -1 })],
    ["an ackedOffset that is not exact", row({ ackedOffset: 2 ** 53 })],
  ])("is refused with %s", (_, wrong) => {
    expect(() => parseCheckpoint(wrong)).toThrow(AssertionFailure);
    expect(() => nextCheckpoint(wrong, now({}), ROOM)).toThrow(AssertionFailure);
  });
});

describe("the next row", () => {
  test("of a partition without one is what the group knows", () => {
    const next = nextCheckpoint(
      null,
      now({ completeOffset: 20, unsettled: [10, 25], settled: [30, 8, 22] }),
      ROOM,
    );
    expect(next).toEqual(row({ ackedOffset: 20, unsettled: text(10), ackedAbove: text(22, 30) }));
  });

  test("is none where nothing is to be said", () => {
    expect(nextCheckpoint(null, now({ unsettled: [10] }), ROOM)).toBeNull();
    const before = row({ ackedOffset: 20, unsettled: text(10), ackedAbove: text(30) });
    expect(nextCheckpoint(before, now({ completeOffset: 20, unsettled: [10] }), ROOM)).toBeNull();
    expect(nextCheckpoint(before, now({ completeOffset: 5, settled: [30, 11] }), ROOM)).toBeNull();
  });

  test("names once what lies side by side, and lets the watermark swallow it", () => {
    const before = row({ ackedOffset: 20, ackedAbove: text(30) });
    const joined = nextCheckpoint(before, now({ completeOffset: 20, settled: [31, 29, 32] }), ROOM);
    expect(joined).toEqual({ ...before, ackedAbove: encodeOffsets([{ first: 29, last: 32 }]) });
    expect(nextCheckpoint(joined, now({ completeOffset: 30 }), ROOM)).toEqual({
      ...before,
      ackedOffset: 30,
      ackedAbove: encodeOffsets([{ first: 31, last: 32 }]),
    });
  });

  test("after a loss keeps what the group has not read yet, and takes what it settled", () => {
    const before = row({ ackedOffset: 40, unsettled: text(10, 20, 30), ackedAbove: text(50) });
    const next = nextCheckpoint(
      before,
      now({ completeOffset: 15, unsettled: [12], settled: [20, 60] }),
      ROOM,
    );
    expect(next).toEqual(row({ ackedOffset: 40, unsettled: text(12, 30), ackedAbove: text(50, 60) }));
  });

  test("does not claim delayed messages that arrived since where the group has not read", () => {
    const before = row({ ackedOffset: 40 });
    const next = nextCheckpoint(before, now({ completeOffset: 39, settled: [50], due: LATER }), ROOM);
    expect(next).toEqual(row({ ackedOffset: 40, ackedAbove: text(50), due: DUE }));
    const caughtUp = nextCheckpoint(next, now({ completeOffset: 40, due: LATER }), ROOM);
    expect(caughtUp).toEqual(row({ ackedOffset: 40, ackedAbove: text(50), due: LATER }));
  });

  test("does not pass what has not arrived again after a step back of the clock", () => {
    const before = row({ ackedOffset: 40, unsettled: text(10, 20), ackedAbove: text(60) });
    const behind = now({ completeOffset: 80, settled: [20, 70], due: EARLIER });
    expect(nextCheckpoint(before, behind, ROOM)).toEqual(
      row({ ackedOffset: 40, unsettled: text(10), ackedAbove: text(60, 70) }),
    );
  });

  test("claims nothing that the group holds, whoever said that it is settled", () => {
    const before = row({ ackedOffset: 40, ackedAbove: text(50) });
    const held = { unsettled: [30, 50, 60], settled: [30, 60] };
    for (const completeOffset of [20, 45]) {
      const next = nextCheckpoint(before, now({ completeOffset, ...held }), ROOM);
      expect(next).toMatchObject({ unsettled: text(30), ackedAbove: "" });
    }
  });

  test.each([
    ["unsettled", { unsettled: [20, 10] }],
    ["unsettled", { unsettled: [10, 0.5] }],
    ["settled", { settled: [0.5] }],
    ["settled", { settled: [-1] }],
    ["settled", { settled: [2 ** 53] }],
    ["completeOffset", { completeOffset: -1 }],
    ["completeOffset", { completeOffset: Number.NaN }],
    ["completeOffset", { completeOffset: 2 ** 53 }],
  ])("is refused for wrong offsets in %s", (_, wrong) => {
    expect(() => nextCheckpoint(null, now({ completeOffset: 100, ...wrong }), ROOM)).toThrow(
      AssertionFailure,
    );
  });
});

describe("with little room", () => {
  const apart = Array.from({ length: 2000 }, (_, at) => 1_000_000 + at * 1_000_000);
  const end = 3_000_000_000;

  test("the highest settled offsets are left out", () => {
    const next = nextCheckpoint(null, now({ settled: apart.toReversed() }), ROOM);
    const claimed = offsetsOf(next?.ackedAbove ?? "");
    expect(next?.ackedAbove.length).toBeLessThanOrEqual(ROOM);
    expect(next?.ackedAbove.length).toBeGreaterThan(ROOM - 5);
    expect(claimed).toEqual(apart.slice(0, claimed.length));
  });

  test("the watermark stays below the first unsettled offset that is left out", () => {
    const next = nextCheckpoint(null, now({ completeOffset: end, unsettled: apart }), ROOM);
    const listed = offsetsOf(next?.unsettled ?? "");
    expect(listed).toEqual(apart.slice(0, listed.length));
    expect(next?.ackedOffset).toBe((apart[listed.length] ?? 0) - 1);
    expect(next?.unsettled.length).toBeLessThanOrEqual(ROOM);
  });

  test("what lies above a lowered watermark is named as far as there is room", () => {
    const unsettled = [10, ...Array.from({ length: 1000 }, (_, at) => 1000 + at)];
    const known = now({ completeOffset: 3000, unsettled, settled: [20, 2001, 2003] });
    const lowered = row({ ackedOffset: 999, unsettled: text(10) });
    const bytes = lowered.unsettled.length + text(2001).length;
    expect(nextCheckpoint(null, known, bytes)).toEqual({ ...lowered, ackedAbove: text(2001) });
    expect(nextCheckpoint(null, known, bytes - 1)).toEqual(lowered);
    expect(nextCheckpoint(null, known, ROOM)?.ackedOffset).toBe(3000);
  });

  test("the old row stays rather than that the watermark went back", () => {
    const before = row({ ackedOffset: apart[1500] ?? 0 });
    expect(nextCheckpoint(before, now({ completeOffset: end, unsettled: apart }), ROOM)).toBeNull();
    expect(nextCheckpoint(before, now({ completeOffset: 0, unsettled: apart }), ROOM)).toBeNull();
    const lower = row({ ackedOffset: apart[100] ?? 0 });
    const next = nextCheckpoint(lower, now({ completeOffset: end, unsettled: apart }), ROOM);
    expect(next?.ackedOffset).toBeGreaterThan(lower.ackedOffset);
  });

  test("of nothing, a watermark that needs no list still rises", () => {
    const next = nextCheckpoint(null, now({ completeOffset: 20, unsettled: [10], settled: [12] }), 0);
    expect(next).toEqual(row({ ackedOffset: 9 }));
    expect(nextCheckpoint(next, now({ completeOffset: 20, unsettled: [] }), 0)).toEqual(
      row({ ackedOffset: 20 }),
    );
  });
});
