import { explainAt, type Subject, type Surroundings } from "../core/explain.ts";
import type { Lane } from "../core/lane.ts";
import { walk, walkedVerdicts } from "../core/walk.ts";

/** Lanes looked at for one reply, of at most MAX_GROUP_LANES: some tens of milliseconds. */
export const MAX_LANES_LOOKED = 5000;

export interface WaitingLane {
  lane: Lane;
  /** Its first message that is not under way; where all are, the one that is longest. */
  first: Subject;
}

/**
 * Lanes that hold something and of which nothing can be delivered now, at most `limit`. Those of which all is under
 * way are left out, unless one of their deliveries is out for longer than the group lets a delivery be.
 */
export function waitingIn(
  lanes: Iterable<Lane>,
  around: Surroundings,
  limit: number,
): { waiting: WaitingLane[]; more: boolean } {
  const waiting: WaitingLane[] = [];
  let looked = 0;
  for (const lane of lanes) {
    looked += 1;
    if (looked > MAX_LANES_LOOKED) return { waiting, more: true };
    const first = waitsWith(lane, around);
    if (!first) continue;
    if (waiting.length >= limit) return { waiting, more: true };
    waiting.push({ lane, first });
  }
  return { waiting, more: false };
}

/** Lanes of which memory does not have the next message, such as after a restart; no more than are shown. */
export function unknownLanes(lanes: Iterable<Lane>, limit: number): Lane[] {
  const unknown: Lane[] = [];
  let looked = 0;
  for (const lane of lanes) {
    looked += 1;
    if (looked > MAX_LANES_LOOKED || unknown.length >= limit) break;
    if (lane.behind && lane.window.length === 0) unknown.push(lane);
  }
  return unknown;
}

/** Unsettled messages of the lane that were read. */
export function heldCount({ runs, exceptions, window }: Lane): number {
  let held = exceptions.length + window.length;
  for (const run of runs) held += run.messages.length;
  return held;
}

/** What it waits with; null: something of the lane can be delivered, or all of it is under way in good time. */
function waitsWith(lane: Lane, around: Surroundings): Subject | null {
  const first = firstNotUnderWay(lane, around);
  if (!first) return longestOverdue(lane, around);
  const next = nextToGo(lane, around);
  if (!next) return first;
  const { blockers } = explainAt(next, lane, around, around.rules.nowMs);
  // What is not read yet is read by the receive that gets it.
  return blockers.every(({ kind }) => kind === "unread") ? null : first;
}

/** What the lane's next grant would be, as far as the lane alone decides. */
function nextToGo(lane: Lane, { rules }: Surroundings): Subject | null {
  const { grants, stop } = walk(lane, rules, 1);
  const [next] = grants;
  if (next) return { offset: next.offset, dueAtMs: next.dueAtMs, delayed: false, inLane: true };
  return stop === "unread" ? UNREAD : null;
}

function firstNotUnderWay(lane: Lane, { rules }: Surroundings): Subject | null {
  for (const { offset, dueAtMs, verdict } of walkedVerdicts(lane, rules)) {
    if (verdict.kind !== "inFlight") return { offset, dueAtMs, delayed: false, inLane: true };
  }
  const [entry] = lane.window;
  if (entry) return { offset: entry.offset, dueAtMs: entry.dueAtMs, delayed: entry.delayed, inLane: true };
  return lane.behind ? UNREAD : null;
}

/** Whose handler may hang: a client extends what it has for as long as its process lives. */
function longestOverdue(lane: Lane, { rules, visibilityTimeoutMs }: Surroundings): Subject | null {
  const latestMs = rules.nowMs - visibilityTimeoutMs;
  let longest: Delivered | null = null;
  for (const one of oldestDelivered(lane)) {
    if (one.visibleUntilMs <= rules.nowMs || one.deliveredAtMs >= latestMs) continue;
    if (longest === null || one.deliveredAtMs < longest.deliveredAtMs) longest = one;
  }
  return longest && { offset: longest.offset, dueAtMs: longest.dueAtMs, delayed: false, inLane: true };
}

interface Delivered {
  offset: number;
  dueAtMs: number;
  deliveredAtMs: number;
  visibleUntilMs: number;
}

/** Deliveries of which it is known since when they are out, the first one of each run. */
function* oldestDelivered({ runs, exceptions }: Lane): Generator<Delivered> {
  for (const { deliveredAtMs, visibleUntilMs, messages } of runs) {
    const [first] = messages;
    if (first && deliveredAtMs !== undefined) yield { ...first, deliveredAtMs, visibleUntilMs };
  }
  for (const { state, offset, dueAtMs, atMs: visibleUntilMs, deliveredAtMs } of exceptions) {
    if (state === "inFlight" && deliveredAtMs !== undefined)
      yield { offset, dueAtMs, deliveredAtMs, visibleUntilMs };
  }
}

/** A message behind all that was read. */
const UNREAD: Subject = {
  offset: Number.MAX_SAFE_INTEGER,
  dueAtMs: Number.POSITIVE_INFINITY,
  delayed: false,
  inLane: false,
};
