import { APPLICATION, type Lane } from "../core/lane.ts";
import { LAPSED_REASON } from "../core/retry.ts";
import { isDeadLetterTopic } from "../core/settings.ts";
import { type WalkRules, walk } from "../core/walk.ts";
import type { GroupState } from "./group-state.ts";
import type { Waiters } from "./waiters.ts";

/** Lanes cared for in one transaction; the rest wait for the next one and are not granted meanwhile. */
const MAX_CARE_LANES = 1000;

/**
 * What time alone brought about: deliveries whose last attempt lapsed are decided, messages that grew too
 * old end as expired. Runs at the start of every change of a group, so no command has to think of it.
 */
export function care(group: GroupState, nowMs: number): void {
  let looked = 0;
  for (const [routeId, { needCare }] of group.lanes.entries()) {
    const rules = group.rules(nowMs, routeId);
    if (!rules) return;
    for (const lane of needCare) {
      looked += 1;
      if (looked > MAX_CARE_LANES) return;
      careFor(group, lane, rules, nowMs);
    }
  }
}

function careFor(group: GroupState, lane: Lane, rules: WalkRules, nowMs: number): void {
  const { spent, expired } = walk(lane, rules, 1);
  for (const offset of spent) {
    const holder = lane.holderOf(offset);
    if (holder) decideFailed(group, lane, { offset, ...holder }, holder.reason || LAPSED_REASON, nowMs);
  }
  for (const offset of expired) expire(group, lane, offset);
  group.touch(lane, nowMs);
}

/** The message ended by age, for this group. */
export function expire(group: GroupState, lane: Lane, offset: number): void {
  if (!lane.drop(offset)) return;
  group.progress.expired += 1;
  group.touchProgress();
}

/**
 * The message is out of attempts or was rejected. With dead letters it stays unsettled until its copy is
 * made; the decision is a row, so the copy is made even if the object dies now. Returns whether a dead
 * letter follows.
 */
export function decideFailed(
  group: GroupState,
  lane: Lane,
  failed: { offset: number; attempt: number; bodyBytes: number; dueAtMs: number },
  reason: string,
  nowMs: number,
): boolean {
  if (isDeadLetterTopic(group.key.topic) || !group.record.settings.deadLetters) {
    lane.settle(failed.offset);
    group.progress.dropped += 1;
    group.touchProgress();
    return false;
  }
  lane.except({
    offset: failed.offset,
    bodyBytes: failed.bodyBytes,
    dueAtMs: failed.dueAtMs,
    state: "dying",
    attempt: failed.attempt,
    atMs: nowMs,
    nonce: "",
    subscriber: "",
    epoch: group.progress.resetEpoch,
    reason,
  });
  return true;
}

/** Frees the lanes of subscribers that missed their heartbeats. A waiting receive keeps its subscriber alive. */
export function reapSubscribers(group: GroupState, nowMs: number, waiters: Waiters): void {
  const leaseDurationMs = group.record.settings.leaseDurationMs;
  for (const [name, subscriber] of group.subscribers) {
    // After a step back of the clock, nobody lives longer than one lease from now.
    if (subscriber.expiresAtMs - nowMs > leaseDurationMs) subscriber.expiresAtMs = nowMs + leaseDurationMs;
    if (subscriber.expiresAtMs > nowMs) continue;
    if (waiters.isWaiting(group.key, name)) beat(group, name, nowMs);
    else removeSubscriber(group, name, nowMs);
  }
}

export function removeSubscriber(group: GroupState, name: string, nowMs: number): void {
  group.subscribers.delete(name);
  group.touchSubscriber(name);
  for (const lane of group.lanes.leasedBy(name)) {
    lane.setLease(null);
    group.touch(lane, nowMs);
  }
}

/** Heartbeat rows are written when the expiry moved by this part of a lease: at most so much is lost with the cache. */
const HEARTBEAT_SAVE_PART = 8;

/** A heartbeat of the subscriber, made known if it is new. */
export function beat(group: GroupState, name: string, nowMs: number): void {
  const leaseDurationMs = group.record.settings.leaseDurationMs;
  const expiresAtMs = nowMs + leaseDurationMs;
  const known = group.subscribers.get(name);
  if (!known) {
    group.subscribers.set(name, {
      subscriber: name,
      beatAtMs: nowMs,
      expiresAtMs,
      savedExpiresAtMs: 0,
      askingUntilMs: 0,
      routeId: APPLICATION,
    });
    group.touchSubscriber(name);
    return;
  }
  group.routes.renew(known.routeId, nowMs);
  known.beatAtMs = nowMs;
  known.expiresAtMs = expiresAtMs;
  if (Math.abs(expiresAtMs - known.savedExpiresAtMs) >= leaseDurationMs / HEARTBEAT_SAVE_PART)
    group.touchSubscriber(name);
}
