import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lane } from "../../src/core/lane.ts";
import { LaneIndex } from "../../src/core/lane-index.ts";
import { type WalkRules, walk } from "../../src/core/walk.ts";
import {
  GroupWorld,
  LONG_RETENTION_MS,
  SHORT_RETENTION_MS,
  type Step,
  SUBSCRIBERS,
  step,
} from "./group-world.ts";
import { holds } from "./replay.ts";

const steps = fc.array(step, { maxLength: 50, size: "max" });

function keys(lanes: Iterable<Lane>): string[] {
  return [...lanes].map((lane) => lane.partitionKey).sort();
}

/** Everything that the index says, in an order of its own. */
function said(index: LaneIndex): Record<string, unknown> {
  const bySubscriber = (lanesOf: (subscriber: string) => Iterable<Lane>) =>
    Object.fromEntries(SUBSCRIBERS.map((name) => [name, keys(lanesOf(name))]));
  return {
    lanes: [...index.lanes.keys()].sort(),
    readyFree: keys(index.readyFree.keys()),
    readyOf: bySubscriber((name) => index.readyOf(name).keys()),
    busyOf: bySubscriber((name) => index.busyOf(name)),
    leasedBy: bySubscriber((name) => index.leasedBy(name)),
    lanesDeliveringTo: bySubscriber((name) => index.lanesDeliveringTo(name)),
    busyByOwner: [...index.busyByOwner()].sort(),
    deliveringTo: [...index.deliveringTo()].sort(),
    needCare: keys(index.needCare),
    dying: keys(index.dying),
    busyCount: index.busyCount,
    readyCount: index.readyCount(),
    exceptionCount: index.exceptionCount,
    nextChangeAtMs: index.nextChangeAtMs,
    idleSinceMs: index.idleSince.peekAtMs(),
  };
}

function fresh(lanes: readonly Lane[], rules: WalkRules | null, nowMs: number): LaneIndex {
  const index = new LaneIndex();
  for (const lane of lanes) index.place(lane, rules, nowMs);
  return index;
}

/** Shorter than comparing with `expect` at every step, which builds a message each time. */
function expectSame(actual: unknown, expected: unknown, after: Step): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    expect(actual, JSON.stringify(after)).toEqual(expected);
}

describe("the lane index", () => {
  /** SHORT_RETENTION_MS: age is a change that time alone brings, as a lapse is. */
  test.each([LONG_RETENTION_MS, SHORT_RETENTION_MS])(
    "G11 says at every step what one built anew from the same lanes says (retention %i ms)",
    (maxRetentionMs) => {
      holds(
        fc.property(steps, (all) => {
          const world = new GroupWorld(maxRetentionMs);
          for (const next of all) {
            world.take(next);
            expectSame(said(world.index), said(fresh(world.lanes, world.rules, world.nowMs)), next);
          }
        }),
        800,
      );
    },
  );

  test("placing a lane again changes nothing, its turn included", () => {
    holds(
      fc.property(steps, (all) => {
        const world = new GroupWorld(LONG_RETENTION_MS);
        for (const next of all) {
          world.take(next);
          const before = [said(world.index), turns(world.index)];
          for (const lane of world.lanes) world.place(lane);
          expectSame([said(world.index), turns(world.index)], before, next);
        }
      }),
    );
  });

  test("ready lanes stand in the order in which they became so or were served last", () => {
    holds(
      fc.property(steps, (all) => {
        const world = new GroupWorld(LONG_RETENTION_MS);
        let model: Waiting[] = [];
        for (const next of all) {
          const served = next.kind === "requeue" ? world.lanes[next.key] : undefined;
          const order = [...world.index.lanes.values()];
          world.take(next);
          model = modelAfter(model, world, served, order);
          expectSame(turns(world.index), ordered(model), next);
        }
      }),
      500,
    );
  });

  test("G11 holds nothing once everything is settled and no lane is leased", () => {
    holds(
      fc.property(steps, (all) => {
        const world = new GroupWorld(LONG_RETENTION_MS);
        for (const next of all) world.take(next);
        for (const lane of world.lanes) {
          lane.reset(lane.windowThrough, false);
          lane.setLease(null);
          world.place(lane);
        }
        expect(said(world.index)).toEqual(said(new LaneIndex()));
        expect(placements(world.index).size).toBe(0);
      }),
    );
  });

  test("says when time alone changes something: until then a lane placed anew is placed the same", () => {
    const retentionMs = fc.constantFrom(LONG_RETENTION_MS, SHORT_RETENTION_MS);
    const part = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    holds(
      fc.property(steps, part, retentionMs, (all, at, maxRetentionMs) => {
        const world = new GroupWorld(maxRetentionMs);
        for (const next of all) world.take(next);
        const { rules, nowMs, index } = world;
        fc.pre(rules !== null);
        const spanMs = (index.nextChangeAtMs ?? nowMs + 100_000) - nowMs;
        expect(spanMs).toBeGreaterThan(0);
        const laterMs = nowMs + Math.floor(at * spanMs);
        const later = fresh(world.lanes, { ...rules, nowMs: laterMs }, laterMs);
        expect(said(later)).toEqual(said(index));
      }),
      500,
    );
  });
});

interface Waiting {
  lane: Lane;
  owner: string | null;
}

/** Who is ready follows from the lane; the order is kept here as a plain list, the next one first. */
function modelAfter(
  before: readonly Waiting[],
  world: GroupWorld,
  served: Lane | undefined,
  placedInOrder: readonly Lane[],
): Waiting[] {
  const { rules } = world;
  const isReady = (lane: Lane) => {
    if (!rules) return false;
    const { grants, stop } = walk(lane, rules, 1);
    return grants.length > 0 || stop === "unread";
  };
  const ownerOf = (lane: Lane) => lane.lease?.subscriber ?? null;
  const kept = before.filter(({ lane, owner }) => isReady(lane) && ownerOf(lane) === owner);
  const known = new Set(kept.map(({ lane }) => lane));
  const all = new Set([...placedInOrder, ...world.lanes]);
  const became = [...all].filter((lane) => isReady(lane) && !known.has(lane));
  // Several may become ready at one instant; which of them is first is the index's choice.
  became.sort((a, b) => turnOf(world.index, a) - turnOf(world.index, b));
  const after = [...kept, ...became.map((lane) => ({ lane, owner: ownerOf(lane) }))];
  const again = after.find(({ lane }) => lane === served);
  return again ? [...after.filter((one) => one !== again), again] : after;
}

function ordered(model: readonly Waiting[]): string[][] {
  return [null, ...SUBSCRIBERS].map((owner) =>
    model.filter((one) => one.owner === owner).map(({ lane }) => lane.partitionKey),
  );
}

/** Lanes by owner, in turn. */
function turns(index: LaneIndex): string[][] {
  return [index.readyFree, ...SUBSCRIBERS.map((name) => index.readyOf(name))].map((lanes) =>
    [...lanes].sort((a, b) => a[1] - b[1]).map(([lane]) => lane.partitionKey),
  );
}

function turnOf(index: LaneIndex, lane: Lane): number {
  return index.readyFree.get(lane) ?? index.readyOf(lane.lease?.subscriber ?? "").get(lane) ?? 0;
}

function placements(index: LaneIndex): Map<Lane, unknown> {
  return (index as unknown as { placements: Map<Lane, unknown> }).placements;
}
