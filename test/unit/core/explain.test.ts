import { describe, expect, test } from "vitest";
import { MAX_LANE_EXCEPTIONS } from "../../../src/core/dispatch-limits.ts";
import { explainAt, type Subject, type Surroundings } from "../../../src/core/explain.ts";
import { nextChangeAtMs } from "../../../src/core/explain-change.ts";
import { arrivedException, type Exception, Lane } from "../../../src/core/lane.ts";
import type { WalkRules } from "../../../src/core/walk.ts";

const NOW_MS = 1_000_000;
const RETENTION_MS = 50_000;
const RULES: WalkRules = {
  maxInFlight: 10,
  maxAttempts: 3,
  maxRetentionMs: RETENTION_MS,
  freshAllowed: true,
  nowMs: NOW_MS,
  logAheadMs: 0,
};

/** Nothing but the lane decides: one asks, for good. */
function around(more: Partial<Surroundings> = {}, rules: Partial<WalkRules> = {}): Surroundings {
  const ends = new Map([["ann", NOW_MS + 10_000_000]]);
  return {
    paused: false,
    logRetryAtMs: null,
    deadLetterRetryAtMs: null,
    rules: { ...RULES, ...rules },
    expiresAtMs: ends,
    liveUntilMs: ends,
    askingUntilMs: ends,
    shares: { freed: new Set(), draining: new Map(), someMayTake: true },
    idleLeaseMs: 6000,
    lanesChangeAtMs: null,
    ...more,
  };
}

function exception(offset: number, more: Partial<Exception>): Exception {
  const entry = { offset, bodyBytes: 1, dueAtMs: NOW_MS, delayed: false };
  return { ...arrivedException(entry), ...more };
}

function laneWith(exceptions: Exception[], windowOffsets: number[] = []): Lane {
  const lane = new Lane("k", exceptions.at(-1)?.offset ?? 0);
  for (const one of exceptions) lane.except(one);
  lane.extendWindow(
    windowOffsets.map((offset) => ({ offset, bodyBytes: 1, dueAtMs: NOW_MS, delayed: false })),
    100,
  );
  return lane;
}

function held(offset: number): Subject {
  return { offset, dueAtMs: NOW_MS, delayed: false, inLane: true };
}

function blockersOf(subject: Subject, lane: Lane | null, rules: Partial<WalkRules> = {}): string[] {
  return explainAt(subject, lane, around({}, rules), NOW_MS).blockers.map(({ kind }) => kind);
}

const inFlight = { state: "inFlight", attempt: 1, atMs: NOW_MS + 500, subscriber: "bob" } as const;
const lapsed = { state: "inFlight", attempt: 1, atMs: NOW_MS - 1, subscriber: "bob" } as const;

describe("a lane without room", () => {
  test("those before a message take it, and what was delivered before comes before what was not", () => {
    const lane = laneWith([exception(1, inFlight), exception(2, lapsed)], [3, 4]);
    const limit = { maxInFlight: 2 };
    expect(blockersOf(held(2), lane, limit)).toEqual([]);
    const { blockers, state } = explainAt(held(3), lane, around({}, limit), NOW_MS);
    expect(state).toBe("waiting");
    expect(blockers).toEqual([
      { kind: "in-flight-limit", inFlight: 1, limit: 2, before: 1, untilMs: NOW_MS + 500 },
    ]);
  });

  test("lapsed deliveries beyond the room wait for it too", () => {
    const lane = laneWith([exception(1, inFlight), exception(2, lapsed), exception(3, lapsed)]);
    expect(blockersOf(held(2), lane, { maxInFlight: 2 })).toEqual([]);
    expect(blockersOf(held(3), lane, { maxInFlight: 2 })).toEqual(["in-flight-limit"]);
    expect(blockersOf(held(2), lane, { maxInFlight: 1 })).toEqual(["message"]);
  });

  test("a lane that became strict with several under way: the first of it waits for room alone", () => {
    const lane = laneWith([exception(1, lapsed), exception(2, inFlight)]);
    expect(blockersOf(held(1), lane, { maxInFlight: 1 })).toEqual(["in-flight-limit"]);
  });

  test("a barrier and the limit are both named", () => {
    const postponed = { state: "postponed", atMs: NOW_MS + 900 } as const;
    const lane = laneWith([exception(1, inFlight), exception(2, postponed)], [3]);
    expect(blockersOf(held(3), lane, { maxInFlight: 2 })).toEqual(["message"]);
    lane.except(exception(1, inFlight));
    const full = laneWith([exception(1, inFlight), exception(2, inFlight), exception(3, postponed)], [4]);
    expect(blockersOf(held(4), full, { maxInFlight: 2 })).toEqual(["message", "in-flight-limit"]);
  });
});

