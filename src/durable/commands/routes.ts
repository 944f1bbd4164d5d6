import { LOOK_AHEAD_ENTRIES, MAX_LANE_READS } from "../../core/dispatch-limits.ts";
import { fail } from "../../core/failure.ts";
import { APPLICATION } from "../../core/lane.ts";
import type { LaneIndex } from "../../core/lane-index.ts";
import { MAX_EXACT_COUNT } from "../../core/limits.ts";
import { countInFlight } from "../../core/walk.ts";
import type {
  GroupRef,
  PutRouteInput,
  RouteRef,
  RoutesView,
  RouteView,
} from "../../protocol/tenant-calls.ts";
import type { Filter } from "../../splitting/filter/filter.ts";
import { filterText } from "../../splitting/filter/format-filter.ts";
import { overlapOf } from "../../splitting/filter/overlap.ts";
import { witnessText } from "../../splitting/filter/witness.ts";
import { readOn } from "../explain-read.ts";
import { heldCount, unknownLanes } from "../explain-waiting.ts";
import type { LiveRoute } from "../group-routes.ts";
import type { GroupState } from "../group-state.ts";
import { beginRoute, checkMayBegin, endRoute } from "../route-life.ts";
import type { Tenant } from "../tenant.ts";

/**
 * Starts a route, renews it, or gives it another filter. The group is made if it is not there, as by a receive.
 *
 * One transaction decides and begins. What waits in the application's lanes with a history is then asked whether it is
 * the route's, before this answers, so that nobody of the route is served out of turn; if the log cannot be read, the
 * next receive does it.
 */
export async function putRoute(tenant: Tenant, input: PutRouteInput): Promise<RouteView> {
  const group = await tenant.ensureGroup(input.topic, input.group);
  const view = tenant.change(group, (nowMs) => {
    const { route, filter, ttlMs } = input;
    const known = group.routes.byName(route);
    if (known && filterText(known.filter) === filterText(filter)) {
      group.routes.setTtl(known.routeId, ttlMs);
      group.routes.renew(known.routeId, nowMs);
      return { kind: "renewed" as const, view: viewOf(group, known, nowMs) };
    }
    const refusal = refusalOf(group, route, filter);
    if (refusal) return refusal;
    // Another filter is another route: what the old one had goes to whoever it is now.
    if (known) endRoute(group, known.routeId, { giveBack: false }, nowMs);
    const begun = beginRoute(group, { route, filter, ttlMs }, nowMs);
    return { kind: "begun" as const, view: viewOf(group, begun, nowMs) };
  });
  if ("detail" in view) fail(view.code, view.detail, view.more);
  if (view.kind === "begun") {
    await sortWaiting(tenant, input);
    tenant.wake.pump(input);
  }
  return view.view;
}

type Refusal = { code: Parameters<typeof fail>[0]; detail: string; more: Parameters<typeof fail>[2] };

/** A throw inside a change would cost the group its cache. */
function refusalOf(group: GroupState, route: string, filter: Filter): Refusal | null {
  for (const other of group.routes.all()) {
    if (other.route === route) continue;
    const overlap = overlapOf(filter, other.filter, "fairlane");
    if (overlap.kind === "disjoint") continue;
    const names = `route ${route} overlaps ${other.route}`;
    if (overlap.kind === "undecided") {
      const detail = `it cannot be decided whether ${names}: ${overlap.reason}`;
      return { code: "route-undecided", detail, more: { route: other.route } };
    }
    const { headers, key } = overlap.witness;
    const witness = key === undefined ? { headers } : { headers, key };
    const detail = `${names}, for example ${witnessText(overlap.witness)}`;
    return { code: "route-overlap", detail, more: { route: other.route, witness } };
  }
  const why = checkMayBegin(group, group.routes.byName(route) !== undefined);
  return why === null ? null : { code: "rate-limited", detail: why, more: { retryAfterMs: 10_000 } };
}

/** Pages of waiting messages that are asked at once; the rest is asked by receives. */
const MAX_SORT_READS = 20;

