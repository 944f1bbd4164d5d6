import type { SplitRouteView, SplitView } from "../../protocol/split-manager.ts";
import { nameOf } from "../../splitting/state/inventory-steps.ts";
import { ACTION_WHEN_HELD, nextSafeAction } from "../../splitting/state/next-safe-action.ts";
import type { SplitRoute, SplitState } from "../../splitting/state/split-state.ts";
import type { Split } from "./split.ts";
import type { Loaded } from "./split-store.ts";

/** The split as the API shows it. Throws `not-found` where nothing is declared; a held document is shown as held. */
export function splitView(split: Split): SplitView {
  const loaded = split.store.load();
  if (loaded.kind === "held") return heldView(split, loaded);
  const state = split.state();
  const { phase, generation, agentEpoch, prefix, sources, resources, retained, deadlineAtMs } = state;
  return {
    workload: state.workload,
    phase: phase.name,
    ...(phase.name === "Degraded" ? { resumePhase: phase.resumePhase, reason: phase.reason } : {}),
    nextSafeAction: nextSafeAction(state),
    generation,
    agent: { connected: split.agent(agentEpoch) !== null, epoch: agentEpoch },
    prefix,
    sources: sources.map(({ queue, provider, sourceName }) => ({ queue, provider, sourceName })),
    routes: routeViews(state),
    resources: resources.map(({ kind, queue, name, state }) => ({ kind, queue, name, state })),
    retained: retained.map(({ kind, queue, name, reason }) => ({ kind, queue, name, reason })),
    deadlineAt: deadlineAtMs,
  };
}

/** What cannot be read is not shown in parts. */
function heldView(
  split: Split,
  { reason, generation, agentEpoch }: Extract<Loaded, { kind: "held" }>,
): SplitView {
  return {
    workload: split.store.identity.workload,
    phase: "Degraded",
    reason,
    nextSafeAction: ACTION_WHEN_HELD,
    generation,
    agent: { connected: split.agent(agentEpoch) !== null, epoch: agentEpoch },
    prefix: null,
    sources: [],
    routes: [],
    resources: [],
    retained: [],
    deadlineAt: null,
  };
}

export function routeViews(state: SplitState): SplitRouteView[] {
  const routes = [...state.routes].sort((one, other) => (one.route < other.route ? -1 : 1));
  return routes.map((route) => routeView(state, route));
}

export function routeView(state: SplitState, shown: SplitRoute): SplitRouteView {
  const { route, queue, filter, ttlMs, expiresAtMs, slot } = shown;
  const name = nameOf(state, { kind: "route-shadow", queue, slot });
  const isThere = state.resources.some((resource) => resource.name === name && resource.state === "created");
  return {
    route,
    queue,
    filter,
    ttlMs,
    expiresAt: expiresAtMs,
    state: shown.state,
    shadow: isThere ? name : null,
  };
}
