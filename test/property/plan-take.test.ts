import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Lane } from "../../src/core/lane.ts";
import { LaneIndex } from "../../src/core/lane-index.ts";
import { planGiveUps, planTake, type TakePlan } from "../../src/core/plan-take.ts";
import { mayTake, type ShareInput, shares } from "../../src/core/share.ts";
import { type WalkRules, walk } from "../../src/core/walk.ts";
import { laneCase, NOW_MS, rules, subscriber } from "./lane-source.ts";
import { holds } from "./replay.ts";

const RUNS = 400;
const ME = "ann";

interface Group {
  index: LaneIndex;
  lanes: Lane[];
  rules: WalkRules;
  input: ShareInput;
}

function inputOf(index: LaneIndex, asking: ReadonlySet<string>): ShareInput {
  return {
    busyLanes: index.busyCount,
    freeReadyLanes: index.readyFree.size,
    heldLanes: index.busyByOwner(),
    counted: new Set([...asking, ...index.deliveringTo()]),
    asking,
  };
}

const group: fc.Arbitrary<Group> = fc
  .record({
    cases: fc.uniqueArray(laneCase, { maxLength: 8, selector: ({ lane }) => lane.partitionKey }),
    rules: rules.map((rule) => ({ ...rule, freshAllowed: true })),
    others: fc.uniqueArray(subscriber),
  })
  .map(({ cases, rules: rule, others }) => {
    const index = new LaneIndex();
    const lanes = cases.map(({ lane }) => lane);
    for (const lane of lanes) index.place(lane, rule, rule.nowMs);
    return { index, lanes, rules: rule, input: inputOf(index, new Set([ME, ...others])) };
  });

const asker = fc.record({
  subscriber: fc.constant(ME),
  maxMessages: fc.integer({ min: 1, max: 12 }),
  maxBytes: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 0, max: 400 })),
});

function turnOf({ index }: Group, lane: Lane): number {
  return index.readyFree.get(lane) ?? index.readyOf(ME).get(lane) ?? Number.POSITIVE_INFINITY;
}

function sizes({ rules: rule }: Group, lane: Lane, count: number): number[] {
  return walk(lane, rule, count).grants.map(({ bodyBytes }) => bodyBytes);
}

function bytesOf(plan: TakePlan, one: Group): number {
  return plan.takes
    .flatMap(({ lane, count }) => sizes(one, lane, count))
    .reduce((all, bytes) => all + bytes, 0);
}

function planFor(one: Group, who: { subscriber: string; maxMessages: number; maxBytes: number }): TakePlan {
  const { draining } = planGiveUps(one.index, one.input, one.rules);
  return planTake(one.index, who, one.input, draining, one.rules);
}

