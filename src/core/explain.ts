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
  /** The last reason that a consumer gave, "" for none. */
  reason: string;
}

export type Blocker =
  | { kind: "group-paused" }
  | { kind: "log-unavailable"; untilMs: number }
  | { kind: "no-subscriber" }
  | { kind: "nobody-asking"; subscribers: number }
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

/** The message, and whether its lane has it: else it was not read yet. */
export interface Subject {
  offset: number;
  dueAtMs: number;
  delayed: boolean;
  inLane: boolean;
}

/** What decides beside the lane, as of `rules.nowMs`. */
export interface Surroundings {
  paused: boolean;
  /** When the log is tried again; null: it can be read. */
  logRetryAtMs: number | null;
  /** When the copy of a dead letter is tried again; null: none failed. */
  deadLetterRetryAtMs: number | null;
  /** As dispatch has them. */
  rules: WalkRules;
  /** Live subscribers, each by when its last heartbeat ends. */
  expiresAtMs: ReadonlyMap<string, number>;
  /** The same, each by when it would be taken for dead: a waiting receive is a heartbeat until it ends. */
  liveUntilMs: ReadonlyMap<string, number>;
  /** Those of them that ask, each by when it stops to count so. */
  askingUntilMs: ReadonlyMap<string, number>;
  shares: LaneShares;
  /** How long the lease of a lane with nothing unsettled lasts. */
  idleLeaseMs: number;
  /** When time alone changes the outcome of any lane of the group. */
  lanesChangeAtMs: number | null;
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

/** As of `nowMs`, which may be later than the surroundings: then as if time alone had passed. */
export function explainAt(
  subject: Subject,
  lane: Lane | null,
  around: Surroundings,
  nowMs: number,
): Explained {
  const rules = { ...around.rules, nowMs };
  const held = subject.inLane && lane ? verdictAt(lane, subject.offset, rules) : null;
  const verdict = held ?? verdictOfEntry(subject, rules);
  const own = ownStateOf(verdict, lane, subject.offset);
  const lease = leaseAt(lane, around, nowMs);
  const blockers = groupBlockers(verdict, around, nowMs);
  if (verdict.kind !== "expired" && verdict.kind !== "spent" && verdict.kind !== "dying") {
    const hold = holdBlockers(lane, lease, around, nowMs);
    // Whose turn the lane is matters to what may go.
    if (verdict.kind === "deliverable") blockers.push(...hold);
    blockers.push(...laneBlockers(subject, verdict, lane, rules, blockers.length > 0 || hold.length > 0));
  }
  const waits = own.state === "deliverable" && blockers.length > 0;
  const changesHands = lease !== null && lane !== null && around.shares.freed.has(lane);
  return { ...own, state: waits ? "waiting" : own.state, blockers, lease, changesHands };
}

function ownStateOf(verdict: Verdict, lane: Lane | null, offset: number): OwnState {
  const reason = lane?.exceptionAt(offset)?.reason ?? "";
  const nobody = { untilMs: null, subscriber: null, reason };
  switch (verdict.kind) {
    case "deliverable":
      return { ...nobody, state: "deliverable", attempt: verdict.attempt > 1 ? verdict.attempt - 1 : null };
    case "inFlight": {
      const { subscriber, attempt, untilMs } = verdict;
      return { state: "in-flight", attempt, untilMs, subscriber, reason };
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

function leaseAt(lane: Lane | null, { expiresAtMs }: Surroundings, nowMs: number): Explained["lease"] {
  if (!lane?.lease) return null;
  const { subscriber, epoch } = lane.lease;
  const endMs = expiresAtMs.get(subscriber);
  return endMs !== undefined && endMs > nowMs ? { subscriber, epoch, expiresAtMs: endMs } : null;
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
  else if (verdict.kind !== "inFlight" && !someoneAsks(around, nowMs))
    blockers.push({ kind: "nobody-asking", subscribers });
  return blockers;
}

function liveCount({ liveUntilMs }: Surroundings, nowMs: number): number {
  let live = 0;
  for (const untilMs of liveUntilMs.values()) if (untilMs > nowMs) live += 1;
  return live;
}

function someoneAsks({ askingUntilMs }: Surroundings, nowMs: number): boolean {
  for (const untilMs of askingUntilMs.values()) if (untilMs > nowMs) return true;
  return false;
}

/** Whose the lane is, and whether it comes to somebody who asks. */
function holdBlockers(
  lane: Lane | null,
  lease: Explained["lease"],
  { shares, askingUntilMs }: Surroundings,
  nowMs: number,
): Blocker[] {
  if (lane && lease && !shares.freed.has(lane)) {
    const { subscriber } = lease;
    const drainEndMs = shares.draining.get(lane);
    if (drainEndMs !== undefined) return [{ kind: "share", subscriber, untilMs: drainEndMs }];
    return (askingUntilMs.get(subscriber) ?? 0) > nowMs ? [] : [{ kind: "lease", ...lease }];
  }
  return shares.someMayTake ? [] : [{ kind: "share", subscriber: null, untilMs: null }];
}

/** What stands before the message in its lane. */
function laneBlockers(
  subject: Subject,
  verdict: Verdict,
  lane: Lane | null,
  rules: WalkRules,
  laneWaits: boolean,
): Blocker[] {
  const blockers: Blocker[] = [];
  const mayGo = verdict.kind === "deliverable";
  const outcome = lane ? walk(lane, rules, Number.POSITIVE_INFINITY) : null;
  if (lane && outcome) {
    const first = stopBefore(subject, outcome, rules);
    if (first !== null) blockers.push(messageBlocker(lane, first, outcome, rules, laneWaits));
    if (mayGo && isOutOfRoom(subject, lane, outcome, rules, first !== null))
      blockers.push(roomBlocker(lane, outcome, rules));
  }
  if (mayGo && !mayStart(subject, lane, rules)) blockers.push({ kind: "failed-limit" });
  if (mayGo && !subject.inLane) blockers.push({ kind: "unread" });
  return blockers;
}

/** The message at which the walk ends before it comes to this one; null: it comes to it. */
function stopBefore(subject: Subject, outcome: WalkOutcome, rules: WalkRules): number | null {
  const strict = rules.maxInFlight === 1;
  const { stop, stopOffset, grants } = outcome;
  let first: number | null = null;
  if (stop === "barrier" || stop === "strict") first = stopOffset;
  else if (strict) first = grants[0]?.offset ?? null;
  if (first === null || first === subject.offset) return null;
  return strict || first < subject.offset ? first : null;
}

function messageBlocker(
  lane: Lane,
  offset: number,
  outcome: WalkOutcome,
  rules: WalkRules,
  laneWaits: boolean,
): Blocker {
  const verdict = verdictAt(lane, offset, rules);
  assert(verdict !== null, "the walk stops at a message of the lane");
  const own = ownStateOf(verdict, lane, offset);
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
  if (rules.maxInFlight > 1 && countInFlight(lane, rules.nowMs) >= rules.maxInFlight) return true;
  if (isBehind || outcome.grants.some(({ offset }) => offset === subject.offset)) return false;
  if (subject.offset <= lane.walkedOffset) return subject.inLane;
  return outcome.stop === "full" || outcome.stop === "limit";
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
