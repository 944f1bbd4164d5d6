import { expect, test } from "vitest";
import type { Surroundings } from "../../../src/core/explain.ts";
import { Lane } from "../../../src/core/lane.ts";
import { MAX_LANES_LOOKED, unknownLanes, waitingIn } from "../../../src/durable/explain-waiting.ts";

const NOW_MS = 1_000_000;
const BACKS_OFF_MS = 500;

/** Somebody asks, or the group is paused; nothing else decides but the lanes. */
function around(paused = false): Surroundings {
  const ends = new Map([["ann", NOW_MS + 1000]]);
  return {
    paused,
    logRetryAtMs: null,
    rules: {
      maxInFlight: 10,
      maxAttempts: 3,
      maxRetentionMs: 1_000_000,
      freshAllowed: true,
      nowMs: NOW_MS,
      logAheadMs: 0,
    },
    visibilityTimeoutMs: 60_000,
    expiresAtMs: ends,
    asking: new Set(ends.keys()),
    delivering: new Set(),
    busiest: null,
    shares: { freed: new Set(), draining: new Map(), someMayTake: true },
  };
}

/** With a failed message that waits, and one behind it that was read or not. */
function failedLane(next: "read" | "unread" | "none"): Lane {
  const lane = new Lane("k", 1);
  const message = { bodyBytes: 1, dueAtMs: NOW_MS };
  const failed = { ...message, offset: 1, attempt: 1, atMs: NOW_MS + BACKS_OFF_MS };
  lane.except({ ...failed, state: "backingOff", nonce: "", subscriber: "", epoch: 0, reason: "" });
  if (next === "read") lane.extendWindow([{ ...message, offset: 2, delayed: false }], 100);
  lane.behind = next === "unread";
  return lane;
}

test("a lane flows past a failed message: what follows can be delivered, read or not", () => {
  const lanes = [failedLane("none"), failedLane("read"), failedLane("unread")];
  const { waiting, more } = waitingIn(lanes, around(), 10);
  expect(waiting.map(({ lane }) => lane)).toEqual([lanes[0]]);
  expect(more).toBe(false);
  // While paused none of them goes on; each waits with its first.
  expect(waitingIn(lanes, around(true), 10).waiting.map(({ first }) => first.offset)).toEqual([1, 1, 1]);
});

/** All under way: a run since then, and one more message of a second delivery. */
function busyLane(runSinceMs: number | undefined, sinceMs: number | undefined, visibleMs = 500): Lane {
  const lane = new Lane("k", 0);
  const message = { bodyBytes: 1, dueAtMs: NOW_MS };
  const held = { nonce: "n", subscriber: "ann", epoch: 1 };
  const visibleUntilMs = NOW_MS + visibleMs;
  lane.grantRun({ ...held, visibleUntilMs, deliveredAtMs: runSinceMs }, [
    { ...message, offset: 1, delayed: false },
    { ...message, offset: 2, delayed: false },
  ]);
  const again = { ...message, ...held, offset: 2, attempt: 2, atMs: visibleUntilMs, deliveredAtMs: sinceMs };
  lane.except({ ...again, state: "inFlight", reason: "" });
  return lane;
}

test("a lane in which all is under way waits with what is longest, if that is for too long", () => {
  const late = NOW_MS - 60_001;
  const first = (...args: Parameters<typeof busyLane>) =>
    waitingIn([busyLane(...args)], around(), 10).waiting.map(({ first: { offset } }) => offset);
  expect(first(NOW_MS - 60_000, NOW_MS - 60_000)).toEqual([]);
  expect(first(undefined, undefined)).toEqual([]);
  expect(first(late, NOW_MS)).toEqual([1]);
  expect(first(undefined, late)).toEqual([2]);
  expect(first(late, late - 1)).toEqual([2]);
  // Nobody holds it any more: it can be delivered.
  expect(first(late, late, -1)).toEqual([]);
});

test("it looks at no more lanes than it says, and tells that there are more", () => {
  const free = Array.from({ length: MAX_LANES_LOOKED }, () => failedLane("read"));
  expect(waitingIn(free, around(), 10)).toEqual({ waiting: [], more: false });
  expect(waitingIn([...free, failedLane("none")], around(), 10)).toEqual({ waiting: [], more: true });
  expect(unknownLanes([...free, failedLane("unread")], 10)).toEqual([]);
});

test("as many as asked for are shown and read", () => {
  const lanes = [1, 2, 3].map(() => failedLane("none"));
  expect(waitingIn(lanes, around(), 2)).toMatchObject({ waiting: [{}, {}], more: true });
  expect(waitingIn(lanes, around(), 3)).toMatchObject({ waiting: [{}, {}, {}], more: false });
  const unread = [1, 2, 3].map(() => failedLane("unread"));
  expect(unknownLanes(unread, 2)).toHaveLength(2);
});
