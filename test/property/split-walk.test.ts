import fc from "fast-check";
import { expect, test } from "vitest";
import { readDocument } from "../../src/splitting/state/document.ts";
import { newSplit } from "../../src/splitting/state/new-split.ts";
import { PHASES, type Phase } from "../../src/splitting/state/phase.ts";
import { type Action, step } from "../../src/splitting/state/phase-machine.ts";
import type { SplitEvent } from "../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../src/splitting/state/split-state.ts";
import { holds } from "./replay.ts";
import { eventOf, type Move, moves, QUEUES } from "./split-walk.ts";

const IDENTITY = { tenant: "demo", workload: "checkout" };
const START_MS = 1_800_000_000_000;

/** By the specification, and not by the code. */
const EDGES: Readonly<Record<Phase, readonly Phase[]>> = {
  Inactive: ["Preparing"],
  Preparing: ["QuiescingApp", "AbortingActivation"],
  QuiescingApp: ["StartingPump", "AbortingActivation"],
  StartingPump: ["RedirectingApp", "AbortingActivation"],
  RedirectingApp: ["Active", "AbortingActivation"],
  Active: ["DrainingApp"],
  AbortingActivation: ["CleaningUp"],
  DrainingApp: ["QuiescingHandback"],
  QuiescingHandback: ["HandingBack", "DrainingApp"],
  HandingBack: ["RestoringApp"],
  RestoringApp: ["CleaningUp"],
  CleaningUp: ["Inactive"],
};

/** One step that was taken. */
interface Taken {
  before: SplitState;
  event: SplitEvent;
  after: SplitState;
  actions: readonly Action[];
  nowMs: number;
}

function walk(path: readonly Move[], seen: (taken: Taken) => void): SplitState {
  const sources = QUEUES.map((queue) => ({
    queue,
    provider: "rabbitmq" as const,
    sourceName: `shop.${queue}`,
  }));
  const declare = { kind: "declare", prefix: "fairlane", sources } as const;
  let nowMs = START_MS;
  const first = step(newSplit(IDENTITY, { generation: 0, agentEpoch: 0 }, "fairlane"), declare, nowMs);
  let state = first.kind === "next" ? first.state : expect.fail("a declaration");
  for (const move of path) {
    nowMs += move.stepMs;
    const event = eventOf(state, move);
    const before = structuredClone(state);
    const result = step(state, event, nowMs);
    expect(state).toEqual(before);
    if (result.kind !== "next") continue;
    seen({ before, event, after: result.state, actions: result.actions, nowMs });
    state = result.state;
  }
  return state;
}

/** The invariants of a step, each said anew. */
function checkStep(taken: Taken): void {
  const { before, event, after, actions } = taken;
  expect(after.generation).toBe(before.generation + 1);
  expect(after.agentEpoch).toBe(before.agentEpoch + (event.kind === "agentJoined" ? 1 : 0));
  expect(after.enteredGeneration).toBe(
    JSON.stringify(after.phase) === JSON.stringify(before.phase)
      ? before.enteredGeneration
      : after.generation,
  );
  if ("epoch" in event) {
    expect([event.epoch, event.enteredGeneration]).toEqual([before.agentEpoch, before.enteredGeneration]);
  }
  const commands = actions.filter((action) => action.kind === "command");
  expect(commands).toMatchObject([
    { command: { generation: after.generation, agentEpoch: after.agentEpoch } },
  ]);
  const mayPump = ["StartingPump", "RedirectingApp", "Active"].includes(after.phase.name);
  expect(commands).toMatchObject([{ command: { mayPump } }]);
  checkPhase(taken);
  checkInventory(taken);
  checkRoutes(taken);
  checkPositions(taken);
  // What is written can be read: the document's own invariants.
  expect(readDocument(JSON.stringify(after), IDENTITY)).toEqual({ kind: "ok", state: after });
}

function checkPhase({ before, event, after, nowMs }: Taken): void {
  const [from, to] = [before.phase, after.phase];
  if (JSON.stringify(from) === JSON.stringify(to)) return;
  if (from.name === "Degraded") {
    expect([event.kind, to.name]).toEqual(["resume", from.resumePhase]);
    return;
  }
  if (to.name === "Degraded") {
    expect(to.resumePhase).toBe(from.name);
    expect(["failed", "deadlinePassed"]).toContain(event.kind);
    if (event.kind === "deadlinePassed") expect(before.deadlineAtMs).toBeLessThanOrEqual(nowMs);
    return;
  }
  expect(EDGES[from.name]).toContain(to.name);
  // Whoever moves a split on is a person who starts or stops it, or the agent that may act: never time.
  expect("epoch" in event || event.kind === "start" || event.kind === "stop").toBe(true);
}

