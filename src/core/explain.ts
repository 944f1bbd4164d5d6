import { assert } from "./assert.ts";
import type { Lane } from "./lane.ts";
import { LAPSED_REASON } from "./retry.ts";
import {
  countInFlight,
  takesFresh,
  type Verdict,
  verdictAt,
  verdictOfEntry,
  type WalkOutcome,
  type WalkRules,
  walk,
} from "./walk.ts";

/**
 * Why a message is, or is not, being delivered. Every rule is asked of what dispatch itself asks: the message's own
 * state of the walk's verdicts, its place behind others of the walk, its lane's owner of the plan of hand-overs.
 */

/** Of a message that is not settled. */
export type UnsettledState =
  | "deliverable"
  | "waiting"
  | "in-flight"
  | "backing-off"
  | "postponed"
  | "delayed"
  | "being-dead-lettered"
  | "expired";

/** What the message itself is in, whatever stands before it. */
export interface OwnState {
  state: UnsettledState;
  /** Of the delivery under way, or the last one that counts; null: there was none. */
  attempt: number | null;
  /** When the state ends by time. */
  untilMs: number | null;
  /** Who has the delivery under way. */
  subscriber: string | null;
  /** Since when the delivery is under way; null: there is none, or it is not known. */
  deliveredAtMs: number | null;
  /** Whether that is longer than the group lets a delivery be out, and by what. */
  overdue: Overdue | null;
  /** The last reason that a consumer gave, "" for none. */
  reason: string;
}

/** `asked`: it was received for longer than the group's visibility timeout. */
export type Overdue = "extended" | "asked";

export type Blocker =
  | { kind: "group-paused" }
  | { kind: "log-unavailable"; untilMs: number }
  | { kind: "no-subscriber" }
  | { kind: "nobody-asking"; subscribers: number; busiest: UnderWay | null }
  | { kind: "lease"; subscriber: string; epoch: number; expiresAtMs: number }
  | { kind: "share"; subscriber: string | null; untilMs: number | null }
  | ({ kind: "message"; offset: number } & OwnState)
  | { kind: "in-flight-limit"; inFlight: number; limit: number; before: number; untilMs: number | null }
  | { kind: "failed-limit" }
  | { kind: "unread" };

export interface Explained extends OwnState {
  /** All that hold, in the order of the union. */
  blockers: Blocker[];
  lease: { subscriber: string; epoch: number; expiresAtMs: number } | null;
  /** Fair share takes the lane from its owner as soon as anybody is served. */
  changesHands: boolean;
}

/** What a subscriber has: so many deliveries, the oldest of them since then, null where that is not known. */
export interface UnderWay {
  subscriber: string;
  inFlight: number;
  sinceMs: number | null;
}

/** The message, and whether its lane has it: else it was not read yet. */
export interface Subject {
  offset: number;
  /** Infinity: not known, then it is not taken to be too old. */
  dueAtMs: number;
  delayed: boolean;
  inLane: boolean;
}

/** What decides beside the lane, as of `rules.nowMs`. */
export interface Surroundings {
  paused: boolean;
  /** When the log is tried again; null: it can be read. */
  logRetryAtMs: number | null;
  /** As dispatch has them. */
  rules: WalkRules;
  /** For how long the group lets a delivery be out that asks for nothing else. */
  visibilityTimeoutMs: number;
  /** Live subscribers, each by when its last heartbeat ends. */
  expiresAtMs: ReadonlyMap<string, number>;
  /** Those of them that ask. */
  asking: ReadonlySet<string>;
  /** Those who hold deliveries. */
  delivering: ReadonlySet<string>;
  /** While nobody asks: who of them has the oldest delivery. null: somebody asks, or none has any. */
  busiest: UnderWay | null;
  shares: LaneShares;
}

