import type { UnderWay } from "../core/explain.ts";
import type { GroupState } from "./group-state.ts";

/** Live subscribers that are compared; a group with more of them says what one of the first has. */
const MAX_COMPARED = 100;

/** Deliveries that the subscriber has, also in lanes that it does not own any more. */
export function underWayOf(group: GroupState, subscriber: string, nowMs: number): UnderWay {
  let inFlight = 0;
  let sinceMs: number | null = null;
  const add = (count: number, deliveredAtMs: number | undefined): void => {
    inFlight += count;
    if (deliveredAtMs !== undefined && (sinceMs === null || deliveredAtMs < sinceMs)) sinceMs = deliveredAtMs;
  };
  for (const { runs, exceptions } of group.lanes.lanesDeliveringTo(subscriber)) {
    for (const run of runs) {
      if (run.subscriber === subscriber && run.visibleUntilMs > nowMs)
        add(run.messages.length, run.deliveredAtMs);
    }
    for (const { state, subscriber: holder, atMs, deliveredAtMs } of exceptions) {
      if (state === "inFlight" && holder === subscriber && atMs > nowMs) add(1, deliveredAtMs);
    }
  }
  return { subscriber, inFlight, sinceMs };
}

/** The live subscriber of the party whose oldest delivery is the oldest; null: none has any. */
export function busiestOf(group: GroupState, routeId: number, nowMs: number): UnderWay | null {
  let busiest: UnderWay | null = null;
  let compared = 0;
  for (const { subscriber, routeId: attachedTo } of group.subscribers.values()) {
    if (attachedTo !== routeId) continue;
    compared += 1;
    if (compared > MAX_COMPARED) break;
    const one = underWayOf(group, subscriber, nowMs);
    if (one.inFlight > 0 && (busiest === null || isOlder(one, busiest))) busiest = one;
  }
  return busiest;
}

/** Where a time is not known the delivery is older than what is known of any. */
function isOlder(one: UnderWay, other: UnderWay): boolean {
  return (one.sinceMs ?? 0) < (other.sinceMs ?? 0);
}
