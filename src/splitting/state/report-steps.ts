import { type Change, changed, type Refused, refused, UNCHANGED } from "./change.ts";
import { AGENT_AWAY_MS, PHASE_DEADLINE_MS } from "./deadlines.ts";
import { degradedReason } from "./degraded-reason.ts";
import type { DegradedKind } from "./failure-kind.ts";
import type { Phase, SplitPhase } from "./phase.ts";
import type { AgentReport, Proof } from "./split-event.ts";
import type { SplitState } from "./split-state.ts";

/** What ends phases: reports of the agent. And what holds them: failures, and time. */

type Report<Kind extends AgentReport["kind"]> = Extract<AgentReport, { kind: Kind }>;
type EndingReport = Report<
  | "prepared"
  | "appGone"
  | "pumpStarted"
  | "appRedirected"
  | "drained"
  | "consumerReturned"
  | "quiesced"
  | "handedBack"
  | "appRestored"
  | "aborted"
>;

/** Which phase a report ends, and which it leads to. `cleaned`, which has no source to speak of, is beside the inventory. */
export const REPORT_EDGES: Readonly<Record<EndingReport["kind"], { from: Phase; to: Phase }>> = {
  prepared: { from: "Preparing", to: "QuiescingApp" },
  appGone: { from: "QuiescingApp", to: "StartingPump" },
  pumpStarted: { from: "StartingPump", to: "RedirectingApp" },
  appRedirected: { from: "RedirectingApp", to: "Active" },
  drained: { from: "DrainingApp", to: "QuiescingHandback" },
  consumerReturned: { from: "QuiescingHandback", to: "DrainingApp" },
  quiesced: { from: "QuiescingHandback", to: "HandingBack" },
  handedBack: { from: "HandingBack", to: "RestoringApp" },
  appRestored: { from: "RestoringApp", to: "CleaningUp" },
  aborted: { from: "AbortingActivation", to: "CleaningUp" },
};

export function endPhase(state: SplitState, report: EndingReport): Change {
  const { from, to } = REPORT_EDGES[report.kind];
  const { name } = state.phase;
  if (name !== from) return refused("phase", `${report.kind} ends ${from}, and the split is in ${name}`);
  const problem = openEnd(state, report);
  if (problem !== null) return problem;
  return changed(report.kind === "prepared" ? prepared(state, report) : {}, { name: to });
}

/** What the report leaves open, so that the phase cannot end by it. */
function openEnd(state: SplitState, report: EndingReport): Refused | null {
  switch (report.kind) {
    case "prepared":
      return missingQueue(state, report.checkpoints);
    case "appGone":
    case "pumpStarted":
    case "appRedirected":
    case "quiesced":
    case "appRestored":
      return unproved(state, report.proofs);
    case "aborted":
      return routesLeft(state) ?? unproved(state, report.proofs);
    case "drained":
      if (state.sources.some(({ frontier }) => frontier === null)) {
        return refused("incomplete", "the pump was not stopped: there is a source without a frontier");
      }
      return routesLeft(state) ?? unproved(state, report.proofs);
    case "handedBack":
      return missingQueue(state, report.frontiers) ?? otherFrontier(state, report.frontiers);
    case "consumerReturned":
      return state.sources.some(({ queue }) => queue === report.queue)
        ? null
        : refused("not-found", `the workload has no queue ${report.queue}`);
  }
}

function routesLeft({ routes }: SplitState): Refused | null {
  const [left] = routes;
  return left === undefined ? null : refused("incomplete", `route ${left.route} is not drained`);
}

/** Each source exactly once. */
function missingQueue(state: SplitState, said: readonly { queue: string }[]): Refused | null {
  const queues = new Set(said.map(({ queue }) => queue));
  const missing = state.sources.find(({ queue }) => !queues.has(queue));
  if (missing !== undefined) return refused("incomplete", `nothing is said of queue ${missing.queue}`);
  if (said.length > state.sources.length) {
    return refused("incomplete", "more is said than there are queues in the workload");
  }
  return null;
}

function unproved(state: SplitState, proofs: readonly Proof[]): Refused | null {
  const empty = proofs.find(({ evidence }) => evidence.trim() === "");
  if (empty !== undefined) return refused("incomplete", `nothing was seen of queue ${empty.queue}`);
  return missingQueue(state, proofs);
}

/** What was read back must be what was to be committed. */
function otherFrontier(
  state: SplitState,
  said: readonly { queue: string; frontier: string }[],
): Refused | null {
  const other = said.find(({ queue, frontier }) =>
    state.sources.some((source) => source.queue === queue && source.frontier !== frontier),
  );
  return other === undefined
    ? null
    : refused("conflict", `queue ${other.queue} was handed back at another place than its frontier`);
}

