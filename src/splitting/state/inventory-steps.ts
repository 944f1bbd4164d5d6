import { type Change, changed, type Refused, refused, UNCHANGED } from "./change.ts";
import { resourceName } from "./names.ts";
import { heldPhase, type Phase } from "./phase.ts";
import type { AgentReport, ResourceRef } from "./split-event.ts";
import { MAX_RESOURCES } from "./split-limits.ts";
import type { ResourceKind, SplitResource, SplitState } from "./split-state.ts";

type Report<Kind extends AgentReport["kind"]> = Extract<AgentReport, { kind: Kind }>;

/** The inventory: what may exist is in it before it does, and until it is proved that it does not. */

/** In which phases a resource may still come to be. Making the fence anew is a part of undoing. */
const MADE_IN: Readonly<Record<ResourceKind, readonly Phase[]>> = {
  "app-shadow": ["Preparing"],
  checkpoint: ["Preparing", "StartingPump"],
  fence: ["Preparing", "StartingPump", "AbortingActivation"],
  "route-shadow": ["Preparing", "QuiescingApp", "StartingPump", "RedirectingApp", "Active"],
};

export function nameOf(state: SplitState, { kind, queue, slot }: ResourceRef): string {
  const { prefix, tenant, workload } = state;
  return resourceName({ prefix, kind, tenant, workload, queue, slot });
}

/** Answered by the state that has the names; repeating it is fine. */
export function record(state: SplitState, refs: readonly ResourceRef[]): Change {
  const known = new Set(state.resources.map(({ name }) => name));
  const added: SplitResource[] = [];
  for (const ref of refs) {
    const { kind, queue, slot } = ref;
    const name = nameOf(state, ref);
    if (known.has(name)) continue;
    const problem = recordProblem(state, ref);
    if (problem !== null) return problem;
    known.add(name);
    added.push({ kind, queue, name, slot, state: "recorded" });
  }
  if (added.length === 0) return UNCHANGED;
  if (known.size > MAX_RESOURCES)
    return refused("limit", `an inventory has at most ${MAX_RESOURCES} resources`);
  return changed({ resources: [...state.resources, ...added] });
}

function recordProblem(state: SplitState, { kind, queue, slot }: ResourceRef): Refused | null {
  const { name } = state.phase;
  if (name === "Degraded" || !MADE_IN[kind].includes(name)) {
    return refused("phase", `no ${kind} is made in ${name}`);
  }
  if (!state.sources.some((source) => source.queue === queue)) {
    return refused("not-found", `the workload has no queue ${queue}`);
  }
  if ((kind === "route-shadow") !== (slot !== null)) {
    return refused("incomplete", "a route's shadow has a slot, and nothing else has one");
  }
  if (slot !== null && !state.routes.some((route) => route.queue === queue && route.slot === slot)) {
    return refused("not-found", `no route of queue ${queue} has the slot ${slot}`);
  }
  return null;
}

export function created(state: SplitState, names: readonly string[]): Change {
  const { phase } = state;
  if (phase.name === "Degraded" || phase.name === "Inactive" || phase.name === "CleaningUp") {
    return refused("phase", `nothing is made in ${phase.name}`);
  }
  const said = new Set(names);
  const unknown = names.find((name) => !state.resources.some((resource) => resource.name === name));
  if (unknown !== undefined) return refused("not-found", `${unknown} was not recorded before it was made`);
  const fresh = state.resources.filter((one) => said.has(one.name) && one.state === "recorded");
  if (fresh.length === 0) return UNCHANGED;
  return changed({
    resources: state.resources.map((one) => (fresh.includes(one) ? { ...one, state: "created" } : one)),
  });
}

/** In these what was recorded and is missing is made when the engine begins, or is as empty as one that was never made. */
const SHADOWS_NEEDED: readonly Phase[] = [
  "Preparing",
  "QuiescingApp",
  "StartingPump",
  "RedirectingApp",
  "Active",
  "DrainingApp",
  "QuiescingHandback",
  "HandingBack",
];

/**
 * Another fence would let two agents act, and another position would be seeded where the old one was. An abort does not
 * make the application's shadow: it may never have been there.
 */
const MADE_AGAIN_IN: Readonly<Record<ResourceKind, readonly Phase[]>> = {
  "app-shadow": SHADOWS_NEEDED,
  "route-shadow": [...SHADOWS_NEEDED, "AbortingActivation"],
  checkpoint: [],
  fence: [],
};

/** The inventory, where these are no longer said to be there; the same list where they were not. All or none of them. */
export function setBack(
  state: SplitState,
  names: readonly string[],
): { kind: "set-back"; resources: SplitResource[] } | Refused {
  const said = new Set(names);
  const phase = heldPhase(state.phase);
  for (const name of said) {
    const resource = state.resources.find((one) => one.name === name);
    if (resource === undefined) return refused("not-found", `${name} is not recorded, and is not made`);
    const { kind } = resource;
    if (MADE_AGAIN_IN[kind].length === 0) return refused("conflict", `a ${kind} is not made again`);
    if (!MADE_AGAIN_IN[kind].includes(phase)) return refused("phase", `no ${kind} is made again in ${phase}`);
  }
  const missing = state.resources.filter((one) => said.has(one.name) && one.state !== "recorded");
  if (missing.length === 0) return { kind: "set-back", resources: state.resources };
  const resources = state.resources.map((one): SplitResource => {
    return missing.includes(one) ? { ...one, state: "recorded" } : one;
  });
  return { kind: "set-back", resources };
}

export function deleting(state: SplitState, { name, evidence }: Report<"deleting">): Change {
  const found = removable(state, name, evidence);
  if (found.kind === "refused") return found;
  const { resource } = found;
  if (resource.state === "deleting") return UNCHANGED;
  return changed({
    resources: state.resources.map((one) => (one === resource ? { ...one, state: "deleting" } : one)),
  });
}

export function deleted(state: SplitState, { name, evidence }: Report<"deleted">): Change {
  const found = removable(state, name, evidence);
  if (found.kind === "refused") return found;
  const { resource } = found;
  if (resource.state !== "deleting") {
    return refused("incomplete", `${name} was deleted before it was proved that it may be`);
  }
  return changed({ resources: state.resources.filter((one) => one !== resource) });
}

export function retained(state: SplitState, { name, reason }: Report<"retained">): Change {
  const found = removable(state, name, reason);
  if (found.kind === "refused") return found;
  const { kind, queue, slot } = found.resource;
  return changed({
    resources: state.resources.filter((one) => one !== found.resource),
    retained: [...state.retained, { kind, queue, name, slot, reason }],
  });
}

/** The resource of that name, where resources may go. `words` is what the agent says for it. */
function removable(
  state: SplitState,
  name: string,
  words: string,
): { kind: "found"; resource: SplitResource } | Refused {
  if (state.phase.name !== "CleaningUp") return refused("phase", `nothing is deleted in ${state.phase.name}`);
  const resource = state.resources.find((one) => one.name === name);
  if (resource === undefined) return refused("not-found", `${name} is not recorded, and is left alone`);
  if (words.trim() === "") return refused("incomplete", `what was seen of ${name} has to be said`);
  return { kind: "found", resource };
}

export function cleaned(state: SplitState): Change {
  if (state.phase.name !== "CleaningUp")
    return refused("phase", `nothing is cleaned up in ${state.phase.name}`);
  const [left] = state.resources;
  if (left !== undefined) return refused("incomplete", `${left.name} is still there, or may be`);
  const sources = state.sources.map((source) => ({ ...source, checkpoint: null, frontier: null }));
  return changed({ sources }, { name: "Inactive" });
}