async function sortWaiting(tenant: Tenant, ref: GroupRef): Promise<void> {
  try {
    for (let read = 0; read < MAX_SORT_READS; read += 1) {
      const group = await tenant.group(ref.topic, ref.group);
      if (!group || group.lanes.application.unsorted.size === 0) return;
      await tenant.reader(ref).read({ lanes: [], tailEntries: 0 });
    }
  } catch (error) {
    // The route has begun all the same; until they are asked these messages go to nobody.
    tenant.ports.report("sort", error);
  }
}

export async function getRoute(tenant: Tenant, input: RouteRef): Promise<RouteView> {
  const group = await readToCount(tenant, input);
  const view = tenant.change(group, (nowMs) => {
    const route = group.routes.byName(input.route);
    return route ? viewOf(group, route, nowMs) : null;
  });
  return view ?? noRoute(input);
}

/** One read of what came since, and of lanes of which memory knows only that there is something. */
async function readToCount(tenant: Tenant, ref: GroupRef): Promise<GroupState> {
  const group = await tenant.groupOrFail(ref.topic, ref.group);
  const lanes = unknownLanes(group.lanes.lanes(), MAX_LANE_READS);
  await readOn(tenant, ref, { lanes, tailEntries: LOOK_AHEAD_ENTRIES });
  return tenant.groupOrFail(ref.topic, ref.group);
}

/** In order of their names. */
export async function listRoutes(tenant: Tenant, input: GroupRef): Promise<RoutesView> {
  const group = await readToCount(tenant, input);
  return tenant.change(group, (nowMs) => ({
    routes: group.routes.all().map((route) => viewOf(group, route, nowMs)),
    application: {
      delivered: group.routes.applicationDelivered,
      ...countsOf(group, APPLICATION, nowMs),
    },
  }));
}

/** What is under way with its subscribers stays so; all else goes to the application. */
export async function deleteRoute(tenant: Tenant, input: RouteRef): Promise<null> {
  const group = await tenant.groupOrFail(input.topic, input.group);
  const ended = tenant.change(group, (nowMs) => {
    const route = group.routes.byName(input.route);
    if (route) endRoute(group, route.routeId, { giveBack: false }, nowMs);
    return route !== undefined;
  });
  if (!ended) noRoute(input);
  tenant.wake.pump(input);
  return null;
}

function noRoute({ topic, group, route }: RouteRef): never {
  fail("not-found", `group ${group} of topic ${topic} has no route ${route}`);
}

function viewOf(group: GroupState, one: LiveRoute, nowMs: number): RouteView {
  const { routeId, route, filter, ttlMs, startedAtMs, expiresAtMs, delivered } = one;
  return {
    route,
    filter,
    ttlMs,
    startedAt: startedAtMs,
    expiresAt: expiresAtMs,
    delivered,
    ...countsOf(group, routeId, nowMs),
  };
}

/** From memory: what a lane has not read yet makes the number a lower bound. */
function countsOf(
  group: GroupState,
  routeId: number,
  nowMs: number,
): Pick<RouteView, "backlog" | "atLeast" | "inFlight" | "subscribers"> {
  const { backlog, isExact, inFlight } = heldIn(group.lanes.of(routeId), nowMs);
  const atLeast = isExact && group.atTail && backlog <= MAX_EXACT_COUNT ? {} : { atLeast: true as const };
  let subscribers = 0;
  for (const one of group.subscribers.values()) if (one.routeId === routeId) subscribers += 1;
  return { backlog: Math.min(backlog, MAX_EXACT_COUNT), ...atLeast, inFlight, subscribers };
}

function heldIn(
  { lanes }: LaneIndex,
  nowMs: number,
): { backlog: number; isExact: boolean; inFlight: number } {
  let backlog = 0;
  let inFlight = 0;
  let isExact = true;
  for (const lane of lanes.values()) {
    backlog += heldCount(lane);
    inFlight += countInFlight(lane, nowMs);
    if (lane.behind || lane.pending.length > 0) isExact = false;
  }
  return { backlog, isExact, inFlight };
}
