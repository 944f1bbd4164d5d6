import { explainAt, type Subject, type Surroundings } from "../core/explain.ts";
import type { Lane } from "../core/lane.ts";
import { type WalkRules, walk, walkedVerdicts } from "../core/walk.ts";

/** Lanes looked at for one reply, of at most MAX_GROUP_LANES: some tens of milliseconds. */
export const MAX_LANES_LOOKED = 5000;

export interface WaitingLane {
  lane: Lane;
  /** Its first message that is not under way. */
  first: Subject;
}

/** Lanes that hold something and of which nothing can be delivered now, at most `limit`. */
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

/** Its first message that is not under way; null: something of the lane can be delivered, or all of it is under way. */
function waitsWith(lane: Lane, around: Surroundings): Subject | null {
  const first = firstNotUnderWay(lane, around);
  if (!first) return null;
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
  return stop === "unread" ? unreadOf(rules) : null;
}

function firstNotUnderWay(lane: Lane, { rules }: Surroundings): Subject | null {
  for (const { offset, dueAtMs, verdict } of walkedVerdicts(lane, rules)) {
    if (verdict.kind !== "inFlight") return { offset, dueAtMs, delayed: false, inLane: true };
  }
  const [entry] = lane.window;
  if (entry) return { offset: entry.offset, dueAtMs: entry.dueAtMs, delayed: entry.delayed, inLane: true };
  return lane.behind ? unreadOf(rules) : null;
}

/** A message behind all that was read. Its age is not known either: it is not taken to be too old. */
function unreadOf({ nowMs, logAheadMs }: WalkRules): Subject {
  return { offset: Number.MAX_SAFE_INTEGER, dueAtMs: nowMs + logAheadMs, delayed: false, inLane: false };
}