/** Only a person who resumes takes back that a shadow was made, and only of shadows that were named. */
function checkSetBack({ before, event, after }: Taken): void {
  const now = new Map(after.resources.map(({ name, state }) => [name, state]));
  for (const { name, kind, state } of before.resources) {
    if (state === "recorded" || now.get(name) !== "recorded") continue;
    expect([before.phase.name, event.kind]).toEqual(["Degraded", "resume"]);
    expect(["app-shadow", "route-shadow"]).toContain(kind);
    expect(event.kind === "resume" && event.makeAgain).toContain(name);
  }
  if (before.phase.name !== "Degraded" || event.kind === "resume") return;
  expect(after.resources).toEqual(before.resources);
}

function checkInventory(taken: Taken): void {
  const { before, event, after } = taken;
  checkSetBack(taken);
  const kept = new Set(after.resources.map(({ name }) => name));
  const lost = before.resources.filter(({ name }) => !kept.has(name));
  const isOfPerson = event.kind === "declare";
  expect(after.retained.slice(0, before.retained.length)).toEqual(before.retained);
  if (lost.length === 0) return;
  expect(isOfPerson).toBe(false);
  expect([before.phase.name, lost.length]).toEqual(["CleaningUp", 1]);
  if (event.kind === "deleted") expect(lost).toMatchObject([{ name: event.name, state: "deleting" }]);
  else expect(after.retained.at(-1)).toMatchObject({ name: lost[0]?.name });
}

function checkRoutes({ before, event, after, nowMs }: Taken): void {
  const now = new Map(after.routes.map((route) => [route.route, route]));
  const beforePump = ["Preparing", "QuiescingApp"];
  for (const route of before.routes) {
    const left = now.get(route.route);
    const { phase } = before;
    const name = phase.name === "Degraded" ? phase.resumePhase : phase.name;
    // What a crash repeats of a route's messages goes by the filter that it went by.
    if (left !== undefined && !beforePump.includes(name)) {
      expect([left.filter, left.slot]).toEqual([route.filter, route.slot]);
    }
    const isSame = left?.state === route.state;
    if (isSame) continue;
    if (left === undefined && event.kind === "routeDrained") {
      expect([event.route, route.state]).toEqual([route.route, "draining"]);
      continue;
    }
    // It ended: somebody said so, or its time was over.
    expect(route.state).toBe("active");
    expect(["deleteRoute", "stop", "routesExpired"]).toContain(event.kind);
    if (event.kind === "deleteRoute") expect(event.route).toBe(route.route);
    if (event.kind === "routesExpired") expect(route.expiresAtMs).toBeLessThanOrEqual(nowMs);
    expect(left === undefined).toBe(beforePump.includes(name));
  }
}

/** By the specification: not where an engine is idle or only looks, nor when the source is the application's again. */
const MAY_REMEMBER = [
  "Preparing",
  "StartingPump",
  "RedirectingApp",
  "Active",
  "AbortingActivation",
  "DrainingApp",
  "HandingBack",
];

/** A frontier, once told, is the same until it was handed back and all is cleaned up. */
function checkPositions({ before, event, after }: Taken): void {
  for (const [i, { frontier, checkpoint }] of before.sources.entries()) {
    if (event.kind === "cleaned" || event.kind === "declare" || event.kind === "start") continue;
    if (frontier !== null) expect(after.sources[i]?.frontier).toBe(frontier);
    const now = after.sources[i];
    if (event.kind === "checkpointed" && event.queue === now?.queue) {
      expect(now.checkpoint).toBe(event.checkpoint);
      expect(MAY_REMEMBER).toContain(before.phase.name);
    } else if (event.kind !== "prepared") {
      expect(now?.checkpoint).toBe(checkpoint);
    }
  }
  if (before.phase.name !== "Degraded") return;
  const { routes: _, generation: __, agentEpoch: ___, phase: ____, resources: _____, ...kept } = before;
  const { enteredGeneration, deadlineAtMs, ...held } = kept;
  expect(after).toMatchObject(held);
  if (after.phase.name === "Degraded") expect(after).toMatchObject({ enteredGeneration, deadlineAtMs });
}

const RUNS = 80;

test("whatever happens, in whatever order, the invariants hold at each step", () => {
  const reached = new Set<string>();
  holds(
    fc.property(moves, (path) => {
      walk(path, (taken) => {
        checkStep(taken);
        reached.add(taken.after.phase.name);
      });
    }),
    RUNS,
  );
  // A walk that never comes far would hold anything.
  expect([...reached].sort()).toEqual([...PHASES, "Degraded"].sort());
});

test("from wherever a walk ends, those who do everything right bring the split to an end", () => {
  holds(
    fc.property(moves, (path) => {
      let state = walk(path, () => {});
      let nowMs = START_MS + 10 ** 9;
      for (let i = 0; i < 200 && state.phase.name !== "Inactive"; i++) {
        nowMs += 1;
        const way = state.phase.name === "Active" ? "stop" : "right";
        const result = step(state, eventOf(state, { kind: way, which: 1, stepMs: 1, flaw: "none" }), nowMs);
        state = result.kind === "next" ? result.state : state;
      }
      expect(state.phase).toEqual({ name: "Inactive" });
    }),
    RUNS / 2,
  );
});
