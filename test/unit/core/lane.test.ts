import { describe, expect, test } from "vitest";
import { Lane, type LaneEntry } from "../../../src/core/lane.ts";

const entry = (offset: number, more: Partial<LaneEntry> = {}): LaneEntry => ({
  offset,
  bodyBytes: 1,
  dueAtMs: 0,
  delayed: false,
  ...more,
});
const offsets = (entries: readonly { offset: number }[]) => entries.map(({ offset }) => offset);
const RUN = { nonce: "n", subscriber: "ann", epoch: 1, visibleUntilMs: 1 };

describe("a delayed message that arrives", () => {
  test("ahead of the walk takes its place in the window, once", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1), entry(3)], 10);
    lane.arrive(entry(2, { delayed: true }), 10);
    lane.arrive(entry(2, { delayed: true }), 10);
    expect(offsets(lane.window)).toEqual([1, 2, 3]);
  });

  test("among what was walked waits as an exception, once", () => {
    const lane = new Lane("p", 5);
    lane.arrive(entry(2, { delayed: true, dueAtMs: 9 }), 10);
    lane.arrive(entry(2, { delayed: true, dueAtMs: 9 }), 10);
    expect(lane.exceptions).toMatchObject([{ offset: 2, state: "arrived", attempt: 0, atMs: 9 }]);
  });

  test("in the unread part is left to the read that comes", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1)], 10);
    lane.behind = true;
    lane.arrive(entry(2, { delayed: true }), 10);
    expect(offsets(lane.window)).toEqual([1]);
  });

  test("in a full window pushes out the last entry, which is read again", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1), entry(2), entry(4)], 3);
    lane.arrive(entry(3, { delayed: true }), 3);
    expect(offsets(lane.window)).toEqual([1, 2, 3]);
    expect([lane.behind, lane.windowThrough]).toEqual([true, 3]);
  });

  test("at the window's end moves on what was read, so that no read brings it again", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1), entry(2)], 3);
    lane.arrive(entry(4, { delayed: true }), 3);
    // Full: what the scan meets next is left in the log, and read after `windowThrough` later.
    lane.extendWindow([entry(5)], 3);
    expect([offsets(lane.window), lane.behind, lane.windowThrough]).toEqual([[1, 2, 4], true, 4]);
  });
});

describe("the window", () => {
  test("keeps at most so many entries and knows that more lie behind", () => {
    const lane = new Lane("p", 0);
    expect(lane.extendWindow([entry(1), entry(2), entry(3)], 2)).toEqual({ dropped: true });
    expect([offsets(lane.window), lane.behind, lane.windowThrough]).toEqual([[1, 2], true, 2]);
  });

  test("gives up what a run takes, and what lies before its end", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1, { delayed: true }), entry(2), entry(3)], 10);
    lane.grantRun(RUN, [entry(2)]);
    expect([offsets(lane.window), lane.walkedOffset]).toEqual([[3], 2]);
    expect(lane.runs).toEqual([{ ...RUN, messages: [{ offset: 2, bodyBytes: 1, dueAtMs: 0 }] }]);
  });
});

describe("settling", () => {
  test("takes a message out of its run and leaves its neighbours", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1), entry(2), entry(3)], 10);
    lane.grantRun(RUN, [entry(1), entry(2), entry(3)]);
    expect(lane.settle(2)).toBe(true);
    expect([lane.isSettledBelow(1), lane.isSettledBelow(2), lane.isSettledBelow(3)]).toEqual([
      false,
      true,
      false,
    ]);
    expect(lane.settle(2)).toBe(false);
    expect([lane.settle(1), lane.settle(3), lane.hasUnsettled]).toEqual([true, true, false]);
  });

  test("a drop above the walk takes a message out of the window, below it settles", () => {
    const lane = new Lane("p", 0);
    lane.extendWindow([entry(1), entry(2), entry(3)], 10);
    lane.grantRun(RUN, [entry(1)]);
    expect([lane.drop(1), lane.drop(2), lane.drop(2), lane.drop(9)]).toEqual([true, true, false, false]);
    expect([offsets(lane.window), lane.runs]).toEqual([[3], []]);
  });
});

test("a reset ends deliveries and holds, and names every row that goes", () => {
  const lane = new Lane("p", 0);
  lane.extendWindow([entry(1), entry(2), entry(3)], 10);
  lane.grantRun(RUN, [entry(1), entry(2)]);
  lane.except({
    ...entry(2),
    state: "returned",
    attempt: 0,
    atMs: 0,
    nonce: "",
    subscriber: "",
    epoch: 0,
    reason: "",
  });
  lane.changes = { state: false, lease: false, exceptions: new Set() };
  lane.reset(0, true);
  expect([lane.runs, lane.exceptions, lane.window]).toEqual([[], [], []]);
  expect([lane.walkedOffset, lane.windowThrough, lane.hasMore]).toEqual([0, 0, true]);
  expect(lane.holderOf(1)).toBeNull();
  expect(lane.changes).toEqual({ state: true, lease: false, exceptions: new Set([2]) });
});
