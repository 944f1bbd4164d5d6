import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { explainAt, type Surroundings } from "../../src/core/explain.ts";
import type { Lane } from "../../src/core/lane.ts";
import { type WalkRules, walk } from "../../src/core/walk.ts";
import type { Explanation } from "../../src/protocol/tenant-calls.ts";
import { Bench } from "../unit/durable/harness.ts";
import { LateBench } from "../unit/durable/late-bench.ts";
import { fateOf, othersCome, sharesDecide } from "./explain-fate.ts";
import {
  ExplainWorld,
  GROUP,
  type Known,
  type Place,
  publishSteps,
  type Step,
  steps,
  TOPIC,
  takeSteps,
} from "./explain-world.ts";

import { laneCase, rules, UNAGED } from "./lane-source.ts";
import { holds } from "./replay.ts";

/** Explanations against what dispatch and time then do, on both kinds of log. */

const LOGS: readonly { log: string; runs: number; open: () => Place }[] = [
  { log: "embedded", runs: 80, open: () => new Bench() },
  { log: "beside the object", runs: 40, open: () => new LateBench() },
];
/** As in replay.ts, for properties that await. */
const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_517);
const FACTOR = Number(process.env.PROPERTY_FACTOR ?? 1);
/** Longer than anything here lasts. */
const QUIET_MS = 60_000;
const ROUNDS = 3;

interface Life {
  steps: Step[];
  maxRetentionMs: number | null;
}

/** Receives with room for one end the life, so that there is something to deliver and somebody who asks. */
const someAsk: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    publishSteps,
    takeSteps.map((step) => ({ ...step, maxMessages: 1 })),
  ),
  { minLength: 3, maxLength: 8 },
);

/** A lane with an idle lease of one who does not ask grows while another asks. */
const growsForAnother: fc.Arbitrary<Step[]> = fc
  .record({ key: fc.nat(3), count: fc.integer({ min: 1, max: 3 }) })
  .map(({ key, count }): Step[] => {
    const hold = { visibilityTimeoutMs: 1000 };
    return [
      { kind: "settings", maxInFlightPerPartition: 10, paused: false },
      { kind: "leave", subscriber: "bob" },
      { kind: "leave", subscriber: "cid" },
      { kind: "publish", key, count: 1, delayMs: 0, openMs: 0 },
      { kind: "take", subscriber: "ann", maxMessages: 100, ...hold },
      { kind: "ackAll" },
      { kind: "pass", ms: 1500 },
      { kind: "heartbeat", subscriber: "ann" },
      { kind: "pass", ms: 600 },
      { kind: "take", subscriber: "bob", maxMessages: 1, ...hold },
      { kind: "publish", key, count, delayMs: 0, openMs: 0 },
    ];
  });

/** One works on lanes of which another who asks should have some. */
const mustShare: fc.Arbitrary<Step[]> = fc.integer({ min: 2, max: 4 }).map((lanes): Step[] => {
  const publishes = Array.from({ length: lanes }, (_, key): Step => {
    return { kind: "publish", key, count: 3, delayMs: 0, openMs: 0 };
  });
  return [
    { kind: "leave", subscriber: "bob" },
    { kind: "leave", subscriber: "cid" },
    { kind: "settings", maxInFlightPerPartition: 10, paused: false },
    ...publishes,
    { kind: "take", subscriber: "ann", maxMessages: lanes, visibilityTimeoutMs: 20_000 },
    { kind: "take", subscriber: "bob", maxMessages: 1, visibilityTimeoutMs: 1000 },
  ];
});
/** What happens, and how it ends: else that is rare. */
const anyEnding = fc
  .tuple(steps, fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, mustShare))
  .map(([all, ending]) => [...all, ...ending]);

/** In some of them messages grow too old. */
const life: fc.Arbitrary<Life> = fc.record({
  steps,
  maxRetentionMs: fc.option(fc.constant(4000), { freq: 2 }),
});

