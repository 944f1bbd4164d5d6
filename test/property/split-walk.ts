import fc from "fast-check";
import type { Filter } from "../../src/splitting/filter/filter.ts";
import { FAILURE_KINDS } from "../../src/splitting/state/failure-kind.ts";
import {
  type AGENT_REPORTS,
  type AgentReport,
  EVENT_KINDS,
  type EventKind,
  type SplitEvent,
} from "../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../src/splitting/state/split-state.ts";

// Events for random walks over splits: most as somebody who does everything right would send them, some of anything.

export const QUEUES = ["orders", "audit"];
const ROUTES = ["r0", "r1", "r2", "r3"];
const FILTERS: Filter[] = [
  { header: "x-dev", equals: "a" },
  { header: "x-dev", in: ["b", "c"] },
  { header: "x-dev", prefix: "a" },
  { header: "x-other", exists: true },
];

/** What a move is made of; which event it becomes depends on where the split is. */
export interface Move {
  kind: EventKind | "right";
  which: number;
  stepMs: number;
  /** Of a report: sent by an older agent, of an older stay, or half of what has to be said. */
  flaw: "none" | "epoch" | "stay" | "half";
}

/** What would seldom meet what it is about. */
const OFTEN = ["putRoute", "routeDrained", "record", "created", "resume"] as const;

export const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 5, arbitrary: fc.constant("right" as const) },
      { weight: 2, arbitrary: fc.constantFrom(...EVENT_KINDS) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(...OFTEN),
      },
    ),
    which: fc.nat(1000),
    stepMs: fc.oneof(
      { weight: 4, arbitrary: fc.nat(2000) },
      { weight: 1, arbitrary: fc.nat(2 * 3600 * 1000) },
    ),
    flaw: fc.oneof(
      { weight: 8, arbitrary: fc.constant("none" as const) },
      { weight: 1, arbitrary: fc.constantFrom("epoch" as const, "stay" as const, "half" as const) },
    ),
  }),
  { minLength: 30, maxLength: 120 },
);

/** The event that a move is in this state. */
export function eventOf(state: SplitState, { kind, which, flaw }: Move): SplitEvent {
  const chosen = kind === "right" ? rightKind(state, which) : kind;
  switch (chosen) {
    case "declare":
      return {
        kind: chosen,
        prefix: pick(["fairlane", "other"], which),
        sources: QUEUES.map((queue) => ({ queue, provider: "rabbitmq", sourceName: `shop.${queue}` })),
      };
    case "start":
      return { kind: chosen, splitId: `split-${state.generation}` };
    case "putRoute":
      return {
        kind: chosen,
        route: pick(ROUTES, which),
        queue: pick(QUEUES, which >> 2),
        filter: pick(FILTERS, which >> 3),
        ttlMs: 1000 + which * 60,
      };
    case "deleteRoute":
      return { kind: chosen, route: pick(ROUTES, which) };
    case "resume":
      return which % 2 === 0 ? { kind: chosen } : { kind: chosen, makeAgain: missing(state, which) };
    case "stop":
    case "agentJoined":
    case "agentLost":
    case "deadlinePassed":
    case "routesExpired":
      return { kind: chosen };
    default:
      return sent(state, reportOf(state, chosen, which, flaw === "half"), flaw);
  }
}

function sent(state: SplitState, report: AgentReport, flaw: Move["flaw"]): SplitEvent {
  const epoch = state.agentEpoch - (flaw === "epoch" ? 1 : 0);
  return { ...report, epoch, enteredGeneration: state.enteredGeneration - (flaw === "stay" ? 1 : 0) };
}

function pick<T>(of: readonly T[], which: number): T {
  return of[which % of.length] as T;
}

