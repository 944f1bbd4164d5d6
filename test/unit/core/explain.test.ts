import { describe, expect, test } from "vitest";
import { MAX_LANE_EXCEPTIONS } from "../../../src/core/dispatch-limits.ts";
import { arrivedException } from "../../../src/core/exceptions.ts";
import { explainAt, type LaneShares, type Subject, type Surroundings } from "../../../src/core/explain.ts";
import { nextChange } from "../../../src/core/explain-change.ts";
import { type Exception, Lane } from "../../../src/core/lane.ts";
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

const SHARES: LaneShares = { freed: new Set(), draining: new Map(), someMayTake: true };

/** Nothing but the lane decides: one asks. */
function around(more: Partial<Surroundings> = {}, rules: Partial<WalkRules> = {}): Surroundings {
  return {
    paused: false,
    logRetryAtMs: null,
    rules: { ...RULES, ...rules },
    visibilityTimeoutMs: 60_000,
    expiresAtMs: new Map([["ann", NOW_MS + 30_000]]),
    asking: new Set(["ann"]),
    delivering: new Set(),
    busiest: null,
    shares: SHARES,
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
    expect(nextChange(delayed, null, ahead, explained)).toEqual({ atMs: NOW_MS + 400, state: "deliverable" });
    const old = { ...subject, dueAtMs: NOW_MS - RETENTION_MS };
    expect(explainAt(old, null, around(), NOW_MS)).toMatchObject({ state: "expired", blockers: [] });
  });

  test("its age is a change to come", () => {
    const subject = { ...held(9), inLane: false, dueAtMs: NOW_MS - 100 };
    const explained = explainAt(subject, null, around(), NOW_MS);
    const atMs = NOW_MS - 100 + RETENTION_MS;
    expect(nextChange(subject, null, around(), explained)).toEqual({ atMs, state: "expired" });
    const ageless = { ...subject, dueAtMs: Number.POSITIVE_INFINITY };
    const unread = explainAt(ageless, null, around(), NOW_MS);
    expect(nextChange(ageless, null, around(), unread)).toBeNull();
  });
});

