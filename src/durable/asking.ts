import type { GroupState, Subscriber } from "./group-state.ts";
import type { Waiters } from "./waiters.ts";

/** Live subscribers of a party with a receive that waits, or ended a moment ago. */
export function askingSubscribers(
  { waiters }: { waiters: Waiters },
  group: GroupState,
  nowMs: number,
  routeId: number,
): Set<string> {
  const asking = new Set<string>();
  for (const one of group.subscribers.values())
    if (one.routeId === routeId && isAsking(waiters, group, one, nowMs)) asking.add(one.subscriber);
  return asking;
}

/** Whoever's subscriber it is. */
export function isAnybodyAsking(
  { waiters }: { waiters: Waiters },
  group: GroupState,
  nowMs: number,
): boolean {
  for (const one of group.subscribers.values()) if (isAsking(waiters, group, one, nowMs)) return true;
  return false;
}

function isAsking(
  waiters: Waiters,
  { key }: GroupState,
  { subscriber, askingUntilMs }: Subscriber,
  nowMs: number,
): boolean {
  return askingUntilMs > nowMs || waiters.isWaiting(key, subscriber);
}