/** What fair share says of lanes for those who ask now. */
export interface LaneShares {
  /** Their owner loses them as soon as anybody is served. */
  freed: ReadonlySet<Lane>;
  /** Their owner gets no new work on them; by when they change hands, null: not by time. */
  draining: ReadonlyMap<Lane, number | null>;
  /** Some asker may take a lane that nobody owns. */
  someMayTake: boolean;
}

/**
 * As of `nowMs`, which may be later than the surroundings: then as if time alone had passed. Who asks goes on asking,
 * and lives; fair share stays as it is, but for what must be given up, until it is.
 */
export function explainAt(
  subject: Subject,
  lane: Lane | null,
  around: Surroundings,
  nowMs: number,
): Explained {
  const rules = { ...around.rules, nowMs };
  const held = subject.inLane && lane ? verdictAt(lane, subject.offset, rules) : null;
  const verdict = held ?? verdictOfEntry(subject, rules);
  const own = ownStateOf(verdict, lane, subject.offset, around, nowMs);
  const lease = leaseAt(lane, around, nowMs);
  const blockers = groupBlockers(verdict, around, nowMs);
  if (verdict.kind !== "expired" && verdict.kind !== "spent" && verdict.kind !== "dying") {
    const hold = holdBlockers(lane, lease, around, nowMs);
    // Whose turn the lane is matters to what may go.
    if (verdict.kind === "deliverable") blockers.push(...hold);
    const laneWaits = blockers.length > 0 || hold.length > 0;
    blockers.push(...laneBlockers(subject, verdict, lane, { ...around, rules }, laneWaits));
    // What was delayed comes to its lane by itself when it is due.
    const comes = subject.delayed && nowMs > around.rules.nowMs;
    const isUnread = verdict.kind === "deliverable" && !subject.inLane && !comes;
    if (isUnread || verdict.kind === "unsorted") blockers.push({ kind: "unread" });
  }
  const waits = own.state === "deliverable" && blockers.length > 0;
  const changesHands = lease !== null && lane !== null && isFreed(lane, around, nowMs);
  return { ...own, state: waits ? "waiting" : own.state, blockers, lease, changesHands };
}

function ownStateOf(
  verdict: Verdict,
  lane: Lane | null,
  offset: number,
  around: Surroundings,
  nowMs: number,
): OwnState {
  const reason = lane?.exceptionAt(offset)?.reason ?? "";
  const nobody = { untilMs: null, subscriber: null, deliveredAtMs: null, overdue: null, reason };
  switch (verdict.kind) {
    case "deliverable":
    case "unsorted":
      return { ...nobody, state: "deliverable", attempt: verdict.attempt > 1 ? verdict.attempt - 1 : null };
    case "inFlight": {
      const { subscriber, attempt, untilMs } = verdict;
      const deliveredAtMs = lane?.holderOf(offset)?.deliveredAtMs ?? null;
      const overdue = overdueOf(lane, offset, around, nowMs);
      return { state: "in-flight", attempt, untilMs, subscriber, deliveredAtMs, overdue, reason };
    }
    case "backingOff": {
      const { attempt, untilMs } = verdict;
      return { ...nobody, state: "backing-off", attempt, untilMs };
    }
    case "postponed":
      return { ...nobody, state: "postponed", attempt: null, untilMs: verdict.untilMs };
    case "delayed":
      return { ...nobody, state: "delayed", attempt: null, untilMs: verdict.untilMs };
    case "spent":
      return {
        ...nobody,
        state: "being-dead-lettered",
        attempt: verdict.attempt,
        reason: reason || LAPSED_REASON,
      };
    case "dying": {
      const attempt = lane?.exceptionAt(offset)?.attempt ?? null;
      return { ...nobody, state: "being-dead-lettered", attempt };
    }
    case "expired":
      return { ...nobody, state: "expired", attempt: null };
  }
}

