import {
  MAX_ENDED_ROUTES,
  MAX_MERGED_ENTRIES,
  MAX_PENDING_RANGES,
  MAX_ROUTE_LANES,
} from "../core/dispatch-limits.ts";
import type { Lane } from "../core/lane.ts";
import { MAX_ROUTES_PER_GROUP } from "../core/limits.ts";
import { mergeLanes } from "../core/merge-lanes.ts";
import type { Filter } from "../splitting/filter/filter.ts";
import type { LiveRoute } from "./group-routes.ts";
import type { GroupState } from "./group-state.ts";
import type { Waiters } from "./waiters.ts";

/**
 * How routes begin and end. Each is one transaction, whatever there is in the group.
 *
 * A route begins. From now on what is read is asked of it (`GroupRoutes.ownerOf`). What was read ahead in the
 * application's lanes is forgotten and read again, and each of them that has something unread or pending gets a lane of the route
 * beside it that reads the same part of the partition for itself. What waits in the application's lanes with a history is
 * asked by the next read (`sortedBy`), and does not go until then. What is under way stays with the application.
 *
 * A route ends: see core/merge-lanes.ts.
 */

/** Which bound forbids a further route, or another filter for one; null: none does. */
export function checkMayBegin(group: GroupState, isReplaced: boolean): string | null {
  const { routes, lanes } = group;
  if (!isReplaced && routes.count >= MAX_ROUTES_PER_GROUP)
    return `a group has at most ${MAX_ROUTES_PER_GROUP} routes`;
  const newLanes = laggingLanes(group).length;
  const isFull = lanes.routeLaneCount + newLanes > MAX_ROUTE_LANES;
  const isLayered = [...group.pendingLanes].some(({ pending }) => pending.length > MAX_PENDING_RANGES);
  if (!isFull && !isLayered && routes.endedCount < MAX_ENDED_ROUTES) return null;
  const why = isFull
    ? `it would begin with messages of ${newLanes} partitions, and all routes of a group together have ${MAX_ROUTE_LANES}`
    : "what earlier routes left is not consumed yet";
  return `no further route can begin now: ${why}; the application has to catch up first`;
}

function laggingLanes(group: GroupState): Lane[] {
  return [...group.lanes.application.lanes.values()].filter((lane) => lane.hasMore);
}

export function beginRoute(
  group: GroupState,
  route: { route: string; filter: Filter; ttlMs: number },
  nowMs: number,
): LiveRoute {
  const routeId = group.nextEpoch(nowMs);
  const begun = group.routes.begin({ routeId, ...route, nowMs });
  const { scanOffset } = group.progress;
  for (const lane of laggingLanes(group)) {
    const walkedOffset = lane.hasUnwalked ? lane.walkedOffset : Math.max(lane.walkedOffset, scanOffset);
    const beside = group.laneOrNew(lane.partitionKey, walkedOffset, routeId);
    beside.behind = lane.hasUnwalked;
    beside.pending = lane.pending.map((range) => ({ ...range }));
    beside.changes.state = true;
    lane.forgetWindow();
    group.touch(beside, nowMs);
  }
  // What waits may be the new route's.
  group.placeAll(nowMs);
  return begun;
}

/** `giveBack`: nobody of it is there any more, so what is under way with it comes back at once. */
export function endRoute(
  group: GroupState,
  routeId: number,
  { giveBack }: { giveBack: boolean },
  nowMs: number,
): void {
  const sortedBy = group.routes.newestId;
  group.routes.end(routeId);
  const otherRoutes = group.routes.all().map((route) => route.routeId);
  const { scanOffset } = group.progress;
  let room = MAX_MERGED_ENTRIES;
  for (const lane of lanesToMerge(group, routeId)) {
    const into = group.laneOrNew(lane.partitionKey, scanOffset);
    const terms = { scanOffset, otherRoutes, sortedBy, giveBack, nowMs, room };
    room -= mergeLanes(into, lane, { ...terms, isSame: (one, other) => group.routes.isSame(one, other) });
    group.drainingSince.delete(lane);
    group.touch(lane, nowMs);
    group.touch(into, nowMs);
  }
  group.lanes.forget(routeId);
}

/**
 * The route's lanes, and one for each partition in which the application stands behind the scan and the route has settled
 * all that was scanned, or all that was pending: wherever the application reads from where it stands, that must not come
 * to it.
 */
function lanesToMerge(group: GroupState, routeId: number): Lane[] {
  const { scanOffset } = group.progress;
  const lanes = [...group.lanes.of(routeId).lanes.values()];
  for (const { partitionKey, walkedOffset, pending } of group.lanes.application.lanes.values()) {
    if ((walkedOffset >= scanOffset && pending.length === 0) || group.lane(partitionKey, routeId)) continue;
    lanes.push(group.laneOrNew(partitionKey, scanOffset, routeId));
  }
  return lanes;
}

/** Ends routes that nobody renewed. A waiting receive renews its route. */
export function reapRoutes(group: GroupState, nowMs: number, waiters: Waiters): void {
  for (const route of group.routes.all()) {
    const { routeId, expiresAtMs, ttlMs } = route;
    // After a step back of the clock, none lives longer than its time from now.
    if (expiresAtMs - nowMs > ttlMs) route.expiresAtMs = nowMs + ttlMs;
    if (expiresAtMs > nowMs) continue;
    if (waiters.isAttached(group.key, route.route)) group.routes.renew(routeId, nowMs);
    else endRoute(group, routeId, { giveBack: true }, nowMs);
  }
}

/** There is no room for another lane of a route. */
export function endFullestRoute(group: GroupState, nowMs: number): void {
  let fullest: { routeId: number; lanes: number } | null = null;
  for (const { routeId } of group.routes.all()) {
    const lanes = group.lanes.of(routeId).lanes.size;
    if (fullest === null || lanes > fullest.lanes) fullest = { routeId, lanes };
  }
  if (fullest) endRoute(group, fullest.routeId, { giveBack: false }, nowMs);
}

/** The subscriber is of this party from now on: what it holds of another it gives up. */
export function attach(group: GroupState, name: string, routeId: number, nowMs: number): void {
  const subscriber = group.subscribers.get(name);
  if (!subscriber) return;
  if (subscriber.routeId !== routeId) {
    for (const lane of group.lanes.leasedBy(name)) {
      if (lane.routeId === routeId) continue;
      lane.setLease(null);
      group.touch(lane, nowMs);
    }
    subscriber.routeId = routeId;
    group.touchSubscriber(name);
  }
  group.routes.renew(routeId, nowMs);
}
