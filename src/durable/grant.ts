import { arrivedException } from "../core/exceptions.ts";
import type { Lane, LaneEntry } from "../core/lane.ts";
import { dispatchRules, type Take } from "../core/plan-take.ts";
import { type Grant, walk } from "../core/walk.ts";
import { expire } from "./care.ts";
import type { GroupState } from "./group-state.ts";

/** A message handed to a subscriber, as the rows now say. */
export interface Granted {
  lane: Lane;
  offset: number;
  attempt: number;
  nonce: string;
  epoch: number;
  visibleUntilMs: number;
}

export interface GrantTerms {
  subscriber: string;
  nonce: string;
  visibleUntilMs: number;
  nowMs: number;
}

/** Turns a plan into deliveries. Inside `Tenant.change`. */
export function grant(group: GroupState, takes: readonly Take[], terms: GrantTerms): Granted[] {
  const granted: Granted[] = [];
  for (const { lane, count } of takes) {
    const { routeId } = lane;
    // As planned: what the lane holds back then, it holds back now.
    const rules = dispatchRules(group.lanes.of(routeId), routeId, group.activeRules(terms.nowMs, routeId));
    const outcome = walk(lane, rules, count);
    if (outcome.grants.length === 0) continue;
    const epoch = lease(group, lane, terms);
    const { nonce, subscriber, visibleUntilMs } = terms;
    for (const offset of outcome.expired) expire(group, lane, offset);
    const fresh: LaneEntry[] = [];
    let first = 0;
    for (const message of outcome.grants) {
      if (message.fresh || lane.exceptionAt(message.offset)?.state === "arrived") first += 1;
      if (message.fresh) fresh.push({ ...message, delayed: false });
      else grantAgain(lane, message, { ...terms, epoch });
      granted.push({ lane, offset: message.offset, attempt: message.attempt, nonce, epoch, visibleUntilMs });
    }
    if (fresh.length > 0) {
      const sortedBy = group.routes.newestId;
      lane.grantRun(
        { nonce, subscriber, epoch, visibleUntilMs, deliveredAtMs: terms.nowMs, sortedBy },
        fresh,
      );
      for (const entry of outcome.deferred)
        if (entry.offset < lane.walkedOffset) lane.except(arrivedException(entry));
    }
    group.routes.countDelivered(lane.routeId, first);
    group.touch(lane, terms.nowMs);
  }
  // Who got more comes later in turn: an odd message goes to another lane each time.
  for (const { lane } of takes.toSorted((a, b) => a.count - b.count))
    group.lanes.of(lane.routeId).requeue(lane);
  return granted;
}

function grantAgain(lane: Lane, message: Grant, terms: GrantTerms & { epoch: number }): void {
  const before = lane.exceptionAt(message.offset);
  lane.except({
    offset: message.offset,
    bodyBytes: message.bodyBytes,
    dueAtMs: message.dueAtMs,
    state: "inFlight",
    attempt: message.attempt,
    atMs: terms.visibleUntilMs,
    nonce: terms.nonce,
    subscriber: terms.subscriber,
    epoch: terms.epoch,
    reason: before?.reason ?? "",
    deliveredAtMs: terms.nowMs,
    sortedBy: before?.sortedBy,
  });
}

/** The lane is the subscriber's from its first message on. */
function lease(group: GroupState, lane: Lane, terms: GrantTerms): number {
  if (lane.lease?.subscriber === terms.subscriber) return lane.lease.epoch;
  const epoch = group.nextEpoch(terms.nowMs);
  lane.setLease({ subscriber: terms.subscriber, epoch, acquiredAtMs: terms.nowMs });
  return epoch;
}