describe("the next change", () => {
  const backingOff = { state: "backingOff", attempt: 1, atMs: NOW_MS + 9000 } as const;
  const of = (offset: number, lane: Lane, surroundings: Surroundings) =>
    nextChange(held(offset), lane, surroundings, explainAt(held(offset), lane, surroundings, NOW_MS));

  test("passes over instants at which nothing changes for this message, and beyond very many to its own", () => {
    for (const count of [10, 900]) {
      const others = Array.from({ length: count }, (_, at) =>
        exception(at + 1, { ...inFlight, atMs: NOW_MS + 10 + at }),
      );
      const lane = laneWith([...others, exception(1000, backingOff)]);
      expect(of(1000, lane, around({}, { maxInFlight: 5000 }))).toEqual({
        atMs: NOW_MS + 9000,
        state: "deliverable",
      });
    }
  });

  test("a delivery's end: it comes again, waits, or is out of attempts", () => {
    const lane = laneWith([exception(1, inFlight)]);
    expect(of(1, lane, around())).toEqual({ atMs: NOW_MS + 500, state: "deliverable" });
    expect(of(1, lane, around({ asking: new Set() }))).toEqual({ atMs: NOW_MS + 500, state: "waiting" });
    const last = laneWith([exception(1, { ...inFlight, attempt: 3 })]);
    expect(of(1, last, around())).toEqual({ atMs: NOW_MS + 500, state: "being-dead-lettered" });
  });

  test("of what waits for nobody's time it is its age, and who comes and goes is none", () => {
    const lane = laneWith([], [1]);
    const expires = { atMs: NOW_MS + RETENTION_MS, state: "expired" };
    expect(of(1, lane, around())).toEqual(expires);
    expect(of(1, lane, around({ paused: true }))).toEqual(expires);
    const silent = around({ asking: new Set() });
    expect(explainAt(held(1), lane, silent, NOW_MS).blockers).toMatchObject([{ kind: "nobody-asking" }]);
    expect(of(1, lane, silent)).toEqual(expires);
    expect(of(1, lane, around({ asking: new Set(), expiresAtMs: new Map() }))).toEqual(expires);
    // By the end of another's delivery the silent one is dead as well.
    const beside = laneWith([
      exception(1, { state: "returned" }),
      exception(2, { ...inFlight, atMs: NOW_MS + 40_000 }),
    ]);
    expect(of(1, beside, silent)).toEqual(expires);
    // Whether the log can be read then is not a matter of time.
    expect(of(1, lane, around({ logRetryAtMs: NOW_MS + 200 }))).toEqual(expires);
    const dying = laneWith([exception(1, { state: "dying", attempt: 3, reason: "no" })]);
    expect(of(1, dying, around())).toBeNull();
  });

  test("the end of a silent owner's lease, but not of one who asks", () => {
    const lane = laneWith([], [1]);
    lane.setLease({ subscriber: "bob", epoch: 1, acquiredAtMs: 0 });
    const expiresAtMs = new Map([
      ["ann", NOW_MS + 60_000],
      ["bob", NOW_MS + 7000],
    ]);
    const shared = around({ expiresAtMs });
    expect(explainAt(held(1), lane, shared, NOW_MS).blockers).toMatchObject([{ kind: "lease" }]);
    expect(of(1, lane, shared)).toEqual({ atMs: NOW_MS + 7000, state: "deliverable" });
    const asks = around({ expiresAtMs, asking: new Set(["ann", "bob"]) });
    expect(of(1, lane, asks)).toEqual({ atMs: NOW_MS + RETENTION_MS, state: "expired" });
    const alone = around({ expiresAtMs, asking: new Set(), delivering: new Set(["bob"]) });
    expect(of(1, lane, alone)).toEqual({ atMs: NOW_MS + 7000, state: "waiting" });
    // Without deliveries bob is no obstacle to whoever asks first.
    const idle = around({ expiresAtMs, asking: new Set() });
    expect(explainAt(held(1), lane, idle, NOW_MS).blockers).toMatchObject([{ kind: "nobody-asking" }]);
    expect(of(1, lane, idle)).toEqual({ atMs: NOW_MS + RETENTION_MS, state: "expired" });
  });

  test("the end of a drain, or of the deliveries for which it waits", () => {
    const lane = laneWith([exception(1, inFlight)], [2]);
    lane.setLease({ subscriber: "bob", epoch: 1, acquiredAtMs: 0 });
    const expiresAtMs = new Map([
      ["ann", NOW_MS + 60_000],
      ["bob", NOW_MS + 60_000],
    ]);
    const draining = (endMs: number | null) =>
      around({ expiresAtMs, shares: { ...SHARES, draining: new Map([[lane, endMs]]) } });
    for (const [endMs, atMs] of [
      [NOW_MS + 300, NOW_MS + 300],
      [NOW_MS + 900, NOW_MS + 500],
      [null, NOW_MS + 500],
    ] as const) {
      expect(of(2, lane, draining(endMs)), `drains until ${endMs}`).toEqual({ atMs, state: "deliverable" });
    }
  });

  test("what is delayed takes its place, before what was read behind it", () => {
    const lane = laneWith([], [5]);
    const dueAtMs = NOW_MS + 700;
    for (const [offset, state] of [
      [3, "deliverable"],
      [9, "waiting"],
    ] as const) {
      const subject = { offset, dueAtMs, delayed: true, inLane: false };
      const strict = around({}, { maxInFlight: 1 });
      const explained = explainAt(subject, lane, strict, NOW_MS);
      expect(nextChange(subject, lane, strict, explained)).toEqual({ atMs: dueAtMs, state });
    }
  });
});

describe("a delivery that is out", () => {
  const since = (agoMs: number) => ({ ...inFlight, deliveredAtMs: NOW_MS - agoMs });
  const said = (lane: Lane) => explainAt(held(1), lane, around(), NOW_MS);

  test("is overdue when it is for longer than the group's visibility timeout", () => {
    expect(said(laneWith([exception(1, inFlight)]))).toMatchObject({ deliveredAtMs: null, overdue: null });
    expect(said(laneWith([exception(1, since(60_000))]))).toMatchObject({
      deliveredAtMs: NOW_MS - 60_000,
      overdue: null,
    });
    expect(said(laneWith([exception(1, since(60_001))]))).toMatchObject({ overdue: "extended" });
  });

  test("was asked for so long while it stands in its run: extending takes it out", () => {
    const lane = laneWith([], [1]);
    const run = { nonce: "n", subscriber: "bob", epoch: 1, visibleUntilMs: NOW_MS + 500 };
    lane.grantRun({ ...run, deliveredAtMs: NOW_MS - 90_000 }, lane.window.slice(0, 1));
    expect(said(lane)).toMatchObject({ deliveredAtMs: NOW_MS - 90_000, overdue: "asked" });
  });

  test("also where it stands before another", () => {
    const lane = laneWith([exception(1, since(90_000))], [2]);
    const { blockers } = explainAt(held(2), lane, around({}, { maxInFlight: 1 }), NOW_MS);
    expect(blockers).toMatchObject([
      { kind: "message", offset: 1, deliveredAtMs: NOW_MS - 90_000, overdue: "extended" },
    ]);
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
    asking: new Set<string>(),
  });
  const kinds = explainAt(held(2), lane, alone, NOW_MS).blockers.map(({ kind }) => kind);
  expect(kinds).toEqual(["group-paused", "log-unavailable", "no-subscriber", "message"]);
});
