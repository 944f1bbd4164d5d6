import { MAX_LANE_EXCEPTIONS } from "./dispatch-limits.ts";
import type { Exception, Lane, LaneEntry, Run } from "./lane.ts";
import { pendingSpan } from "./pending.ts";

/**
 * The walk: which messages of a lane may be delivered now, in which order, and what the lane waits for.
 * Dispatch grants by it and explain shows it; there is no second copy of these rules.
 *
 * In offset order: pass over what is in flight, backing off or dying (a strict lane stops there); stop
 * at a postponed message that is not due; stop when the lane's deliveries in flight reach their limit.
 * What was given back comes before everything else that may be delivered. Stop at what a route may take that began
 * since it was read, until it was asked. What was never delivered waits until everything before it that the lane
 * inherited was read.
 */

export interface WalkRules {
  maxInFlight: number;
  /** null: no limit. */
  maxAttempts: number | null;
  maxRetentionMs: number;
  /** false: the group has as many failed messages waiting as it may; only those are delivered. */
  freshAllowed: boolean;
  nowMs: number;
  /** The newest route of the group: what waits in the application's lanes must have been asked of it. Absent: none. */
  newestRoute?: number;
  /** How far the log's clock, by which messages are due and age, is ahead of `nowMs`. */
  logAheadMs: number;
}

export type Verdict =
  | { kind: "deliverable"; attempt: number }
  /** It would be deliverable, and a route began since it was read: it may be the route's. */
  | { kind: "unsorted"; attempt: number }
  | { kind: "inFlight"; subscriber: string; attempt: number; untilMs: number }
  | { kind: "spent"; attempt: number }
  | { kind: "backingOff"; untilMs: number; attempt: number; reason: string }
  | { kind: "postponed"; untilMs: number }
  | { kind: "delayed"; untilMs: number }
  | { kind: "dying"; reason: string }
  | { kind: "expired" };

export interface Grant {
  offset: number;
  bodyBytes: number;
  dueAtMs: number;
  attempt: number;
  /** Out of the window; else an exception or a lapsed delivery. */
  fresh: boolean;
}

export type StopKind = "end" | "unread" | "limit" | "full" | "strict" | "barrier" | "exceptions";

export interface WalkOutcome {
  grants: Grant[];
  /** Lapsed deliveries that were the last attempt. */
  spent: number[];
  /** Older than the topic keeps them and not in flight; of the window, before the last fresh grant or leading it. */
  expired: number[];
  /** Window entries that are delayed and not due: passed over. */
  deferred: LaneEntry[];
  stop: StopKind;
  /** The offset at which it stopped, where one message is the cause. */
  stopOffset: number | null;
  /** When time alone changes this outcome; null when only an event does. */
  nextChangeAtMs: number | null;
}

export function verdictOfException(exception: Exception, rules: WalkRules): Verdict {
  const { atMs } = exception;
  const isHeld = exception.state === "dying" || (exception.state === "inFlight" && atMs > rules.nowMs);
  if (!isHeld && isExpired(exception, rules)) return { kind: "expired" };
  return sorted(waitingVerdict(exception, rules), exception.sortedBy, rules);
}

function waitingVerdict(exception: Exception, rules: WalkRules): Verdict {
  const { attempt, atMs } = exception;
  switch (exception.state) {
    case "inFlight":
      return deliveredVerdict(exception.subscriber, attempt, atMs, rules);
    case "backingOff":
      return atMs > rules.nowMs
        ? { kind: "backingOff", untilMs: atMs, attempt, reason: exception.reason }
        : { kind: "deliverable", attempt: attempt + 1 };
    case "postponed":
      return atMs > rules.nowMs ? { kind: "postponed", untilMs: atMs } : { kind: "deliverable", attempt: 1 };
    case "arrived":
      return atMs > logNowMs(rules)
        ? { kind: "delayed", untilMs: atMs - rules.logAheadMs }
        : { kind: "deliverable", attempt: attempt + 1 };
    case "returned":
      return { kind: "deliverable", attempt: attempt + 1 };
    case "dying":
      return { kind: "dying", reason: exception.reason };
  }
}