/** A delivery leaves its run when it is extended, and only then while it is under way. */
function overdueOf(
  lane: Lane | null,
  offset: number,
  { visibilityTimeoutMs }: Surroundings,
  nowMs: number,
): Overdue | null {
  const deliveredAtMs = lane?.holderOf(offset)?.deliveredAtMs;
  if (deliveredAtMs === undefined || nowMs - deliveredAtMs <= visibilityTimeoutMs) return null;
  return lane?.exceptionAt(offset) ? "extended" : "asked";
}

function leaseAt(lane: Lane | null, around: Surroundings, nowMs: number): Explained["lease"] {
  if (!lane?.lease) return null;
  const { subscriber, epoch } = lane.lease;
  const endMs = around.expiresAtMs.get(subscriber);
  if (endMs === undefined || (endMs <= nowMs && !around.asking.has(subscriber))) return null;
  return { subscriber, epoch, expiresAtMs: endMs };
}

/** What holds for every message of the group. */
function groupBlockers(verdict: Verdict, around: Surroundings, nowMs: number): Blocker[] {
  const blockers: Blocker[] = [];
  if (verdict.kind === "expired") return blockers;
  // While paused nothing is decided either; what is decided is copied all the same.
  if (around.paused && verdict.kind !== "dying") blockers.push({ kind: "group-paused" });
  if (around.logRetryAtMs !== null) blockers.push({ kind: "log-unavailable", untilMs: around.logRetryAtMs });
  if (verdict.kind === "spent" || verdict.kind === "dying") return blockers;
  const subscribers = liveCount(around, nowMs);
  if (subscribers === 0) blockers.push({ kind: "no-subscriber" });
  // Who works on a message need not ask for the next one: that is no news.
  else if (verdict.kind !== "inFlight" && around.asking.size === 0)
    blockers.push({ kind: "nobody-asking", subscribers, busiest: around.busiest });
  return blockers;
}

function liveCount(around: Surroundings, nowMs: number): number {
  let live = around.asking.size;
  for (const [subscriber, endMs] of around.expiresAtMs)
    if (endMs > nowMs && !around.asking.has(subscriber)) live += 1;
  return live;
}

/** Whose the lane is, and whether it comes to somebody who asks. */
function holdBlockers(
  lane: Lane | null,
  lease: Explained["lease"],
  around: Surroundings,
  nowMs: number,
): Blocker[] {
  const { shares, asking } = around;
  if (lane && lease && !isFreed(lane, around, nowMs)) {
    const { subscriber } = lease;
    const drainEndMs = shares.draining.get(lane);
    if (drainEndMs !== undefined) return [{ kind: "share", subscriber, untilMs: drainEndMs }];
    if (asking.has(subscriber)) return [];
    // Whoever asks first is given the lane of an owner that neither asks nor holds deliveries.
    return asking.size === 0 && !around.delivering.has(subscriber) ? [] : [{ kind: "lease", ...lease }];
  }
  return shares.someMayTake ? [] : [{ kind: "share", subscriber: null, untilMs: null }];
}

/** Fair share takes the lane from its owner: now, or once its drain has ended or its deliveries have. */
function isFreed(lane: Lane, { shares }: Surroundings, nowMs: number): boolean {
  if (shares.freed.has(lane)) return true;
  const drainEndMs = shares.draining.get(lane);
  if (drainEndMs === undefined) return false;
  return (drainEndMs !== null && drainEndMs <= nowMs) || countInFlight(lane, nowMs) === 0;
}

/** What stands before the message in its lane. */
function laneBlockers(
  subject: Subject,
  verdict: Verdict,
  lane: Lane | null,
  around: Surroundings,
  laneWaits: boolean,
): Blocker[] {
  const { rules } = around;
  const blockers: Blocker[] = [];
  const mayGo = verdict.kind === "deliverable";
  const outcome = lane ? walk(lane, rules, Number.POSITIVE_INFINITY) : null;
  if (lane && outcome) {
    const first = stopBefore(subject, lane, outcome, rules);
    if (first !== null) blockers.push(messageBlocker(lane, first, outcome, around, laneWaits));
    if (mayGo && isOutOfRoom(subject, lane, outcome, rules, first !== null))
      blockers.push(roomBlocker(lane, outcome, rules));
  }
  if (mayGo && !mayStart(subject, lane, rules)) blockers.push({ kind: "failed-limit" });
  return blockers;
}

