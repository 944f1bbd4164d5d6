import { overlapOf } from "../filter/overlap.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import { PHASE_DEADLINE_MS } from "./deadlines.ts";
import { nameOf } from "./inventory-steps.ts";
import { heldPhase, isActivation, type Phase } from "./phase.ts";
import { MAX_ROUTES_PER_QUEUE } from "./split-limits.ts";
import type { SplitRoute, SplitState } from "./split-state.ts";

/**
 * What a document must be beyond its shape. null, or the first thing that is wrong, in words for people: it quotes names
 * of the document that the schema has bounded, and nothing else of it.
 */
export function invariantProblem(state: SplitState): string | null {
  return (
    numberProblem(state) ??
    uniquenessProblem(state) ??
    nameProblem(state) ??
    phaseProblem(state) ??
    filterProblem(state)
  );
}

function numberProblem({ generation, enteredGeneration, phase, deadlineAtMs }: SplitState): string | null {
  if (enteredGeneration > generation) return "its phase was entered by a generation that is still to come";
  if (phase.name === "Degraded" || phase.name === "Inactive") {
    return deadlineAtMs === null ? null : `${phase.name} has a deadline`;
  }
  // Without one a phase that waits for ever would never be shown to anybody.
  return PHASE_DEADLINE_MS[phase.name] !== null && deadlineAtMs === null
    ? `${phase.name} has no deadline`
    : null;
}

function uniquenessProblem({ sources, routes, resources, retained }: SplitState): string | null {
  const twice =
    repeated(sources.map(({ queue }) => `queue ${queue}`)) ??
    repeated(sources.map(({ provider, sourceName }) => `${provider} source ${sourceName}`)) ??
    repeated(routes.map(({ route }) => `route ${route}`)) ??
    repeated(routes.map(({ queue, slot }) => `slot ${slot} of queue ${queue}`)) ??
    repeated([...resources, ...retained].map(({ name }) => `resource ${name}`));
  if (twice !== null) return `${twice} is there twice`;
  const queues = new Set(sources.map(({ queue }) => queue));
  const lost = [...routes, ...resources].find(({ queue }) => !queues.has(queue));
  if (lost !== undefined) return `queue ${lost.queue} is not among the sources`;
  const far = routes.find(({ slot }) => slot >= MAX_ROUTES_PER_QUEUE);
  return far === undefined ? null : `route ${far.route} has a slot beyond the pool`;
}

function repeated(ids: readonly string[]): string | null {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return null;
}

function nameProblem(state: SplitState): string | null {
  for (const resource of [...state.resources, ...state.retained]) {
    if ((resource.kind === "route-shadow") !== (resource.slot !== null)) {
      return `resource ${resource.name} has a slot where it should not, or none where it should`;
    }
    if (nameOf(state, resource) !== resource.name) {
      return `resource ${resource.name} is not the name of what it is said to be`;
    }
  }
  return null;
}

const ROUTES_ENDED: readonly Phase[] = ["AbortingActivation", "DrainingApp"];
const ROUTES_GONE: readonly Phase[] = [
  "QuiescingHandback",
  "HandingBack",
  "RestoringApp",
  "CleaningUp",
  "Inactive",
];
const CHECKPOINT_KEPT: readonly Phase[] = [
  "QuiescingApp",
  "StartingPump",
  "RedirectingApp",
  "Active",
  "DrainingApp",
  "QuiescingHandback",
  "HandingBack",
  "RestoringApp",
];
const FRONTIER_KEPT: readonly Phase[] = ["QuiescingHandback", "HandingBack", "RestoringApp"];

function phaseProblem(state: SplitState): string | null {
  const phase = heldPhase(state.phase);
  const { sources, routes, resources, splitId } = state;
  if (ROUTES_GONE.includes(phase) && routes.length > 0) return `${phase} has a route`;
  if (ROUTES_ENDED.includes(phase) && routes.some(({ state }) => state === "active")) {
    return `${phase} has an active route`;
  }
  if (CHECKPOINT_KEPT.includes(phase) && sources.some(({ checkpoint }) => checkpoint === null)) {
    return `${phase} has a source without a checkpoint`;
  }
  if (FRONTIER_KEPT.includes(phase) && sources.some(({ frontier }) => frontier === null)) {
    return `${phase} has a source without a frontier`;
  }
  if (takesNoFrontier(phase) && sources.some(({ frontier }) => frontier !== null)) {
    return `${phase} has a frontier, and the pump was never stopped`;
  }
  if (phase === "Inactive")
    return resources.length > 0 ? "Inactive holds a resource that was not retained" : null;
  return splitId === "" ? `${phase} has no split ID` : null;
}

function takesNoFrontier(phase: Phase): boolean {
  return phase === "Active" || phase === "AbortingActivation" || isActivation(phase);
}

/** Filters are of their dialect, and the active ones of each queue provably apart. */
function filterProblem({ sources, routes }: SplitState): string | null {
  for (const { queue, provider } of sources) {
    const own = routes.filter((route) => route.queue === queue);
    const bad = own.find(({ filter }) => !parseFilter(filter, provider).ok);
    if (bad !== undefined) return `the filter of route ${bad.route} is not valid`;
    const pair = notDisjoint(
      own.filter(({ state }) => state === "active"),
      (one, other) => overlapOf(one.filter, other.filter, provider).kind === "disjoint",
    );
    if (pair !== null) return `routes ${pair[0].route} and ${pair[1].route} are not provably apart`;
  }
  return null;
}

function notDisjoint(
  routes: readonly SplitRoute[],
  areDisjoint: (one: SplitRoute, other: SplitRoute) => boolean,
): [SplitRoute, SplitRoute] | null {
  for (const [i, one] of routes.entries()) {
    for (const other of routes.slice(i + 1)) if (!areDisjoint(one, other)) return [one, other];
  }
  return null;
}