function deliveredVerdict(subscriber: string, attempt: number, untilMs: number, rules: WalkRules): Verdict {
  if (untilMs > rules.nowMs) return { kind: "inFlight", subscriber, attempt, untilMs };
  if (rules.maxAttempts !== null && attempt >= rules.maxAttempts) return { kind: "spent", attempt };
  return { kind: "deliverable", attempt: attempt + 1 };
}

function sorted(verdict: Verdict, sortedBy: number | undefined, rules: WalkRules): Verdict {
  if (verdict.kind !== "deliverable" || (sortedBy ?? 0) >= (rules.newestRoute ?? 0)) return verdict;
  return { kind: "unsorted", attempt: verdict.attempt };
}

/** Messages of a lane that wait and were not asked of the newest route. */
export function unsortedOffsets(lane: Lane, rules: WalkRules): number[] {
  const newestRoute = rules.newestRoute ?? 0;
  if (newestRoute === 0) return [];
  const offsets: number[] = [];
  for (const { state, atMs, offset, sortedBy } of lane.exceptions) {
    const waits = state === "inFlight" ? atMs <= rules.nowMs : state !== "dying";
    if (waits && (sortedBy ?? 0) < newestRoute) offsets.push(offset);
  }
  for (const { visibleUntilMs, sortedBy, messages } of lane.runs) {
    if (visibleUntilMs > rules.nowMs || (sortedBy ?? 0) >= newestRoute) continue;
    for (const { offset } of messages) offsets.push(offset);
  }
  return offsets;
}

/** What has lapsed may have grown too old meanwhile. */
function agedVerdict(delivered: Verdict, message: { dueAtMs: number }, rules: WalkRules): Verdict {
  return delivered.kind !== "inFlight" && isExpired(message, rules) ? { kind: "expired" } : delivered;
}

/** One each: a walk meets many. */
const EXPIRED: Verdict = { kind: "expired" };
const FRESH: Verdict = { kind: "deliverable", attempt: 1 };

/** Of a message that was read and not delivered yet. */
export function verdictOfEntry(entry: { dueAtMs: number; delayed: boolean }, rules: WalkRules): Verdict {
  if (isExpired(entry, rules)) return EXPIRED;
  if (entry.delayed && entry.dueAtMs > logNowMs(rules))
    return { kind: "delayed", untilMs: entry.dueAtMs - rules.logAheadMs };
  return FRESH;
}

/** Of one message that the lane holds; null: it does not. */
export function verdictAt(lane: Lane, offset: number, rules: WalkRules): Verdict | null {
  const exception = lane.exceptionAt(offset);
  if (exception) return verdictOfException(exception, rules);
  const run = lane.runAt(offset);
  const message = run?.messages.find((one) => one.offset === offset);
  if (run && message) return runVerdict(run, message, rules);
  const entry = lane.window.find((one) => one.offset === offset);
  return entry ? verdictOfEntry(entry, rules) : null;
}

function runVerdict(run: Run, message: { dueAtMs: number }, rules: WalkRules): Verdict {
  const delivered = deliveredVerdict(run.subscriber, 1, run.visibleUntilMs, rules);
  return sorted(agedVerdict(delivered, message, rules), run.sortedBy, rules);
}

interface Walked {
  offset: number;
  bodyBytes: number;
  dueAtMs: number;
  verdict: Verdict;
  returned: boolean;
  /** Was delayed, and never delivered. */
  arrived: boolean;
}

