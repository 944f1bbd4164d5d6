import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { type Exception, Lane } from "../../src/core/lane.ts";
import { mergeLanes } from "../../src/core/merge-lanes.ts";
import { isPending } from "../../src/core/pending.ts";
import { holds } from "./replay.ts";

const ROUTE = 7;
const OTHER = 8;
const NOW_MS = 1000;
const DUE_MS = 500;

/** Whose a message is, and how far its lane has come with it. */
type Owner = "application" | "route" | "other";
type Fate = "settled" | "inRun" | "lapsed" | "waiting";
interface Message {
  offset: number;
  owner: Owner;
  fate: Fate;
}

interface Case {
  messages: Message[];
  /** Of the application's lane and of the route's: walked, read ahead, and whether there is more. */
  walked: [number, number];
  ahead: [number, number];
  room: number;
  giveBack: boolean;
}

const cases: fc.Arbitrary<Case> = fc.record({
  messages: fc
    .array(
      fc.record({
        owner: fc.constantFrom<Owner>("application", "route", "other"),
        fate: fc.constantFrom<Fate>("settled", "inRun", "lapsed", "waiting"),
      }),
      { minLength: 1, maxLength: 30 },
    )
    .map((all) => all.map((message, at) => ({ ...message, offset: 10 * (at + 1) }))),
  walked: fc.tuple(fc.nat(300), fc.nat(300)),
  ahead: fc.tuple(fc.nat(150), fc.nat(150)),
  room: fc.nat(20),
  giveBack: fc.boolean(),
});

function exceptionOf(offset: number, state: Exception["state"], atMs: number): Exception {
  const held = { attempt: 2, nonce: state === "inFlight" ? "n" : "", subscriber: "s", epoch: 1, reason: "" };
  return { offset, bodyBytes: 1, dueAtMs: DUE_MS, state, atMs, ...held };
}

/** A lane that has walked and read so far, with what it holds of its own messages. */
function laneOf(owner: Owner, routeId: number, own: Case, at: 0 | 1, scanOffset: number): Lane {
  const walked = Math.min(own.walked[at], scanOffset);
  const through = Math.min(walked + own.ahead[at], scanOffset);
  const lane = new Lane("p", walked, routeId);
  for (const { offset, fate } of own.messages.filter((one) => one.owner === owner)) {
    const message = { offset, bodyBytes: 1, dueAtMs: DUE_MS };
    if (offset > walked) {
      if (offset <= through) lane.window.push({ ...message, delayed: false });
    } else if (fate === "inRun") {
      const run = { nonce: `n${offset}`, subscriber: "s", epoch: 1, visibleUntilMs: NOW_MS + 1 };
      lane.runs.push({ ...run, messages: [message] });
    } else if (fate === "lapsed") lane.except(exceptionOf(offset, "inFlight", NOW_MS - 1));
    else if (fate === "waiting") lane.except(exceptionOf(offset, "backingOff", NOW_MS + 1));
  }
  lane.windowThrough = through;
  lane.behind = through < scanOffset;
  return lane;
}

function isUnsettled({ offset, fate }: Message, lane: Lane): boolean {
  return offset > lane.walkedOffset || fate !== "settled";
}

/** How often the merged lane has the message, by what it is going to read itself too. */
function places(lane: Lane, { offset, owner }: Message): number {
  const takes = (routeId: number) => (routeId === ROUTE ? owner === "route" : owner === "other");
  const held = lane.heldAt(offset) !== null;
  const unread = lane.behind && offset > Math.max(lane.windowThrough, lane.walkedOffset) && owner !== "other";
  return [held, unread, isPending(lane.pending, offset, takes)].filter(Boolean).length;
}

function merge(own: Case) {
  const scanOffset = 10 * own.messages.length;
  const into = laneOf("application", 0, own, 0, scanOffset);
  const from = laneOf("route", ROUTE, own, 1, scanOffset);
  const unsettled = own.messages.filter(
    (message) =>
      (message.owner === "application" && isUnsettled(message, into)) ||
      (message.owner === "route" && isUnsettled(message, from)),
  );
  const before = new Map(
    [into, from]
      .flatMap((lane) => own.messages.map(({ offset }) => [offset, lane.heldAt(offset)] as const))
      .filter(([, held]) => held),
  );
  const terms = { scanOffset, otherRoutes: [OTHER], sortedBy: OTHER, nowMs: NOW_MS, isSame: Object.is };
  const used = mergeLanes(into, from, { ...terms, giveBack: own.giveBack, room: own.room });
  return { into, from, unsettled, before, used, scanOffset };
}

describe("merging a route's lane into the application's", () => {
  test("exactly what was unsettled in either is left, each once; nothing is another route's", () => {
    holds(
      fc.property(cases, (own) => {
        const { into, unsettled } = merge(own);
        for (const message of own.messages) {
          expect([message.offset, places(into, message)]).toEqual([
            message.offset,
            unsettled.includes(message) ? 1 : 0,
          ]);
        }
      }),
    );
  });

  test("it takes no more room than there is, and leaves the route's lane with nothing", () => {
    holds(
      fc.property(cases, (own) => {
        const { into, from, used, before } = merge(own);
        expect(used).toBeLessThanOrEqual(own.room);
        expect(into.exceptions.filter(({ offset }) => !before.has(offset))).toHaveLength(used);
        expect(from.hasUnsettled || from.lease !== null || from.window.length > 0).toBe(false);
        expect(into.window).toEqual([]);
      }),
    );
  });

  test("deliveries keep their nonce and attempt; those of the route end if they are under way and given back", () => {
    holds(
      fc.property(cases, (own) => {
        const { into, before } = merge(own);
        for (const { offset, owner, fate } of own.messages) {
          const held = before.get(offset);
          if (!held) continue;
          const { state, attempt, nonce } = into.heldAt(offset) as Exception;
          const isBack = own.giveBack && owner === "route" && fate === "inRun";
          expect({ state, attempt, nonce }).toEqual(
            isBack
              ? { state: "returned", attempt: held.attempt - 1, nonce: "" }
              : { state: held.state, attempt: held.attempt, nonce: held.nonce },
          );
        }
      }),
    );
  });

  test("what was never delivered and is not delayed is due whatever the clock says", () => {
    holds(
      fc.property(cases, (own) => {
        const { into } = merge(own);
        for (const { state, atMs } of into.exceptions) if (state === "arrived") expect(atMs).toBe(0);
      }),
    );
  });

  test("lanes of two partitions are an error of the program", () => {
    const none = { scanOffset: 0, otherRoutes: [], sortedBy: 0, giveBack: false, nowMs: 0, room: 0 };
    const terms = { ...none, isSame: Object.is };
    expect(() => mergeLanes(new Lane("p", 0), new Lane("q", 0, ROUTE), terms)).toThrow(AssertionFailure);
  });
});
