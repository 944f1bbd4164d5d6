import { givenBack } from "../core/exceptions.ts";
import type { Lane } from "../core/lane.ts";
import type { GroupState } from "./group-state.ts";

/** A delivery as its receipt names it. */
export interface NamedDelivery {
  partitionKey: string;
  offset: number;
  nonce: string;
}

/**
 * Ends deliveries that count as never made: the next one carries the same attempt number and comes before
 * anything else of the lane. Inside `Tenant.change`.
 */
export function giveBackDeliveries(
  group: GroupState,
  deliveries: readonly NamedDelivery[],
  nowMs: number,
): void {
  for (const { partitionKey, offset, nonce } of deliveries) {
    const lane = group.lanes.holding(partitionKey, offset);
    const holder = lane?.holderOf(offset);
    if (!lane || !holder || holder.nonce !== nonce) continue;
    const held = lane.heldAt(offset);
    if (held) lane.except(givenBack(held));
    // The grant is undone, and with it the lease, unless the subscriber still works on the lane.
    if (lane.lease?.subscriber === holder.subscriber && !isDelivering(lane, holder.subscriber))
      lane.setLease(null);
    group.touch(lane, nowMs);
  }
}

function isDelivering(lane: Lane, subscriber: string): boolean {
  return (
    lane.runs.some((run) => run.subscriber === subscriber) ||
    lane.exceptions.some((exception) => exception.state === "inFlight" && exception.subscriber === subscriber)
  );
}
