import { APPLICATION } from "../../core/lane.ts";
import { MAX_PARTITIONS_SHOWN } from "../../core/limits.ts";
import { shares } from "../../core/share.ts";
import type { GroupRef, SubscribersReply } from "../../protocol/tenant-calls.ts";
import { askingSubscribers } from "../asking.ts";
import { underWayOf } from "../deliveries-under-way.ts";
import type { GroupState, Subscriber } from "../group-state.ts";
import { heldPartitions } from "../held-partitions.ts";
import type { Tenant } from "../tenant.ts";

/** Partitions shown in one reply: with the longest keys they are some 10 MB, which a call may carry. */
const MAX_PARTITIONS_IN_ALL = 10_000;

/**
 * Live subscribers in order of their names, from memory: nothing is read from the log. The dead are reaped first, as
 * dispatch would. The share and the lanes beside it are the application's. Where there are more than a hundred of them, fewer partitions of each are shown.
 */
export async function subscribers(tenant: Tenant, input: GroupRef): Promise<SubscribersReply> {
  const group = await tenant.groupOrFail(input.topic, input.group);
  return tenant.change(group, (nowMs) => {
    const parties = [APPLICATION, ...group.routes.all().map(({ routeId }) => routeId)];
    const asking = new Set(
      parties.flatMap((routeId) => [...askingSubscribers(tenant, group, nowMs, routeId)]),
    );
    const live = [...group.subscribers.values()].sort((a, b) => (a.subscriber < b.subscriber ? -1 : 1));
    const fitting = Math.floor(MAX_PARTITIONS_IN_ALL / Math.max(1, live.length));
    const maxPartitions = Math.min(MAX_PARTITIONS_SHOWN, Math.max(1, fitting));
    const input = group.shareInput(askingSubscribers(tenant, group, nowMs, APPLICATION), APPLICATION);
    let held = 0;
    for (const lanes of input.heldLanes.values()) held += lanes;
    return {
      subscribers: live.map((each) => viewOf(group, each, asking.has(each.subscriber), maxPartitions, nowMs)),
      share: shares(input).share,
      busyLanes: input.busyLanes,
      freeLanes: input.busyLanes - held,
    };
  });
}

function viewOf(
  group: GroupState,
  { subscriber, beatAtMs, expiresAtMs, routeId }: Subscriber,
  asking: boolean,
  maxPartitions: number,
  nowMs: number,
): SubscribersReply["subscribers"][number] {
  const route = group.routes.byId(routeId)?.route;
  const { partitions, partitionsHeld } = heldPartitions(group, subscriber);
  const { inFlight, sinceMs } = underWayOf(group, subscriber, nowMs);
  return {
    subscriber,
    ...(route === undefined ? {} : { route }),
    asking,
    lanes: partitionsHeld,
    busyLanes: busyLanesOf(group, subscriber),
    inFlight,
    oldestDeliveryAt: sinceMs,
    partitions: partitions.slice(0, maxPartitions).sort(),
    lastSeenAt: beatAtMs,
    expiresAt: expiresAtMs,
  };
}

function busyLanesOf({ lanes }: GroupState, subscriber: string): number {
  let count = 0;
  for (const index of lanes.indexes()) count += index.busyOf(subscriber).size;
  return count;
}