async function played(open: () => Place, { steps: all, maxRetentionMs }: Life): Promise<ExplainWorld> {
  const world = new ExplainWorld(open());
  await world.begin(maxRetentionMs);
  for (const step of all) await world.play(step);
  await world.rest();
  return world;
}

/** So that no case goes by unseen. */
const SEEN = [
  "deliverable",
  "waiting",
  "in-flight",
  "backing-off",
  "postponed",
  "delayed",
  "settled",
  "dead-lettered",
  "group-paused",
  "no-subscriber",
  "nobody-asking",
  "lease",
  "share",
  "message",
  "in-flight-limit",
];
const ENDED = ["settled", "dead-lettered", "other-group", "not-found"];

function isEnded({ state }: Explanation): boolean {
  return ENDED.includes(state);
}

describe("explain, of a lane by itself", () => {
  test("calls deliverable what a walk grants, and says of the rest why not", () => {
    holds(
      fc.property(laneCase, rules, ({ lane, messages }, rule) => {
        const outcome = walk(lane, rule, Number.POSITIVE_INFINITY);
        const granted = new Set(outcome.grants.map(({ offset }) => offset));
        for (const { offset, place } of messages) {
          if (place.kind === "settled") continue;
          const [dueAtMs, delayed] =
            place.kind === "ahead" ? [place.dueAtMs, place.delayed] : [UNAGED, false];
          const subject = { offset, dueAtMs, delayed, inLane: true };
          const { state, blockers } = explainAt(subject, lane, undisturbed(lane, rule), rule.nowMs);
          expect(state === "deliverable", `offset ${offset}`).toBe(granted.has(offset));
          if (state === "waiting") expect(blockers).not.toEqual([]);
        }
      }),
      2000,
    );
  });
});

/** Nothing but the lane decides: its owner asks. */
function undisturbed(lane: Lane, rule: WalkRules): Surroundings {
  const ends = new Map([[lane.lease?.subscriber ?? "ann", rule.nowMs + 1000]]);
  return {
    paused: false,
    logRetryAtMs: null,
    rules: rule,
    visibilityTimeoutMs: 60_000,
    expiresAtMs: ends,
    asking: new Set(ends.keys()),
    delivering: new Set(),
    busiest: null,
    shares: { freed: new Set(), draining: new Map(), someMayTake: true },
  };
}

for (const { log, runs, open } of LOGS) {
  describe(`explain, with the log ${log}`, { timeout: 60_000 }, () => {
    test("what it says of a message is what became of it", async () => {
      const seen = new Set<string>();
      await holdsAsync(runs, anyEnding, async (all) => {
        const world = await played(open, { steps: all, maxRetentionMs: null });
        const { nowMs } = world.place;
        for (const [offset, explanation] of await world.explainAll(await world.messages())) {
          expect(explanation.at).toBe(nowMs);
          expectKnown(explanation, world.known.get(offset), nowMs);
          expectWellMade(explanation);
          expectAskers(explanation, world.asking());
          seen.add(explanation.state);
          for (const { kind } of explanation.blockers) seen.add(kind);
        }
      });
      expect([...seen]).toEqual(expect.arrayContaining(SEEN));
    });

    test("what it calls deliverable a receive delivers, and nothing else", async () => {
      let deliverable = 0;
      await holdsAsync(
        runs,
        fc.tuple(life, fc.oneof({ weight: 3, arbitrary: someAsk }, growsForAnother), fc.nat(5)),
        async ([one, ending, turn]) => {
          const world = await played(open, { ...one, steps: [...one.steps, ...ending] });
          // Those would get what they can before it is explained.
          fc.pre(!world.hasWaiting);
          const explained = await world.explainAll(await world.messages());
          deliverable += await expectDispatchAgrees(world, explained, turn);
        },
      );
      expect(deliverable).toBeGreaterThan(runs);
    });

    test("until the next change that it names nothing changes by time, and then it is in what it says", async () => {
      const seen = new Map<string, number>();
      const lives = fc.tuple(life, fc.oneof(fc.constant([]), someAsk));
      await holdsAsync(runs, lives, async ([one, ending]) => {
        await expectTimeAgrees(await played(open, { ...one, steps: [...one.steps, ...ending] }), seen);
      });
      expect([...seen.keys()]).toEqual(expect.arrayContaining(["deliverable", "waiting", "expired"]));
    });
  });
}