function prepared(state: SplitState, { checkpoints }: Report<"prepared">): Partial<SplitState> {
  const byQueue = new Map(checkpoints.map(({ queue, checkpoint }) => [queue, checkpoint]));
  return {
    sources: state.sources.map((source) => ({ ...source, checkpoint: byQueue.get(source.queue) ?? null })),
  };
}

/** Not before the engine has begun or while it only looks, nor once the source is the application's own again. */
const CHECKPOINTED_IN: readonly Phase[] = [
  "Preparing",
  "StartingPump",
  "RedirectingApp",
  "Active",
  "AbortingActivation",
  "DrainingApp",
  "HandingBack",
];

/** The same again is fine in every phase, as for what is recorded: its answer may have been lost. */
export function checkpointed(state: SplitState, { queue, checkpoint }: Report<"checkpointed">): Change {
  const source = state.sources.find((one) => one.queue === queue);
  if (source === undefined) return refused("not-found", `the workload has no queue ${queue}`);
  if (source.checkpoint === checkpoint) return UNCHANGED;
  const { name } = state.phase;
  if (name === "Degraded" || !CHECKPOINTED_IN.includes(name)) {
    return refused("phase", `no later checkpoint is kept in ${name}`);
  }
  return changed({ sources: state.sources.map((one) => (one === source ? { ...one, checkpoint } : one)) });
}

/** Once for all: a frontier that was told is what is handed back, and does not move. */
export function pumpStopped(state: SplitState, frontiers: Report<"pumpStopped">["frontiers"]): Change {
  const { name } = state.phase;
  if (name !== "DrainingApp")
    return refused("phase", `the pump is stopped in DrainingApp, and not in ${name}`);
  const missing = missingQueue(state, frontiers);
  if (missing !== null) return missing;
  const byQueue = new Map(frontiers.map(({ queue, frontier }) => [queue, frontier]));
  const moved = state.sources.find(
    ({ queue, frontier }) => frontier !== null && frontier !== byQueue.get(queue),
  );
  if (moved !== undefined) return refused("conflict", `queue ${moved.queue} has another frontier already`);
  if (state.sources.every(({ frontier }) => frontier !== null)) return UNCHANGED;
  return changed({
    sources: state.sources.map((source) => ({ ...source, frontier: byQueue.get(source.queue) ?? null })),
  });
}

export function failed(state: SplitState, { failure, detail }: Report<"failed">): Change {
  const { name } = state.phase;
  if (name === "QuiescingHandback" && (failure === "NeedsDrain" || failure === "ConsumerAttached")) {
    return changed({}, { name: "DrainingApp" });
  }
  return held(state, failure, detail);
}

/** To Degraded, from any phase that can be held. */
function held({ phase }: SplitState, kind: DegradedKind, detail: string): Change {
  if (phase.name === "Degraded") return refused("phase", "it is held already");
  if (phase.name === "Inactive") return refused("phase", "nothing is split");
  const degraded: SplitPhase = {
    name: "Degraded",
    resumePhase: phase.name,
    reason: degradedReason(kind, detail),
  };
  return changed({}, degraded);
}

export function deadlinePassed(state: SplitState, nowMs: number): Change {
  const { phase, deadlineAtMs } = state;
  if (deadlineAtMs === null || nowMs < deadlineAtMs) return refused("stale", "no deadline has passed");
  if (phase.name === "Active") {
    return held(state, "AgentAway", `no queue agent was there for ${minutes(AGENT_AWAY_MS)}`);
  }
  const name = phase.name === "Degraded" ? phase.resumePhase : phase.name;
  return held(state, "Overdue", `${name} was not done within ${minutes(PHASE_DEADLINE_MS[name] ?? 0)}`);
}

function minutes(durationMs: number): string {
  return `${durationMs / 60_000} minutes`;
}

export function agentJoined(state: SplitState): Change {
  const agentEpoch = state.agentEpoch + 1;
  return changed(state.phase.name === "Active" ? { agentEpoch, deadlineAtMs: null } : { agentEpoch });
}

/** Only Active has no deadline of its own to hold it by. */
export function agentLost(state: SplitState, nowMs: number): Change {
  if (state.phase.name !== "Active" || state.deadlineAtMs !== null) return UNCHANGED;
  return changed({ deadlineAtMs: nowMs + AGENT_AWAY_MS });
}
