import {
  type Blocker,
  type Explained,
  explainAt,
  type Subject,
  type Surroundings,
  type UnsettledState,
} from "./explain.ts";
import type { Lane } from "./lane.ts";
import { expiresAtMs } from "./walk.ts";

/** Messages of the lane that are walked over in all, a walk for each instant that is tried: about a millisecond. */
const MAX_MESSAGES_WALKED = 10_000;
const MIN_INSTANTS_TRIED = 16;

export interface Change {
  atMs: number;
  /** What it is in then. */
  state: UnsettledState;
}

/**
 * The next moment at which time alone changes what becomes of the message: its state, its own time, attempt or
 * subscriber, or which kinds of blockers hold. null: only an event does. It is taken that who asks goes on asking, and that
 * fair share stays as it is: there another lane's time may change this one earlier. What else of the partition is delayed
 * and not due is not known, and may come before it then. Of a lane with very many instants
 * only the first are tried, and then those of the message itself.
 */
export function nextChange(
  subject: Subject,
  lane: Lane | null,
  around: Surroundings,
  explained: Explained,
): Change | null {
  const { nowMs } = around.rules;
  const own = [explained.untilMs ?? 0, ...instantsOf(subject, around)];
  const ahead = (instants: Iterable<number>): number[] =>
    [...new Set(instants)].filter((atMs) => atMs > nowMs && Number.isFinite(atMs)).sort((a, b) => a - b);
  const first = ahead([...own, ...instantsOfLane(lane, around)]).slice(0, instantsTried(lane));
  const fate = fateOf(explained);
  for (const atMs of [...first, ...ahead(own)]) {
    const then = explainAt(subject, lane, around, atMs);
    if (fateOf(then) !== fate) return { atMs, state: then.state };
  }
  return null;
}

function instantsTried(lane: Lane | null): number {
  const walked = lane ? lane.exceptions.length + lane.window.length + countInRuns(lane) : 0;
  return Math.max(MIN_INSTANTS_TRIED, Math.floor(MAX_MESSAGES_WALKED / Math.max(1, walked)));
}

function countInRuns({ runs }: Lane): number {
  let count = 0;
  for (const { messages } of runs) count += messages.length;
  return count;
}

/** Who is there comes and goes by more than time: what they are told of elsewhere. */
const OF_SUBSCRIBERS: readonly Blocker["kind"][] = ["no-subscriber", "nobody-asking"];

function fateOf({ state, untilMs, attempt, subscriber, blockers }: Explained): string {
  const kinds = blockers.map(({ kind }) => kind).filter((kind) => !OF_SUBSCRIBERS.includes(kind));
  return JSON.stringify([state, untilMs, attempt, subscriber, kinds]);
}

function instantsOf({ dueAtMs }: Subject, { rules }: Surroundings): number[] {
  return [dueAtMs - rules.logAheadMs, expiresAtMs(dueAtMs, rules)];
}

/** Those at which something of the lane or its owner begins or ends. */
function* instantsOfLane(lane: Lane | null, around: Surroundings): Generator<number> {
  const { rules } = around;
  if (!lane) return;
  if (lane.lease) yield around.expiresAtMs.get(lane.lease.subscriber) ?? 0;
  yield around.shares.draining.get(lane) ?? 0;
  for (const { visibleUntilMs, messages } of lane.runs) {
    yield visibleUntilMs;
    for (const { dueAtMs } of messages) yield expiresAtMs(dueAtMs, rules);
  }
  for (const { state, atMs, dueAtMs } of lane.exceptions) {
    yield state === "arrived" ? atMs - rules.logAheadMs : atMs;
    yield expiresAtMs(dueAtMs, rules);
  }
  for (const { dueAtMs, delayed } of lane.window) {
    if (delayed) yield dueAtMs - rules.logAheadMs;
    yield expiresAtMs(dueAtMs, rules);
  }
}
