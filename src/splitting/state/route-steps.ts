import { overlapOf } from "../filter/overlap.ts";
import { type Change, changed, type Refused, refused, UNCHANGED } from "./change.ts";
import { heldPhase, isActivation, type Phase } from "./phase.ts";
import type { AgentReport, PersonEvent } from "./split-event.ts";
import { MAX_ROUTES_PER_QUEUE } from "./split-limits.ts";
import type { Provider, SplitRoute, SplitState } from "./split-state.ts";

type PutRoute = Extract<PersonEvent, { kind: "putRoute" }>;
type RouteDrained = Extract<AgentReport, { kind: "routeDrained" }>;

/** No message of this activation has been moved yet, so that a route's shadow cannot hold any. */
const BEFORE_PUMP: readonly Phase[] = ["Preparing", "QuiescingApp"];
const DRAINING: readonly Phase[] = [
  "StartingPump",
  "RedirectingApp",
  "Active",
  "AbortingActivation",
  "DrainingApp",
];

/** The routes, where those that `ends` are ended: out at once, or by draining where messages may be in the shadow. */
export function endedRoutes(state: SplitState, ends: (route: SplitRoute) => boolean): SplitRoute[] {
  const atOnce = BEFORE_PUMP.includes(heldPhase(state.phase));
  return state.routes.flatMap((route) => {
    if (route.state === "draining" || !ends(route)) return [route];
    return atOnce ? [] : [{ ...route, state: "draining" as const }];
  });
}

/** Whether routes can be had in this phase. */
function takesRoutes(phase: Phase): boolean {
  return phase === "Active" || isActivation(phase);
}

export function putRoute(state: SplitState, event: PutRoute, nowMs: number): Change {
  const { phase } = state;
  const known = state.routes.find(({ route }) => route === event.route);
  if (!takesRoutes(heldPhase(phase))) {
    return refused("phase", `there are routes only while it is started, and it is in ${heldPhase(phase)}`);
  }
  const source = state.sources.find(({ queue }) => queue === event.queue);
  if (source === undefined) return refused("not-found", `the workload has no queue ${event.queue}`);
  const isRenewal = known !== undefined && JSON.stringify(known.filter) === JSON.stringify(event.filter);
  if (phase.name === "Degraded" && !isRenewal) {
    return refused("phase", "it is held: routes can only be renewed or ended");
  }
  if (known !== undefined && known.queue !== event.queue) {
    return refused("conflict", `route ${known.route} is of queue ${known.queue}`);
  }
  if (known?.state === "draining") {
    return refused("conflict", `route ${known.route} has ended and is being emptied`);
  }
  // What a crash repeats goes by the filter that it went by: the messages of two filters are never told apart by one name.
  if (known !== undefined && !isRenewal && !BEFORE_PUMP.includes(heldPhase(phase))) {
    return refused(
      "conflict",
      `route ${known.route} takes other messages: end it, and put it again once it is emptied`,
    );
  }
  const slot = known?.slot ?? freeSlot(state, event.queue);
  if (slot === null)
    return refused("limit", `queue ${event.queue} has ${MAX_ROUTES_PER_QUEUE} routes already`);
  const problem = isRenewal ? null : overlapProblem(state, event, source.provider);
  if (problem !== null) return problem;
  const { route, queue, filter, ttlMs } = event;
  const put: SplitRoute = {
    route,
    queue,
    filter,
    ttlMs,
    expiresAtMs: nowMs + ttlMs,
    slot,
    state: "active",
  };
  if (known === undefined) return changed({ routes: [...state.routes, put] });
  return changed({ routes: state.routes.map((other) => (other === known ? put : other)) });
}

/** Ended routes keep their slot until they are drained. */
function freeSlot(state: SplitState, queue: string): number | null {
  const taken = new Set(state.routes.filter((route) => route.queue === queue).map(({ slot }) => slot));
  for (let slot = 0; slot < MAX_ROUTES_PER_QUEUE; slot++) if (!taken.has(slot)) return slot;
  return null;
}

/** Of all other routes of the queue that take messages. */
function overlapProblem(
  state: SplitState,
  { queue, route, filter }: PutRoute,
  provider: Provider,
): Refused | null {
  for (const other of state.routes) {
    if (other.queue !== queue || other.route === route || other.state !== "active") continue;
    const overlap = overlapOf(filter, other.filter, provider);
    switch (overlap.kind) {
      case "disjoint":
        break;
      case "overlap":
        return refused("overlap", `route ${route} overlaps ${other.route}`, {
          route: other.route,
          witness: overlap.witness,
        });
      case "undecided":
        return refused(
          "undecided",
          `whether route ${route} overlaps ${other.route} cannot be decided: ${overlap.reason}`,
          { route: other.route },
        );
    }
  }
  return null;
}

/** Allowed while it is held as well: nothing is done by it until the split goes on. */
export function deleteRoute(state: SplitState, name: string): Change {
  const known = state.routes.find(({ route }) => route === name);
  if (known === undefined) return refused("not-found", `there is no route ${name}`);
  if (known.state === "draining") return UNCHANGED;
  return changed({ routes: endedRoutes(state, (route) => route === known) });
}

export function routesExpired(state: SplitState, nowMs: number): Change {
  if (state.phase.name === "Degraded") return refused("phase", "it is held: time does nothing");
  const isOver = ({ expiresAtMs, state }: SplitRoute) => state === "active" && expiresAtMs <= nowMs;
  if (!state.routes.some(isOver)) return refused("stale", "no route is at its end");
  return changed({ routes: endedRoutes(state, isOver) });
}

export function routeDrained(state: SplitState, { route: name, proof }: RouteDrained): Change {
  const { phase } = state;
  if (phase.name === "Degraded" || !DRAINING.includes(phase.name)) {
    return refused("phase", `no route is drained in ${phase.name}`);
  }
  const known = state.routes.find(({ route }) => route === name);
  if (known === undefined) return refused("not-found", `there is no route ${name}`);
  if (known.state !== "draining") return refused("incomplete", `route ${name} has not ended`);
  if (proof.queue !== known.queue || proof.evidence === "") {
    return refused("incomplete", `route ${name} is of queue ${known.queue}, and has to be proved there`);
  }
  return changed({ routes: state.routes.filter((route) => route !== known) });
}