/** Everything unsettled at or below the walked offset, ascending, with what the rules say of it. */
export function* walkedVerdicts(lane: Lane, rules: WalkRules): Generator<Walked> {
  let next = 0;
  for (const run of lane.runs) {
    for (const message of run.messages) {
      for (; next < lane.exceptions.length; next += 1) {
        const exception = lane.exceptions[next] as Exception;
        if (exception.offset > message.offset) break;
        yield walkedException(exception, rules);
      }
      yield {
        offset: message.offset,
        bodyBytes: message.bodyBytes,
        dueAtMs: message.dueAtMs,
        verdict: runVerdict(run, message, rules),
        returned: false,
        arrived: false,
      };
    }
  }
  for (; next < lane.exceptions.length; next += 1) {
    yield walkedException(lane.exceptions[next] as Exception, rules);
  }
}

function walkedException(exception: Exception, rules: WalkRules): Walked {
  return {
    offset: exception.offset,
    bodyBytes: exception.bodyBytes,
    dueAtMs: exception.dueAtMs,
    verdict: verdictOfException(exception, rules),
    returned: exception.state === "returned",
    arrived: exception.state === "arrived",
  };
}

/** Deliveries of the lane whose visibility has not passed. */
export function countInFlight(lane: Lane, nowMs: number): number {
  let count = 0;
  for (const run of lane.runs) if (run.visibleUntilMs > nowMs) count += run.messages.length;
  for (const e of lane.exceptions) if (e.state === "inFlight" && e.atMs > nowMs) count += 1;
  return count;
}

/** Walks a lane for at most `maxGrants` deliveries. */
export function walk(lane: Lane, rules: WalkRules, maxGrants: number): WalkOutcome {
  const strict = rules.maxInFlight === 1;
  const inFlight = countInFlight(lane, rules.nowMs);
  const outcome: WalkOutcome = {
    grants: [],
    spent: [],
    expired: [],
    deferred: [],
    stop: "end",
    stopOffset: null,
    nextChangeAtMs: null,
  };
  const room = Math.min(maxGrants, rules.maxInFlight - inFlight);
  const stopped = walkExceptions(lane, rules, strict, outcome);
  const returned = outcome.grants.length;
  if (returned >= room) {
    outcome.grants.length = Math.max(0, room);
    if (!stopped) stop(outcome, maxGrants <= rules.maxInFlight - inFlight ? "limit" : "full", null);
    return outcome;
  }
  if (stopped) return outcome;
  // A strict lane delivers one message, and that one only after everything before it is settled.
  if (strict && (returned > 0 || outcome.spent.length > 0)) {
    stop(outcome, "strict", null);
    return outcome;
  }
  walkWindow(lane, rules, room, maxGrants, outcome);
  return outcome;
}

/** Returns true when the walk ends below the window. Puts what was given back before the rest. */
function walkExceptions(lane: Lane, rules: WalkRules, strict: boolean, outcome: WalkOutcome): boolean {
  const returned: Grant[] = [];
  const again: Grant[] = [];
  let stopped = false;
  const readThrough = inheritedAfter(lane, rules);
  for (const walked of inOrder(lane, rules, strict)) {
    const { offset, bodyBytes, dueAtMs, verdict, returned: wasReturned } = walked;
    // A last attempt that lapsed is over, and so is what grew too old, wherever it stands: they hold nothing.
    if (verdict.kind === "spent") outcome.spent.push(offset);
    if (verdict.kind === "expired") outcome.expired.push(offset);
    if (stopped || verdict.kind === "expired") continue;
    if (walked.arrived && offset > readThrough) {
      stop(outcome, "unread", null);
      stopped = true;
      continue;
    }
    if ("untilMs" in verdict) outcome.nextChangeAtMs = earlier(outcome.nextChangeAtMs, verdict.untilMs);
    if (verdict.kind !== "inFlight" && verdict.kind !== "dying") {
      outcome.nextChangeAtMs = earlier(outcome.nextChangeAtMs, expiresAtMs(dueAtMs, rules));
    }
    if (verdict.kind === "deliverable") {
      (wasReturned ? returned : again).push({
        offset,
        bodyBytes,
        dueAtMs,
        attempt: verdict.attempt,
        fresh: false,
      });
    }
    // It may be another party's, and if it is not, it comes first.
    if (verdict.kind === "unsorted") stop(outcome, "unread", null);
    else if (verdict.kind === "postponed") stop(outcome, "barrier", offset);
    else if (strict && verdict.kind !== "delayed") stop(outcome, "strict", offset);
    else continue;
    stopped = true;
  }
  outcome.grants.push(...returned, ...again);
  return stopped;
}