/** What brings the split on. */
function rightKind(state: SplitState, which: number): EventKind {
  const { phase, routes, resources, sources } = state;
  const isDraining = routes.some((route) => route.state === "draining");
  switch (phase.name) {
    case "Inactive":
      return "start";
    case "Preparing":
      return which % 2 === 0 ? "record" : "prepared";
    case "QuiescingApp":
      return "appGone";
    case "StartingPump":
      return "pumpStarted";
    case "RedirectingApp":
      return "appRedirected";
    case "Active":
      if (isDraining) return "routeDrained";
      return pick(["putRoute", "record", "created", "checkpointed", "stop"] as const, which);
    case "AbortingActivation":
      return isDraining ? "routeDrained" : "aborted";
    case "DrainingApp":
      if (isDraining) return "routeDrained";
      return sources.some(({ frontier }) => frontier === null) ? "pumpStopped" : "drained";
    case "QuiescingHandback":
      return which % 5 === 0 ? "consumerReturned" : "quiesced";
    case "HandingBack":
      return "handedBack";
    case "RestoringApp":
      return "appRestored";
    case "CleaningUp":
      if (resources.length === 0) return "cleaned";
      if (which % 7 === 0) return "retained";
      return resources.some((resource) => resource.state === "deleting") ? "deleted" : "deleting";
    case "Degraded":
      return "resume";
  }
}

type ReportKind = (typeof AGENT_REPORTS)[number];

function reportOf(state: SplitState, kind: ReportKind, which: number, half: boolean): AgentReport {
  const queues = half ? QUEUES.slice(1) : QUEUES;
  const proofs = queues.map((queue) => ({ queue, evidence: "seen" }));
  const { resources, routes } = state;
  const deleting = resources.find((resource) => resource.state === "deleting");
  const name = (kind === "deleted" && !half ? deleting : undefined)?.name ?? nameAmong(state, which);
  switch (kind) {
    case "record":
      return { kind, resources: [refOf(state, which)] };
    case "created":
      return { kind, names: [name] };
    case "checkpointed":
      return { kind, queue: half ? "other" : pick(QUEUES, which), checkpoint: `{"n":${which % 4}}` };
    case "prepared":
      return { kind, checkpoints: queues.map((queue) => ({ queue, checkpoint: "{}" })) };
    case "pumpStopped":
    case "handedBack":
      return { kind, frontiers: queues.map((queue) => ({ queue, frontier: half ? "moved" : "end" })) };
    case "routeDrained": {
      const ended = routes.find((route) => route.state === "draining");
      const queue = ended?.queue ?? pick(QUEUES, which);
      return {
        kind,
        route: ended?.route ?? pick(ROUTES, which),
        proof: { queue, evidence: half ? "" : "seen" },
      };
    }
    case "consumerReturned":
      return { kind, queue: pick(QUEUES, which) };
    case "deleting":
    case "deleted":
      return { kind, name, evidence: half ? "" : "seen" };
    case "retained":
      return { kind, name, reason: "a foreign consumer" };
    case "cleaned":
      return { kind };
    case "failed":
      return { kind, failure: pick(FAILURE_KINDS, which), detail: "it did" };
    default:
      return { kind, proofs };
  }
}

/** Names of what somebody may have deleted; now and then of anything else. */
function missing({ resources }: SplitState, which: number): string[] {
  const made = resources.filter(({ state }) => state === "created" || which % 5 === 0);
  return made.filter((_, i) => ((which >> i) & 2) === 2).map(({ name }) => name);
}

function nameAmong({ resources }: SplitState, which: number): string {
  return resources.length === 0 ? "fairlane-none" : pick(resources, which).name;
}

function refOf({ routes }: SplitState, which: number) {
  const queue = pick(QUEUES, which >> 1);
  const kind = pick(["app-shadow", "fence", "checkpoint", "route-shadow"] as const, which);
  if (kind !== "route-shadow") return { kind, queue, slot: null };
  const route = routes.length === 0 ? null : pick(routes, which);
  return { kind, queue: route?.queue ?? queue, slot: route?.slot ?? 0 };
}
