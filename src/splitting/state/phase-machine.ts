import { type Change, type Refused, refused, type Unchanged } from "./change.ts";
import { deadlineOf } from "./deadlines.ts";
import { cleaned, created, deleted, deleting, record, retained } from "./inventory-steps.ts";
import { declare, resume, start, stop } from "./person-steps.ts";
import { type AgentCommand, commandOf } from "./recovery.ts";
import {
  agentJoined,
  agentLost,
  checkpointed,
  deadlinePassed,
  endPhase,
  failed,
  pumpStopped,
} from "./report-steps.ts";
import { deleteRoute, putRoute, routeDrained, routesExpired } from "./route-steps.ts";
import type { AgentEvent, SplitEvent } from "./split-event.ts";
import { AGENT_REPORTS } from "./split-event.ts";
import type { SplitState } from "./split-state.ts";

/**
 * The phases of a brokered split, and what moves it from one to the next:
 *
 *     Inactive -start→ Preparing -prepared→ QuiescingApp -appGone→ StartingPump -pumpStarted→ RedirectingApp
 *       -appRedirected→ Active -stop→ DrainingApp -drained→ QuiescingHandback -quiesced→ HandingBack
 *       -handedBack→ RestoringApp -appRestored→ CleaningUp -cleaned→ Inactive
 *     Preparing, QuiescingApp, StartingPump, RedirectingApp -stop→ AbortingActivation -aborted→ CleaningUp
 *     QuiescingHandback -consumerReturned, or failed with NeedsDrain or ConsumerAttached→ DrainingApp
 *     any but Inactive -failed, deadlinePassed→ Degraded(that phase) -resume→ that phase, and no other
 *
 * What holds in every state that `step` answers, given that it held before:
 *
 * - The generation is one more than before; the agent's epoch is never less.
 * - Nothing but the report of the agent that may act, of the present stay in its phase, ends a phase; what time does is
 *   Degraded, and nothing else.
 * - A route leaves only by a person's word or its own expiry, never because somebody is not connected; and once messages may be
 *   in its shadow, it leaves by draining.
 * - A checkpoint, once there, is only followed by a later one until nothing is split any more.
 * - A route's filter is the same from the first message that may be in its shadow to the last.
 * - The inventory loses a name only to `deleted` after `deleting`, or to `retained`, all in CleaningUp.
 * - From QuiescingHandback on no route is left and each source has its frontier; Inactive has no resource but retained ones.
 * - A shadow that was made is set back to recorded only by a person who resumes a held split by its name.
 * - Degraded keeps everything as it was: but for renewals and departures of routes, only `resume` changes it.
 *
 * `recovery.ts` says what is to be done in each state; that is what follows a step, and what a restart begins with.
 */
export type Step =
  | { kind: "next"; state: SplitState; actions: Action[] }
  /** It is so already: nothing is written, and the caller is told the same as the first time. */
  | Unchanged
  | Refused;

/** What follows once the new state is stored, and not before. All of it may be done twice. */
export type Action =
  /** Every agent of a lower epoch is sent away for good. */
  { kind: "displaceAgents"; belowEpoch: number } | { kind: "command"; command: AgentCommand };

/** Pure: `nowMs` is the manager's clock, and `state` is not touched. */
export function step(state: SplitState, event: SplitEvent, nowMs: number): Step {
  const change = isReport(event)
    ? (misplaced(state, event) ?? changeOf(state, event, nowMs))
    : changeOf(state, event, nowMs);
  if (change.kind !== "changed") return change;
  const generation = state.generation + 1;
  const { set, enter } = change;
  const next: SplitState = { ...state, ...set, generation };
  if (enter !== undefined) {
    next.phase = enter;
    next.enteredGeneration = generation;
    next.deadlineAtMs = enter.name === "Degraded" ? null : deadlineOf(enter.name, nowMs);
  }
  const actions: Action[] = [];
  if (next.agentEpoch > state.agentEpoch) {
    actions.push({ kind: "displaceAgents", belowEpoch: next.agentEpoch });
  }
  actions.push({ kind: "command", command: commandOf(next) });
  return { kind: "next", state: next, actions };
}

const REPORTS: ReadonlySet<string> = new Set(AGENT_REPORTS);

function isReport(event: SplitEvent): event is AgentEvent {
  return REPORTS.has(event.kind);
}

/** Of an agent that may not act, or about a stay that is over: an old proof proves nothing now. */
function misplaced(state: SplitState, { epoch, enteredGeneration }: AgentEvent): Refused | null {
  if (epoch < state.agentEpoch) {
    return refused("fenced", `the agent of epoch ${epoch} was followed by that of epoch ${state.agentEpoch}`);
  }
  if (epoch > state.agentEpoch) return refused("conflict", `no agent was given the epoch ${epoch}`);
  if (enteredGeneration !== state.enteredGeneration) {
    return refused("stale", `the phase was entered by generation ${state.enteredGeneration}`);
  }
  return null;
}

function changeOf(state: SplitState, event: SplitEvent, nowMs: number): Change {
  switch (event.kind) {
    case "declare":
      return declare(state, event);
    case "start":
      return start(state, event);
    case "stop":
      return stop(state);
    case "resume":
      return resume(state, event);
    case "putRoute":
      return putRoute(state, event, nowMs);
    case "deleteRoute":
      return deleteRoute(state, event.route);
    case "routeDrained":
      return routeDrained(state, event);
    case "routesExpired":
      return routesExpired(state, nowMs);
    case "record":
      return record(state, event.resources);
    case "created":
      return created(state, event.names);
    case "deleting":
      return deleting(state, event);
    case "deleted":
      return deleted(state, event);
    case "retained":
      return retained(state, event);
    case "cleaned":
      return cleaned(state);
    case "checkpointed":
      return checkpointed(state, event);
    case "pumpStopped":
      return pumpStopped(state, event.frontiers);
    case "failed":
      return failed(state, event);
    case "agentJoined":
      return agentJoined(state);
    case "agentLost":
      return agentLost(state, nowMs);
    case "deadlinePassed":
      return deadlinePassed(state, nowMs);
    case "prepared":
    case "appGone":
    case "pumpStarted":
    case "appRedirected":
    case "drained":
    case "consumerReturned":
    case "quiesced":
    case "handedBack":
    case "appRestored":
    case "aborted":
      return endPhase(state, event);
  }
}