async function holdsAsync<Case>(
  runs: number,
  cases: fc.Arbitrary<Case>,
  check: (one: Case) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(cases, check), { seed: SEED, numRuns: runs * FACTOR });
}

function expectKnown(explanation: Explanation, known: Known | undefined, nowMs: number): void {
  const { state, until, subscriber, attempt, deliveredAt } = explanation;
  switch (known?.kind) {
    case "acked":
      expect(state).toBe("settled");
      return;
    case "rejected":
      // Beside the object the copy may still be under way.
      expect(["dead-lettered", "being-dead-lettered"]).toContain(state);
      return;
    case "delivered":
      if (known.untilMs <= nowMs) expect(state).not.toBe("in-flight");
      else {
        const { subscriber: holder, attempt: count, sinceMs, untilMs } = known;
        expect({ state, subscriber, attempt, deliveredAt, until }).toEqual({
          state: "in-flight",
          subscriber: holder,
          attempt: count,
          deliveredAt: sinceMs,
          until: untilMs,
        });
      }
      return;
    case "postponed":
    case "backingOff":
      if (known.untilMs > nowMs) {
        const waits = known.kind === "postponed" ? "postponed" : "backing-off";
        expect({ state, until }).toEqual({ state: waits, until: known.untilMs });
      } else expect(isEnded(explanation)).toBe(false);
      return;
    default:
      expect(state).not.toBe("in-flight");
      expect(isEnded(explanation)).toBe(false);
      if ((explanation.dueAt ?? 0) > nowMs) expect({ state, until }).toMatchObject({ state: "delayed" });
  }
}

const ORDER = [
  "group-paused",
  "log-unavailable",
  "no-subscriber",
  "nobody-asking",
  "lease",
  "share",
  "message",
  "in-flight-limit",
  "failed-limit",
  "unread",
];

function expectWellMade(explanation: Explanation): void {
  const { state, blockers, summary, nextChangeAt, nextState, at, until } = explanation;
  if (state === "deliverable") expect(blockers).toEqual([]);
  if (state === "waiting") expect(blockers).not.toEqual([]);
  const places = blockers.map(({ kind }) => ORDER.indexOf(kind));
  expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
  // Lanes here are shorter than a read, so after two looks nothing is unread.
  expect(blockers.map(({ kind }) => kind)).not.toContain("unread");
  expect(summary).toMatch(/^[A-Z].*\.$/);
  expect(summary).not.toMatch(/null|undefined|NaN/);
  expect(nextState === null).toBe(nextChangeAt === null);
  if (nextChangeAt !== null) expect(nextChangeAt).toBeGreaterThan(at);
  if (until !== null) expect(nextChangeAt).toBeLessThanOrEqual(until);
}

/** Beside what is over or under way, everything waits while nobody asks. */
function expectAskers({ state, blockers }: Explanation, asking: readonly string[]): void {
  const kinds = blockers.map(({ kind }) => kind);
  if (["in-flight", "being-dead-lettered", ...ENDED].includes(state)) {
    expect(kinds).not.toContain("nobody-asking");
    return;
  }
  const nobody = kinds.includes("nobody-asking") || kinds.includes("no-subscriber");
  expect(nobody).toBe(asking.length === 0);
}