describe("as many failed messages as there may be", () => {
  const backingOff = { state: "backingOff", attempt: 1, atMs: NOW_MS + 500 } as const;

  test("in the lane: fresh ones wait, read or not", () => {
    const failed = Array.from({ length: MAX_LANE_EXCEPTIONS }, (_, at) => exception(at + 1, backingOff));
    const lane = laneWith(failed, [5000]);
    lane.behind = true;
    expect(blockersOf(held(5000), lane)).toEqual(["failed-limit"]);
    expect(blockersOf({ ...held(6000), inLane: false }, lane)).toEqual(["failed-limit", "unread"]);
    lane.settle(1);
    expect(blockersOf(held(5000), lane)).toEqual([]);
  });

  test("in the group: fresh ones of every lane wait, failed ones do not", () => {
    const lane = laneWith([exception(1, lapsed)], [2]);
    expect(blockersOf(held(2), lane, { freshAllowed: false })).toEqual(["failed-limit"]);
    expect(blockersOf(held(1), lane, { freshAllowed: false })).toEqual([]);
    expect(blockersOf({ ...held(9), inLane: false }, null, { freshAllowed: false })).toEqual([
      "failed-limit",
      "unread",
    ]);
  });
});

describe("what no lane has", () => {
  test("waits to be read, to be due, or is too old", () => {
    const subject = { ...held(9), inLane: false };
    expect(explainAt(subject, null, around(), NOW_MS)).toMatchObject({
      state: "waiting",
      blockers: [{ kind: "unread" }],
    });
    const dueAtMs = NOW_MS + 700;
    const delayed = { ...subject, delayed: true, dueAtMs };
    const ahead = around({}, { logAheadMs: 300 });
    const explained = explainAt(delayed, null, ahead, NOW_MS);
    // By the object's clock.
    expect(explained).toMatchObject({ state: "delayed", untilMs: NOW_MS + 400, blockers: [] });
    expect(nextChangeAtMs(delayed, null, ahead, explained)).toBe(NOW_MS + 400);
    const old = { ...subject, dueAtMs: NOW_MS - RETENTION_MS };
    expect(explainAt(old, null, around(), NOW_MS)).toMatchObject({ state: "expired", blockers: [] });
  });

  test("its age is a change to come", () => {
    const subject = { ...held(9), inLane: false, dueAtMs: NOW_MS - 100 };
    const explained = explainAt(subject, null, around(), NOW_MS);
    expect(nextChangeAtMs(subject, null, around(), explained)).toBe(NOW_MS - 100 + RETENTION_MS);
  });
});

