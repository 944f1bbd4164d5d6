import { expect } from "vitest";
import type { Filter } from "../../../../src/splitting/filter/filter.ts";
import { newSplit } from "../../../../src/splitting/state/new-split.ts";
import type { Phase, SplitPhase, WorkingPhase } from "../../../../src/splitting/state/phase.ts";
import { type Step, step } from "../../../../src/splitting/state/phase-machine.ts";
import type { AgentReport, SplitEvent } from "../../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../../src/splitting/state/split-state.ts";

// Splits in each of their phases, brought there by the phase machine itself.

export const NOW_MS = 1_800_000_000_000;
export const IDENTITY = { tenant: "demo", workload: "checkout" };
export const SOURCES = [
  { queue: "orders", provider: "rabbitmq", sourceName: "shop.orders" },
  { queue: "audit", provider: "kafka", sourceName: "shop-audit" },
] as const;
export const ALICE: Filter = { header: "x-dev", equals: "alice" };
export const BOB: Filter = { header: "x-dev", equals: "bob" };

const proofs = SOURCES.map(({ queue }) => ({ queue, evidence: "seen" }));
const frontiers = SOURCES.map(({ queue }) => ({ queue, frontier: `{"end":"${queue}"}` }));

/** A report of each kind that leaves nothing open, where the state is as `splitIn` makes it. */
export const REPORTS: { readonly [Kind in AgentReport["kind"]]: Extract<AgentReport, { kind: Kind }> } = {
  record: { kind: "record", resources: [{ kind: "app-shadow", queue: "audit", slot: null }] },
  created: { kind: "created", names: [] },
  checkpointed: { kind: "checkpointed", queue: "orders", checkpoint: '{"at":"later"}' },
  prepared: {
    kind: "prepared",
    checkpoints: SOURCES.map(({ queue }) => ({ queue, checkpoint: `{"at":"${queue}"}` })),
  },
  appGone: { kind: "appGone", proofs },
  pumpStarted: { kind: "pumpStarted", proofs },
  appRedirected: { kind: "appRedirected", proofs },
  routeDrained: { kind: "routeDrained", route: "bob", proof: { queue: "orders", evidence: "seen" } },
  pumpStopped: { kind: "pumpStopped", frontiers },
  drained: { kind: "drained", proofs },
  consumerReturned: { kind: "consumerReturned", queue: "orders" },
  quiesced: { kind: "quiesced", proofs },
  handedBack: { kind: "handedBack", frontiers },
  appRestored: { kind: "appRestored", proofs },
  aborted: { kind: "aborted", proofs },
  deleting: { kind: "deleting", name: "", evidence: "seen" },
  deleted: { kind: "deleted", name: "", evidence: "seen" },
  retained: { kind: "retained", name: "", reason: "a foreign consumer" },
  cleaned: { kind: "cleaned" },
  failed: { kind: "failed", failure: "Unprovable", detail: "the broker shows no counts" },
};

/** As the agent that may act sends it, of the present stay. */
export function reported(state: SplitState, report: AgentReport): SplitEvent {
  return { ...report, epoch: state.agentEpoch, enteredGeneration: state.enteredGeneration };
}

/** The next state, or a failure that says why there is none. */
export function next(state: SplitState, event: SplitEvent, nowMs = NOW_MS): SplitState {
  const result = step(state, event, nowMs);
  return result.kind === "next" ? result.state : expect.fail(`${event.kind}: ${JSON.stringify(result)}`);
}

export function report(state: SplitState, event: AgentReport): SplitState {
  return next(state, reported(state, event));
}

/** Why it is refused. */
export function refusal(result: Step): string {
  return result.kind === "refused"
    ? `${result.because}: ${result.reason}`
    : expect.fail(JSON.stringify(result));
}

export function declared(): SplitState {
  const empty = newSplit(IDENTITY, { generation: 0, agentEpoch: 0 }, "fairlane");
  return next(empty, { kind: "declare", prefix: "fairlane", sources: SOURCES });
}

const START: SplitEvent = { kind: "start", splitId: "split-1" };
const STOP: SplitEvent = { kind: "stop" };

type Move = (state: SplitState) => SplitState;
const say =
  (kind: keyof typeof REPORTS): Move =>
  (state) =>
    report(state, REPORTS[kind]);
const begin: Move = (state) => {
  const started = next(next(state, { kind: "agentJoined" }), START);
  return report(started, {
    kind: "record",
    resources: [{ kind: "app-shadow", queue: "orders", slot: null }],
  });
};
const withRoutes: Move = (state) => {
  const route = (route: string, filter: Filter): SplitEvent => {
    return { kind: "putRoute", route, queue: "orders", filter, ttlMs: 30_000 };
  };
  return next(next(state, route("alice", ALICE)), route("bob", BOB));
};
const drainAll: Move = (state) =>
  state.routes.reduce<SplitState>((now, { route }) => report(now, { ...REPORTS.routeDrained, route }), state);

const TO_ACTIVE: Move[] = [
  begin,
  withRoutes,
  say("prepared"),
  say("appGone"),
  say("pumpStarted"),
  say("appRedirected"),
];
const TO_DRAINING: Move[] = [...TO_ACTIVE, (state) => next(state, STOP), say("pumpStopped")];

const WAYS: Record<Phase, Move[]> = {
  Inactive: [],
  Preparing: TO_ACTIVE.slice(0, 2),
  QuiescingApp: TO_ACTIVE.slice(0, 3),
  StartingPump: TO_ACTIVE.slice(0, 4),
  RedirectingApp: TO_ACTIVE.slice(0, 5),
  Active: TO_ACTIVE,
  AbortingActivation: [...TO_ACTIVE.slice(0, 4), (state) => next(state, STOP), drainAll],
  DrainingApp: [...TO_DRAINING, drainAll],
  QuiescingHandback: [...TO_DRAINING, drainAll, say("drained")],
  HandingBack: [...TO_DRAINING, drainAll, say("drained"), say("quiesced")],
  RestoringApp: [...TO_DRAINING, drainAll, say("drained"), say("quiesced"), say("handedBack")],
  CleaningUp: [
    ...TO_DRAINING,
    drainAll,
    say("drained"),
    say("quiesced"),
    say("handedBack"),
    say("appRestored"),
  ],
};

/** A split in this phase: two routes up to Active, none after; one resource that was recorded. */
export function splitIn(phase: Phase): SplitState {
  const state = WAYS[phase].reduce<SplitState>((now, move) => move(now), declared());
  expect(state.phase).toEqual({ name: phase });
  return state;
}

export function degradedIn(phase: WorkingPhase): SplitState {
  return report(splitIn(phase), REPORTS.failed);
}

export function nameOfPhase(phase: SplitPhase): string {
  return phase.name === "Degraded" ? `Degraded(${phase.resumePhase})` : phase.name;
}