/** Receives of everyone who asks, in turn from some one on, each with room for all. */
async function expectDispatchAgrees(
  world: ExplainWorld,
  explained: ReadonlyMap<number, Explanation>,
  turn: number,
): Promise<number> {
  const asking = world.asking();
  const order = [...asking.slice(turn % Math.max(1, asking.length)), ...asking].slice(0, asking.length);
  const left = new Set<number>();
  for (const [offset, { state }] of explained) if (state === "deliverable") left.add(offset);
  const deliverable = left.size;
  if (order.length === 0) expect(deliverable).toBe(0);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [place, subscriber] of order.entries()) {
      const delivered = await world.take(subscriber, 100, 20_000);
      const isFirst = round === 0 && place === 0;
      for (const offset of delivered) {
        const explanation = explained.get(offset);
        // What one takes may change what fair share says to the next.
        const isShared = explanation?.blockers.some(({ kind }) => kind === "share");
        if (isFirst || !isShared) expect(explanation?.state, `offset ${offset}`).toBe("deliverable");
        left.delete(offset);
      }
      if (isFirst) expectOwnerServed(explained, subscriber, delivered);
    }
  }
  expect([...left]).toEqual([]);
  return deliverable;
}

function expectOwnerServed(
  explained: ReadonlyMap<number, Explanation>,
  subscriber: string,
  delivered: readonly number[],
): void {
  for (const [offset, { state, lease, summary }] of explained) {
    if (state !== "deliverable" || lease?.subscriber !== subscriber) continue;
    if (summary.includes("which holds the partition")) expect(delivered).toContain(offset);
  }
}

/** Who asks goes on asking; nothing else happens but time. */
async function expectTimeAgrees(world: ExplainWorld, seen: Map<string, number>): Promise<void> {
  const { place } = world;
  const messages = await world.messages();
  const asking = world.asking();
  // They ask once before, so that fair share has begun to take what it takes.
  await world.passAsking(0, asking);
  let before = await world.explainAll(messages);
  for (let round = 0; round < ROUNDS; round += 1) {
    const changes = [...before.values()].flatMap(({ nextChangeAt }) => nextChangeAt ?? []);
    const nextMs = Math.min(...changes, place.nowMs + QUIET_MS);
    const hadWaiting = world.hasWaiting;
    // Who waits is about to take what may go.
    if (hadWaiting && [...before.values()].some(({ state }) => state === "deliverable")) return;
    const ended = await endedCount(place);
    await world.passAsking(nextMs - 1 - place.nowMs, asking);
    for (const [offset, is] of await world.explainAll(messages)) {
      const was = before.get(offset) as Explanation;
      // Its copy is made by what goes on beside time.
      if (was.state === "being-dead-lettered") continue;
      const shared = sharesDecide(was, asking) || sharesDecide(is, asking);
      expect(fateOf(is, shared), `offset ${offset} before its next change`).toEqual(fateOf(was, shared));
    }
    await place.advance(1);
    const after = await world.explainAll(messages);
    const careDid = (await endedCount(place)) !== ended;
    for (const [offset, was] of before) {
      if (was.nextChangeAt !== nextMs || careDid || othersCome(was, before.values(), nextMs)) continue;
      const is = after.get(offset) as Explanation;
      if (sharesDecide(was, asking) || sharesDecide(is, asking)) continue;
      expect(fateOf(is, false), `offset ${offset} at its next change`).not.toEqual(fateOf(was, false));
      // Who waits takes what may go at once.
      if (hadWaiting) continue;
      expect(is.state, `offset ${offset} at its next change`).toBe(was.nextState);
      seen.set(is.state, (seen.get(is.state) ?? 0) + 1);
    }
    before = after;
  }
}

/** What care has ended so far: expired, dropped or made dead letters. */
async function endedCount(place: Place): Promise<number> {
  const { groups } = await place.call("getTopic", { topic: TOPIC });
  const stats = groups.find(({ group }) => group === GROUP);
  const { deadLetters } = await place.call("deadLetters", { topic: TOPIC, after: 0, limit: 100 });
  return (stats?.expired ?? 0) + (stats?.dropped ?? 0) + deadLetters.length;
}