describe("the next change", () => {
  test("passes over instants at which nothing changes for this message, and gives up on very many", () => {
    const many = (count: number): Exception[] =>
      Array.from({ length: count }, (_, at) => exception(at + 1, { ...inFlight, atMs: NOW_MS + 10 + at }));
    const backingOff = { state: "backingOff", attempt: 1, atMs: NOW_MS + 9000 } as const;
    for (const [count, changeMs] of [
      [10, 9000],
      [40, 26],
    ] as const) {
      const lane = laneWith([...many(count), exception(100, backingOff)]);
      const rules = around({}, { maxInFlight: 1000 });
      const explained = explainAt(held(100), lane, rules, NOW_MS);
      expect(nextChangeAtMs(held(100), lane, rules, explained)).toBe(NOW_MS + changeMs);
    }
  });

  test("the retry of a log, and of a dead letter's copy", () => {
    const dying = laneWith([exception(1, { state: "dying", attempt: 3, reason: "no" })]);
    const retries = around({ deadLetterRetryAtMs: NOW_MS + 1000 });
    const explained = explainAt(held(1), dying, retries, NOW_MS);
    expect(explained).toMatchObject({ state: "being-dead-lettered", reason: "no", blockers: [] });
    expect(nextChangeAtMs(held(1), dying, retries, explained)).toBe(NOW_MS + 1000);
    const away = around({ deadLetterRetryAtMs: NOW_MS + 1000, logRetryAtMs: NOW_MS + 200 });
    const waiting = explainAt(held(1), dying, away, NOW_MS);
    expect(waiting.blockers).toEqual([{ kind: "log-unavailable", untilMs: NOW_MS + 200 }]);
    expect(nextChangeAtMs(held(1), dying, away, waiting)).toBe(NOW_MS + 200);
  });

  test("the end of an idle lane's lease, beside a message that is delayed and in no lane", () => {
    const lane = laneWith([]);
    lane.setLease({ subscriber: "ann", epoch: 1, acquiredAtMs: NOW_MS - 5000 });
    lane.idleSinceMs = NOW_MS - 5000;
    const delayed = { offset: 9, dueAtMs: NOW_MS + 30_000, delayed: true, inLane: false };
    const explained = explainAt(delayed, lane, around(), NOW_MS);
    expect(explained.lease).toMatchObject({ subscriber: "ann" });
    expect(nextChangeAtMs(delayed, lane, around(), explained)).toBe(NOW_MS + 1000);
  });

  test("where others ask as well, any lane of the group may move this one", () => {
    const lane = laneWith([], [1]);
    lane.setLease({ subscriber: "bob", epoch: 1, acquiredAtMs: 0 });
    const ends = new Map([
      ["ann", NOW_MS + 60_000],
      ["bob", NOW_MS + 60_000],
    ]);
    const shared = around({ expiresAtMs: ends, liveUntilMs: ends, lanesChangeAtMs: NOW_MS + 40 });
    const explained = explainAt(held(1), lane, shared, NOW_MS);
    expect(explained.blockers).toMatchObject([{ kind: "lease", subscriber: "bob" }]);
    expect(nextChangeAtMs(held(1), lane, shared, explained)).toBe(NOW_MS + 40);
  });
});

test("a paused group: everything waits, and a last attempt that lapsed is decided later", () => {
  const lane = laneWith([exception(1, { ...lapsed, attempt: 3 })], [2]);
  const paused = around({ paused: true });
  expect(explainAt(held(1), lane, paused, NOW_MS)).toMatchObject({
    state: "being-dead-lettered",
    reason: "retry limit exceeded",
    blockers: [{ kind: "group-paused" }],
  });
  expect(explainAt(held(2), lane, paused, NOW_MS)).toMatchObject({
    state: "waiting",
    blockers: [{ kind: "group-paused" }],
  });
});

test("all that hold are named, in order", () => {
  const nobody = new Map<string, number>();
  const postponed = { state: "postponed", atMs: NOW_MS + 900 } as const;
  const lane = laneWith([exception(1, postponed)], [2]);
  const alone = around({
    paused: true,
    logRetryAtMs: NOW_MS + 100,
    expiresAtMs: nobody,
    liveUntilMs: nobody,
    askingUntilMs: nobody,
  });
  const kinds = explainAt(held(2), lane, alone, NOW_MS).blockers.map(({ kind }) => kind);
  expect(kinds).toEqual(["group-paused", "log-unavailable", "no-subscriber", "message"]);
});
