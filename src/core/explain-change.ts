import { type Explained, explainAt, type Subject, type Surroundings } from "./explain.ts";
import type { Lane } from "./lane.ts";
import { expiresAtMs } from "./walk.ts";

/** Instants that are tried; a lane with more deliveries under way than this may name one at which nothing changes. */
const MAX_INSTANTS_TRIED = 16;

/**
 * The next moment at which time alone changes what is explained, null if only an event does. Never later than that:
 * where shares decide, another lane's time may move this one, and is named instead.
 */
export function nextChangeAtMs(
  subject: Subject,
  lane: Lane | null,
  around: Surroundings,
  explained: Explained,
): number | null {
  const { nowMs } = around.rules;
  const latestMs = firstAfter(nowMs, certainChanges(lane, around, explained));
  const said = JSON.stringify(explained);
  const instants = [...new Set(possibleChanges(subject, lane, around))]
    .filter((atMs) => atMs > nowMs && (latestMs === null || atMs < latestMs))
    .sort((a, b) => a - b);
  for (const [tried, atMs] of instants.entries()) {
    if (tried >= MAX_INSTANTS_TRIED) return atMs;
    if (JSON.stringify(explainAt(subject, lane, around, atMs)) !== said) return atMs;
  }
  return latestMs;
}

/** Those that always count. */
function certainChanges(lane: Lane | null, around: Surroundings, explained: Explained): (number | null)[] {
  const changes: (number | null)[] = [around.logRetryAtMs, explained.lease?.expiresAtMs ?? null];
  // What is delayed is in no lane, and the lease of its lane may be idle.
  if (explained.lease && lane?.idleSinceMs != null) changes.push(lane.idleSinceMs + around.idleLeaseMs);
  if (explained.state === "being-dead-lettered") changes.push(around.deadLetterRetryAtMs);
  for (const blocker of explained.blockers) {
    // It says how many live.
    if (blocker.kind === "nobody-asking") changes.push(...around.liveUntilMs.values());
    if (blocker.kind === "share") changes.push(blocker.untilMs);
  }
  if (sharesDecide(lane, around))
    changes.push(around.lanesChangeAtMs, ...around.askingUntilMs.values(), ...around.expiresAtMs.values());
  return changes;
}

/** Somebody else asks: whether the owner keeps the lane depends on the other lanes. */
function sharesDecide(lane: Lane | null, { askingUntilMs, expiresAtMs }: Surroundings): boolean {
  const owner = lane?.lease?.subscriber;
  if (owner === undefined || !expiresAtMs.has(owner)) return false;
  return askingUntilMs.size > (askingUntilMs.has(owner) ? 1 : 0);
}

/** Those at which something of the lane or of those who ask begins or ends. */
function* possibleChanges(subject: Subject, lane: Lane | null, around: Surroundings): Generator<number> {
  const { rules, askingUntilMs, liveUntilMs } = around;
  yield subject.dueAtMs - rules.logAheadMs;
  yield expiresAtMs(subject.dueAtMs, rules);
  yield Math.max(0, ...askingUntilMs.values());
  yield Math.max(0, ...liveUntilMs.values());
  if (!lane) return;
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

function firstAfter(nowMs: number, instants: readonly (number | null)[]): number | null {
  let first: number | null = null;
  for (const atMs of instants)
    if (atMs !== null && atMs > nowMs && (first === null || atMs < first)) first = atMs;
  return first;
}
