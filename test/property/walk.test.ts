import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LaneEntry } from "../../src/core/lane.ts";
import { countInFlight, type WalkRules, walk, walkedVerdicts } from "../../src/core/walk.ts";
import { type LaneCase, laneCase, rules } from "./lane-source.ts";
import { holds } from "./replay.ts";
import { modelInFlight, modelNext, modelWalk } from "./walk-model.ts";

const maxGrants = fc.integer({ min: 1, max: 12 });
const RUNS = 800;

function isExpired(entry: LaneEntry, { maxRetentionMs, nowMs }: WalkRules): boolean {
  return entry.dueAtMs + maxRetentionMs <= nowMs;
}

function isDeferred(entry: LaneEntry, { nowMs }: WalkRules): boolean {
  return entry.delayed && entry.dueAtMs > nowMs;
}

describe("the walk", () => {
  test("G3 delivers what a walk of one message at a time would, in the same order", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane, messages }, rule, max) => {
        expect(walk(lane, rule, max).grants).toEqual(modelWalk(messages, rule, max).grants);
      }),
      2 * RUNS,
    );
  });

  test("changes nothing of the lane", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane }, rule, max) => {
        const before = structuredClone({ ...lane });
        walk(lane, rule, max);
        expect({ ...lane }).toEqual(before);
      }),
    );
  });

  test("never has more in flight than the group allows", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane, messages }, rule, max) => {
        const inFlight = countInFlight(lane, rule.nowMs);
        expect(inFlight).toBe(modelInFlight(messages, rule.nowMs));
        const { grants } = walk(lane, rule, max);
        expect(grants.length).toBeLessThanOrEqual(Math.min(max, Math.max(0, rule.maxInFlight - inFlight)));
      }),
      RUNS,
    );
  });

  test("asking for more only adds deliveries at the end", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, maxGrants, ({ lane }, rule, some, more) => {
        const few = walk(lane, rule, some).grants;
        const many = walk(lane, rule, some + more).grants;
        expect(many.slice(0, few.length)).toEqual(few);
      }),
      RUNS,
    );
  });

  test("a strict lane delivers at most one message, and none before an earlier one that is unsettled", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane, messages }, rule, max) => {
        const { grants } = walk(lane, { ...rule, maxInFlight: 1 }, max);
        expect(grants.length).toBeLessThanOrEqual(1);
        for (const { offset, place } of messages) {
          if (!grants[0] || offset >= grants[0].offset) break;
          // What is settled, too old or not to be delivered now can lie before it, and what was delayed.
          const arrived = place.kind === "waiting" && place.state === "arrived";
          const mayWait = arrived && (place.atMs > rule.nowMs || grants[0].attempt > 1 || !grants[0].fresh);
          expect(place.kind === "settled" || place.kind === "ahead" || mayWait).toBe(true);
        }
      }),
      RUNS,
    );
  });

  test("nothing behind a postponed message is delivered", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane }, rule, max) => {
        const barrier = lane.exceptions.find((e) => e.state === "postponed" && e.atMs > rule.nowMs);
        fc.pre(barrier !== undefined);
        const { grants } = walk(lane, rule, max);
        for (const { offset } of grants) expect(offset).toBeLessThan(barrier.offset);
      }),
      RUNS,
    );
  });

  test("what was given back comes first", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane }, rule, max) => {
        const states = walk(lane, rule, max).grants.map(
          ({ offset }) => lane.exceptionAt(offset)?.state === "returned",
        );
        expect(states).toEqual([...states].sort((a, b) => Number(b) - Number(a)));
      }),
      RUNS,
    );
  });

  test("fresh deliveries are the window's beginning, but for what is too old or not due", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane }, rule, max) => {
        const { grants, expired, deferred } = walk(lane, rule, max);
        const fresh = grants.filter((grant) => grant.fresh).map(({ offset }) => offset);
        const last = fresh[fresh.length - 1];
        const passed = lane.window.filter((entry) => last !== undefined && entry.offset <= last);
        const kept = passed.filter((entry) => !isExpired(entry, rule) && !isDeferred(entry, rule));
        expect(fresh).toEqual(kept.map(({ offset }) => offset));
        for (const entry of passed) {
          if (isExpired(entry, rule)) expect(expired).toContain(entry.offset);
          else if (isDeferred(entry, rule)) expect(deferred).toContain(entry);
        }
      }),
      RUNS,
    );
  });

  test("names as expired, spent and deferred only what is", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane, messages }, rule, max) => {
        const { expired, spent, deferred } = walk(lane, rule, max);
        const tooOld = lane.window.filter((entry) => isExpired(entry, rule)).map(({ offset }) => offset);
        expect(tooOld).toEqual(expect.arrayContaining(expired));
        for (const entry of deferred) expect(isDeferred(entry, rule) && !isExpired(entry, rule)).toBe(true);
        const outOfAttempts = messages.filter(
          ({ place }) =>
            place.kind === "delivered" &&
            place.untilMs <= rule.nowMs &&
            rule.maxAttempts !== null &&
            place.attempt >= rule.maxAttempts,
        );
        const offsets = outOfAttempts.map(({ offset }) => offset);
        expect(offsets).toEqual(expect.arrayContaining(spent));
        const barred = lane.exceptions.some((e) => e.state === "postponed" && e.atMs > rule.nowMs);
        if (rule.maxInFlight > 1 && !barred) expect(spent).toEqual(offsets);
      }),
      RUNS,
    );
  });

  test("asks for the log only when its entries could be delivered, and always then", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane, messages }, rule, max) => {
        const { grants, stop } = walk(lane, rule, max);
        const { after } = modelWalk(messages, rule, max);
        const offset = (messages[messages.length - 1]?.offset ?? 0) + 1;
        const place = { kind: "ahead" as const, dueAtMs: rule.nowMs, delayed: false };
        const next = modelNext([...after, { offset, bodyBytes: 0, place }], rule);
        const couldGoOn = lane.behind && grants.length < max && next?.grant.offset === offset;
        expect(stop === "unread").toBe(couldGoOn);
      }),
      RUNS,
    );
  });

  test("a stop names its cause", () => {
    holds(
      fc.property(laneCase, rules, maxGrants, ({ lane }, rule, max) => {
        const { grants, stop, stopOffset, spent } = walk(lane, rule, max);
        if (stop === "barrier") {
          const exception = lane.exceptionAt(stopOffset ?? -1);
          expect(exception?.state).toBe("postponed");
          expect(exception?.atMs).toBeGreaterThan(rule.nowMs);
        }
        if (stop === "full") {
          const room = rule.maxInFlight - countInFlight(lane, rule.nowMs);
          expect(grants.length).toBe(Math.max(0, room));
        }
        if (stop === "strict") {
          expect(rule.maxInFlight).toBe(1);
          if (stopOffset !== null) expect(lane.isSettledBelow(stopOffset)).toBe(false);
          else expect(grants.length + spent.length).toBeGreaterThan(0);
        }
      }),
      RUNS,
    );
  });

  test("what explain lists is everything unsettled that was walked, ascending", () => {
    holds(
      fc.property(laneCase, rules, ({ lane, messages }: LaneCase, rule) => {
        const listed = [...walkedVerdicts(lane, rule)].map(({ offset }) => offset);
        const unsettled = messages.filter(
          ({ place }) => place.kind === "delivered" || place.kind === "waiting",
        );
        expect(listed).toEqual(unsettled.map(({ offset }) => offset));
      }),
    );
  });
});