/** The message at which the walk ends before it comes to this one; null: it comes to it. */
function stopBefore(subject: Subject, lane: Lane, outcome: WalkOutcome, rules: WalkRules): number | null {
  const strict = rules.maxInFlight === 1;
  const { stop, stopOffset, grants } = outcome;
  let first: number | null = null;
  if (stop === "barrier" || stop === "strict") first = stopOffset;
  else if (strict) first = grants[0]?.offset ?? null;
  if (first === null || first === subject.offset) return null;
  if (!subject.inLane) return goesBefore(subject, lane, first, strict) ? first : null;
  return strict || first < subject.offset ? first : null;
}

/** Whether a message of the lane goes before one that comes to it yet, as `Lane.arrive` and the walk place that. */
function goesBefore(subject: Subject, lane: Lane, offset: number, strict: boolean): boolean {
  if (subject.offset > lane.walkedOffset) return offset < subject.offset;
  if (offset > lane.walkedOffset) return false;
  const state = lane.exceptionAt(offset)?.state;
  return offset < subject.offset || (strict ? state !== "arrived" : state === "returned");
}

function messageBlocker(
  lane: Lane,
  offset: number,
  outcome: WalkOutcome,
  around: Surroundings,
  laneWaits: boolean,
): Blocker {
  const { rules } = around;
  const verdict = verdictAt(lane, offset, rules);
  assert(verdict !== null, "the walk stops at a message of the lane");
  const own = ownStateOf(verdict, lane, offset, around, rules.nowMs);
  const goes = outcome.grants.some((grant) => grant.offset === offset) && !laneWaits;
  const state = own.state === "deliverable" && !goes ? "waiting" : own.state;
  return { kind: "message", offset, ...own, state };
}

/** Are the deliveries that the lane may have taken up by those before this message? */
function isOutOfRoom(
  subject: Subject,
  lane: Lane,
  outcome: WalkOutcome,
  rules: WalkRules,
  isBehind: boolean,
): boolean {
  const inFlight = countInFlight(lane, rules.nowMs);
  if (rules.maxInFlight > 1 && inFlight >= rules.maxInFlight) return true;
  if (isBehind || outcome.grants.some(({ offset }) => offset === subject.offset)) return false;
  if (subject.inLane)
    return subject.offset <= lane.walkedOffset || outcome.stop === "full" || outcome.stop === "limit";
  const before = outcome.grants.filter(({ offset }) => goesBefore(subject, lane, offset, false));
  return inFlight + before.length >= rules.maxInFlight;
}

function roomBlocker(lane: Lane, outcome: WalkOutcome, rules: WalkRules): Blocker {
  let untilMs: number | null = null;
  const endsAt = (atMs: number): void => {
    if (atMs > rules.nowMs && (untilMs === null || atMs < untilMs)) untilMs = atMs;
  };
  for (const run of lane.runs) endsAt(run.visibleUntilMs);
  for (const { state, atMs } of lane.exceptions) if (state === "inFlight") endsAt(atMs);
  return {
    kind: "in-flight-limit",
    inFlight: countInFlight(lane, rules.nowMs),
    limit: rules.maxInFlight,
    before: outcome.grants.length,
    untilMs,
  };
}

/** A message that was delivered before, or comes among those, is no fresh one. */
function mayStart(subject: Subject, lane: Lane | null, rules: WalkRules): boolean {
  if (!lane) return rules.freshAllowed;
  if (subject.offset > lane.walkedOffset) return takesFresh(lane, rules);
  return subject.inLane || rules.freshAllowed;
}
