import { expect, test } from "vitest";
import { LANES_PER_MESSAGE } from "../../../src/core/dispatch-limits.ts";
import { Lane } from "../../../src/core/lane.ts";
import { LaneIndex } from "../../../src/core/lane-index.ts";
import { planTake } from "../../../src/core/plan-take.ts";
import type { ShareInput } from "../../../src/core/share.ts";
import type { WalkRules } from "../../../src/core/walk.ts";

const ME = "ann";
const RETENTION_MS = 1000;

function rulesAt(nowMs: number): WalkRules {
  return {
    maxInFlight: 10,
    maxAttempts: 3,
    maxRetentionMs: RETENTION_MS,
    freshAllowed: true,
    nowMs,
    logAheadMs: 0,
  };
}

function put(index: LaneIndex, partitionKey: string, bodies: number[], nowMs: number): Lane {
  const lane = new Lane(partitionKey, 0);
  const entries = bodies.map((bodyBytes, at) => ({
    offset: at + 1,
    bodyBytes,
    dueAtMs: nowMs,
    delayed: false,
  }));
  lane.extendWindow(entries, 100);
  index.place(lane, rulesAt(nowMs), nowMs);
  return lane;
}

function alone(index: LaneIndex): ShareInput {
  const me = new Set([ME]);
  return {
    busyLanes: index.busyCount,
    freeReadyLanes: index.readyFree.size,
    heldLanes: new Map(),
    counted: me,
    asking: me,
  };
}

function taken(index: LaneIndex, maxMessages: number, maxBytes: number, nowMs = 0): [string, number][] {
  const asker = { subscriber: ME, maxMessages, maxBytes };
  const plan = planTake(index, asker, alone(index), new Set(), rulesAt(nowMs));
  return plan.takes.map(({ lane, count }) => [lane.partitionKey, count]);
}

test("a deep lane does not starve the others", () => {
  const index = new LaneIndex();
  put(index, "deep", Array(50).fill(1), 0);
  put(index, "b", [1], 0);
  put(index, "c", [1, 1, 1], 0);
  expect(taken(index, 6, 1000)).toEqual([
    ["deep", 3],
    ["b", 1],
    ["c", 2],
  ]);
});

test("the first message is given whatever its size, a second one only within the bytes", () => {
  const index = new LaneIndex();
  put(index, "a", [500, 1], 0);
  put(index, "b", [100], 0);
  expect(taken(index, 10, 10)).toEqual([["a", 1]]);
  expect(taken(index, 10, 600)).toEqual([
    ["a", 1],
    ["b", 1],
  ]);
  expect(taken(index, 10, 601)).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
});

test("G11 lanes whose messages all grew too old do not stand in the way of the others", () => {
  const index = new LaneIndex();
  for (let at = 0; at < LANES_PER_MESSAGE; at += 1) put(index, `old${at}`, [1], 0);
  put(index, "young", [1], RETENTION_MS - 1);
  const nowMs = RETENTION_MS;
  index.advance(rulesAt(nowMs), nowMs);
  expect(taken(index, 1, 1000, nowMs)).toEqual([["young", 1]]);
});
