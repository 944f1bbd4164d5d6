import { type Change, changed, type Refused, refused, UNCHANGED } from "./change.ts";
import { setBack } from "./inventory-steps.ts";
import { isActivation, type Phase } from "./phase.ts";
import { endedRoutes } from "./route-steps.ts";
import type { DeclaredSource, PersonEvent } from "./split-event.ts";
import { MAX_SOURCES } from "./split-limits.ts";
import type { SplitSource, SplitState } from "./split-state.ts";

type Event<Kind extends PersonEvent["kind"]> = Extract<PersonEvent, { kind: Kind }>;

/** What people ask for, but for routes. */

/** Phases that a stop has led to already. */
const STOPPING: readonly Phase[] = [
  "AbortingActivation",
  "DrainingApp",
  "QuiescingHandback",
  "HandingBack",
  "RestoringApp",
  "CleaningUp",
  "Inactive",
];

export function declare(state: SplitState, { prefix, sources }: Event<"declare">): Change {
  if (state.phase.name !== "Inactive")
    return refused("phase", "a split is declared only while it is inactive");
  const problem = declarationProblem(sources);
  if (problem !== null) return problem;
  if (state.retained.length > 0 && prefix !== state.prefix) {
    return refused("conflict", "resources of another prefix were left behind, and are still to be looked at");
  }
  const kept = sources.map(freshSource);
  if (prefix === state.prefix && JSON.stringify(kept) === JSON.stringify(state.sources)) return UNCHANGED;
  return changed({ prefix, sources: kept });
}

/** As it is before anything was prepared. */
export function freshSource({ queue, provider, sourceName }: DeclaredSource): SplitSource {
  return { queue, provider, sourceName, checkpoint: null, frontier: null };
}

function declarationProblem(sources: Event<"declare">["sources"]): Refused | null {
  if (sources.length === 0 || sources.length > MAX_SOURCES) {
    return refused("limit", `a workload has 1 to ${MAX_SOURCES} sources`);
  }
  if (new Set(sources.map(({ queue }) => queue)).size < sources.length) {
    return refused("conflict", "two sources have one name");
  }
  if (new Set(sources.map(({ provider, sourceName }) => `${provider} ${sourceName}`)).size < sources.length) {
    return refused("conflict", "one source is declared twice");
  }
  return null;
}

export function start(state: SplitState, { splitId }: Event<"start">): Change {
  const { phase, retained } = state;
  if (phase.name === "Active" || (phase.name !== "Degraded" && isActivation(phase.name))) return UNCHANGED;
  if (phase.name !== "Inactive") return refused("phase", `it cannot be started in ${phase.name}`);
  if (retained.length > 0) {
    return refused(
      "conflict",
      "resources of an earlier activation were left behind, and are still to be looked at",
    );
  }
  if (splitId === "" || splitId === state.splitId) return refused("conflict", "an activation needs a new ID");
  return changed({ splitId, sources: state.sources.map(freshSource) }, { name: "Preparing" });
}

export function stop(state: SplitState): Change {
  const { phase } = state;
  if (phase.name === "Degraded") {
    return refused("phase", `it is held: it goes on in ${phase.resumePhase} first, and is stopped then`);
  }
  if (STOPPING.includes(phase.name)) return UNCHANGED;
  const routes = endedRoutes(state, () => true);
  return changed({ routes }, { name: phase.name === "Active" ? "DrainingApp" : "AbortingActivation" });
}

/** A resume that came twice finds its shadows recorded, and is answered as the first; one that finds them made is not. */
export function resume(state: SplitState, { makeAgain = [] }: Event<"resume">): Change {
  const { phase } = state;
  const again = setBack(state, makeAgain);
  if (again.kind === "refused") return again;
  if (phase.name === "Degraded") return changed({ resources: again.resources }, { name: phase.resumePhase });
  return again.resources === state.resources
    ? UNCHANGED
    : refused("phase", "it is not held: shadows are made again by the resume of a held split");
}