/** Up to where nothing pending may come first. A lane that has no room for it must go on with what it has. */
function inheritedAfter(lane: Lane, rules: WalkRules): number {
  const span = takesFresh(lane, rules) ? pendingSpan(lane.pending) : null;
  return span?.after ?? Number.POSITIVE_INFINITY;
}

/**
 * By offset. In a strict lane a message that was delivered before comes before a delayed one that arrived since:
 * nothing is delivered until the message before it is settled.
 */
function inOrder(lane: Lane, rules: WalkRules, strict: boolean): Iterable<Walked> {
  if (!strict) return walkedVerdicts(lane, rules);
  const walked = [...walkedVerdicts(lane, rules)];
  return [...walked.filter(({ arrived }) => !arrived), ...walked.filter(({ arrived }) => arrived)];
}

function walkWindow(
  lane: Lane,
  rules: WalkRules,
  room: number,
  maxGrants: number,
  outcome: WalkOutcome,
): void {
  if (!takesFresh(lane, rules)) {
    if (lane.hasMore) stop(outcome, "exceptions", null);
    return;
  }
  // What was inherited from a lane that ended comes before what is unread.
  if (lane.pending.length > 0) {
    stop(outcome, outcome.grants.length >= room ? "limit" : "unread", null);
    return;
  }
  for (const entry of lane.window) {
    const verdict = verdictOfEntry(entry, rules);
    if (verdict.kind === "expired") {
      outcome.expired.push(entry.offset);
      continue;
    }
    if (verdict.kind === "delayed") {
      outcome.deferred.push(entry);
      outcome.nextChangeAtMs = earlier(outcome.nextChangeAtMs, verdict.untilMs);
      continue;
    }
    // Left ungranted it grows too old: then the lane has to be cared for.
    outcome.nextChangeAtMs = earlier(outcome.nextChangeAtMs, expiresAtMs(entry.dueAtMs, rules));
    if (outcome.grants.length >= room) {
      stop(outcome, room === maxGrants ? "limit" : "full", entry.offset);
      return;
    }
    const { offset, bodyBytes, dueAtMs } = entry;
    outcome.grants.push({ offset, bodyBytes, dueAtMs, attempt: 1, fresh: true });
  }
  if (lane.behind) stop(outcome, outcome.grants.length >= room ? "limit" : "unread", null);
}

/** false: the lane or the group has as many failed messages waiting as it may. */
export function takesFresh(lane: Lane, rules: WalkRules): boolean {
  return rules.freshAllowed && lane.exceptions.length < MAX_LANE_EXCEPTIONS;
}

function isExpired(entry: { dueAtMs: number }, rules: WalkRules): boolean {
  return expiresAtMs(entry.dueAtMs, rules) <= rules.nowMs;
}

/** By the object's clock: durations cross between the two clocks, instants do not. */
export function expiresAtMs(dueAtMs: number, rules: WalkRules): number {
  return dueAtMs + rules.maxRetentionMs - rules.logAheadMs;
}

function logNowMs(rules: WalkRules): number {
  return rules.nowMs + rules.logAheadMs;
}

function stop(outcome: WalkOutcome, kind: StopKind, offset: number | null): void {
  outcome.stop = kind;
  outcome.stopOffset = offset;
}

function earlier(a: number | null, b: number): number {
  return a === null || b < a ? b : a;
}
