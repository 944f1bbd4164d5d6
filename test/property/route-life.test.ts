import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lane } from "../../src/core/lane.ts";
import { isPending } from "../../src/core/pending.ts";
import { holds } from "./replay.ts";
import { RouteWorld, step } from "./route-world.ts";

const RUNS = 150;

/** How often the lane has the message: delivered or waiting, read ahead, still to be read, inherited. */
function placesIn(world: RouteWorld, lane: Lane, message: RouteWorld["log"][number]): number {
  const { offset } = message;
  const { routes } = world.group;
  const isAhead = offset > lane.walkedOffset && lane.window.some((entry) => entry.offset === offset);
  const isUnread = lane.behind && offset > Math.max(lane.windowThrough, lane.walkedOffset);
  const isTheirs = routes.ownerOf(message) === lane.routeId;
  const isInherited =
    isTheirs && isPending(lane.pending, offset, (routeId) => routes.takes(routeId, message));
  return [lane.heldAt(offset) !== null, isAhead, isUnread && isTheirs, isInherited].filter(Boolean).length;
}

function expectPlaces(world: RouteWorld): void {
  const { group, log, settled } = world;
  for (const message of log) {
    const { offset, partitionKey } = message;
    if (offset > group.progress.scanOffset) continue;
    let places = 0;
    for (const lane of group.lanes.lanesOf(partitionKey)) places += placesIn(world, lane, message);
    expect([offset, places]).toEqual([offset, settled.has(offset) ? 0 : 1]);
  }
}

describe("routes that begin and end over a log", () => {
  test("each message has one place until it is settled, goes to its party in order, and none is lost", () => {
    holds(
      fc.property(fc.array(step, { minLength: 60, maxLength: 150, size: "max" }), (taken) => {
        const world = new RouteWorld();
        try {
          for (const next of taken) world.take(next);
          expect(world.broken).toBeNull();
          expectPlaces(world);
          world.finish();
          expect(world.broken).toBeNull();
          const left = world.log.filter(({ offset }) => !world.settled.has(offset));
          expect(left.map(({ offset }) => offset)).toEqual([]);
          expect([...world.group.lanes.lanes()].filter((lane) => lane.hasUnsettled)).toEqual([]);
          expect(world.group.routes.endedCount).toBe(0);
        } finally {
          world.close();
        }
      }),
      RUNS,
    );
  });
});