describe("planTake", () => {
  test("gives at most what was asked for, in messages and in bytes but for the first message", () => {
    holds(
      fc.property(group, asker, (one, who) => {
        const plan = planFor(one, who);
        const counted = plan.takes.reduce((total, { count }) => total + count, 0);
        expect(plan.total).toBe(counted);
        expect(plan.total).toBeLessThanOrEqual(who.maxMessages);
        if (plan.total > 1) expect(bytesOf(plan, one)).toBeLessThanOrEqual(who.maxBytes);
        for (const { lane, count } of plan.takes) {
          expect(count).toBeGreaterThan(0);
          expect(sizes(one, lane, count).length).toBe(count);
        }
        expect(new Set(plan.takes.map(({ lane }) => lane)).size).toBe(plan.takes.length);
      }),
      RUNS,
    );
  });

  test("G4 takes no lane that is another's or is to be given up, and no more free ones than the share says", () => {
    holds(
      fc.property(group, asker, (one, who) => {
        const { draining } = planGiveUps(one.index, one.input, one.rules);
        const plan = planTake(one.index, who, one.input, draining, one.rules);
        const lanes = [...plan.takes.map(({ lane }) => lane), ...plan.unread];
        for (const lane of lanes) {
          expect([null, ME]).toContain(lane.lease?.subscriber ?? null);
          expect(draining.has(lane) && lane.lease !== null).toBe(false);
        }
        const free = new Set(lanes.filter((lane) => lane.lease === null));
        expect(free.size).toBeLessThanOrEqual(mayTake(one.input, ME));
      }),
      RUNS,
    );
  });

  test("deals in turn: no lane gets two more than another that has as many to give", () => {
    holds(
      fc.property(group, asker, (one, who) => {
        const { takes } = planFor(one, who);
        for (const less of takes) {
          const could = walk(less.lane, one.rules, who.maxMessages).grants.length;
          if (less.count === could) continue;
          for (const more of takes) expect(more.count - less.count).toBeLessThanOrEqual(1);
        }
      }),
      RUNS,
    );
  });

  test("the lane that waited longest is first, and nobody is passed over", () => {
    holds(
      fc.property(group, asker, (one, who) => {
        const plan = planFor(one, who);
        const taken = plan.takes.map(({ lane }) => turnOf(one, lane));
        expect(taken).toEqual([...taken].sort((a, b) => a - b));
        // While no share binds, whatever is ready and was ahead in turn has a part, or is read first.
        fc.pre(mayTake(one.input, ME) === Number.POSITIVE_INFINITY);
        const last = taken[taken.length - 1] ?? 0;
        const known = new Set([...plan.takes.map(({ lane }) => lane), ...plan.unread, ...plan.stale]);
        const { draining } = planGiveUps(one.index, one.input, one.rules);
        for (const lane of [...one.index.readyFree.keys(), ...one.index.readyOf(ME).keys()]) {
          if (turnOf(one, lane) < last && !draining.has(lane)) expect(known.has(lane)).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test("finds what there is: an empty plan means that nothing is ready for the asker", () => {
    holds(
      fc.property(group, asker, (one, who) => {
        const plan = planFor(one, who);
        fc.pre(plan.total === 0 && plan.unread.length === 0);
        const free = mayTake(one.input, ME) > 0 ? [...one.index.readyFree.keys()] : [];
        const { draining } = planGiveUps(one.index, one.input, one.rules);
        const own = [...one.index.readyOf(ME).keys()].filter((lane) => !draining.has(lane));
        expect([...free, ...own].map((lane) => lane.partitionKey)).toEqual([]);
        expect(plan.stale).toEqual([]);
      }),
      RUNS,
    );
  });

  test("lanes to read are those that the walk would go on in", () => {
    holds(
      fc.property(group, asker, (one, who) => {
        for (const lane of planFor(one, who).unread) {
          expect(walk(lane, one.rules, who.maxMessages).stop).toBe("unread");
        }
      }),
    );
  });
});

const RECEIVES = 12;
const MAX_ASKED = 10;
/** So deep that no lane ends while the case is played. */
const ENOUGH = RECEIVES * MAX_ASKED;

describe("receives one after the other", () => {
  test("serve every lane once before any is served again, however deep it is", () => {
    const depths = fc.array(fc.integer({ min: ENOUGH, max: 2 * ENOUGH }), { minLength: 1, maxLength: 12 });
    const busy: WalkRules = {
      maxInFlight: 2 * ENOUGH,
      maxAttempts: null,
      maxRetentionMs: 10_000,
      freshAllowed: true,
      nowMs: NOW_MS,
      logAheadMs: 0,
    };
    holds(
      fc.property(depths, fc.integer({ min: 1, max: MAX_ASKED }), (all, maxMessages) => {
        const index = new LaneIndex();
        const lanes = all.map((depth, at) => deepLane(`p${at}`, depth));
        for (const lane of lanes) index.place(lane, busy, NOW_MS);
        const who = { subscriber: ME, maxMessages, maxBytes: 1_000_000 };
        let served = new Set<Lane>();
        for (let receive = 0; receive < RECEIVES; receive += 1) {
          const plan = planTake(index, who, inputOf(index, new Set([ME])), new Set(), busy);
          for (const { lane, count } of plan.takes) {
            if (served.has(lane)) {
              expect(served.size).toBe(lanes.length);
              served = new Set();
            }
            served.add(lane);
            const entries = lane.window.slice(0, count);
            lane.grantRun({ nonce: "n", subscriber: ME, epoch: 1, visibleUntilMs: NOW_MS + 1 }, entries);
            lane.setLease({ subscriber: ME, epoch: 1, acquiredAtMs: NOW_MS });
            index.place(lane, busy, NOW_MS);
            index.requeue(lane);
          }
        }
      }),
      100,
    );
  });
});

function deepLane(partitionKey: string, depth: number): Lane {
  const lane = new Lane(partitionKey, 0);
  const entries = Array.from({ length: depth }, (_, at) => at + 1).map((offset) => ({
    offset,
    bodyBytes: 1,
    dueAtMs: NOW_MS,
    delayed: false,
  }));
  lane.extendWindow(entries, depth);
  lane.behind = true;
  return lane;
}

describe("planGiveUps", () => {
  test("frees quiet busy lanes of those that must give up, newest leases first, and no more", () => {
    holds(
      fc.property(group, (one) => {
        const { free, draining } = planGiveUps(one.index, one.input, one.rules);
        const { giveUp } = shares(one.input);
        const quiet = (lane: Lane) =>
          ![...one.index.deliveringTo()].some((s) => one.index.lanesDeliveringTo(s).has(lane));
        for (const lane of free) {
          expect(quiet(lane)).toBe(true);
          expect(giveUp.has(lane.lease?.subscriber ?? "")).toBe(true);
        }
        for (const [owner, count] of giveUp) {
          const own = (lanes: Iterable<Lane>) =>
            [...lanes].filter((lane) => lane.lease?.subscriber === owner);
          const freed = own(free);
          const kept = [...one.index.busyOf(owner)].filter((lane) => quiet(lane) && !freed.includes(lane));
          expect(freed.length + own(draining).length).toBeLessThanOrEqual(count);
          if (kept.length > 0) expect(freed.length).toBe(count);
          const oldestFreed = Math.min(...freed.map((lane) => lane.lease?.epoch ?? 0));
          for (const lane of kept) expect(lane.lease?.epoch ?? 0).toBeLessThanOrEqual(oldestFreed);
        }
      }),
      RUNS,
    );
  });

  test("nothing is both freed and drained, and only lanes in delivery are drained", () => {
    holds(
      fc.property(group, (one) => {
        const { free, draining } = planGiveUps(one.index, one.input, one.rules);
        for (const lane of free) expect(draining.has(lane)).toBe(false);
        for (const lane of draining) {
          expect(lane.lease).not.toBeNull();
          const delivering = [...one.index.deliveringTo()].some((s) =>
            one.index.lanesDeliveringTo(s).has(lane),
          );
          expect(delivering).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test("what was freed is not asked for again", () => {
    holds(
      fc.property(group, (one) => {
        const { index, rules: rule, input } = one;
        for (const lane of planGiveUps(index, input, rule).free) {
          lane.setLease(null);
          index.place(lane, rule, rule.nowMs);
        }
        const again = planGiveUps(index, inputOf(index, input.asking), rule);
        expect(again.free).toEqual([]);
      }),
      RUNS,
    );
  });
});
