import {
  type Blocker,
  type Explained,
  explainAt,
  type OwnState,
  type Subject,
  type Surroundings,
} from "../core/explain.ts";
import { type Change, nextChange } from "../core/explain-change.ts";
import { type Ended, summaryOf, summaryOfEnded } from "../core/explain-summary.ts";
import { APPLICATION, type Lane } from "../core/lane.ts";
import type { DeadLetterInfo } from "../log/message-log.ts";
import type { Explanation } from "../protocol/tenant-calls.ts";
import type { GroupState } from "./group-state.ts";

/** Explanations as the API shows them. */

/** What is known of the message beside the group's own state. */
export interface Named {
  id: string | null;
  partitionKey: string;
  /** null: of a message that is not there, or was not read yet. */
  offset: number | null;
  publishedAtMs: number | null;
  dueAtMs: number | null;
}

/** What was decided at one instant, before it is put in words. */
export interface Decided {
  explained: Explained;
  change: Change | null;
  maxAttempts: number | null;
  deadLetters: boolean;
  nowMs: number;
  /** Whose subscribers get it; absent: the application's. */
  route?: string;
}

/** `party`: whose the message is, and their lane of its partition. */
export function decide(
  group: GroupState,
  subject: Subject,
  { lane, routeId }: { lane: Lane | null; routeId: number },
  around: Surroundings,
): Decided {
  const { nowMs, maxAttempts } = around.rules;
  const explained = explainAt(subject, lane, around, nowMs);
  const change = nextChange(subject, lane, around, explained);
  const route = group.routes.byId(routeId)?.route;
  const { deadLetters } = group.record.settings;
  return { explained, change, maxAttempts, deadLetters, nowMs, ...(route === undefined ? {} : { route }) };
}

/** The message at which the walk ends before it comes to the one that is explained. */
export function blockingOffset({ explained }: Decided): number | null {
  for (const blocker of explained.blockers) if (blocker.kind === "message") return blocker.offset;
  return null;
}

/** `blockingId`: of the message before it; null: it has none, or it was not looked up. */
export function explanationOf(
  group: GroupState,
  named: Named,
  decided: Decided,
  blockingId: string | null,
): Explanation {
  const { explained, change, maxAttempts, nowMs, route } = decided;
  const { lease, blockers } = explained;
  return {
    ...namedView(group, named),
    ...ownView(explained),
    ...(route === undefined ? {} : { route }),
    until: explained.untilMs,
    summary: summaryOf(explained, { ...decided, blockingId }),
    maxAttempts,
    blockers: blockers.map((blocker) => blockerView(blocker, blockingId, route)),
    lease: lease && leaseView(lease),
    nextChangeAt: change?.atMs ?? null,
    nextState: change?.state ?? null,
    at: nowMs,
  };
}

/** Nothing more comes of it, so nothing holds it and no time matters. */
export function endedView(
  group: GroupState,
  named: Named,
  ended: Exclude<Ended, { state: "dead-lettered" }> | { state: "dead-lettered"; deadLetter: DeadLetterInfo },
  nowMs: number,
): Explanation {
  return {
    ...namedView(group, named),
    state: ended.state,
    summary: summaryOfEnded(ended),
    maxAttempts: group.activeRules(nowMs, APPLICATION).maxAttempts,
    until: null,
    ...(ended.state === "other-group" ? { targetGroup: ended.targetGroup } : {}),
    ...(ended.state === "dead-lettered" ? { deadLetter: deadLetterView(ended.deadLetter) } : {}),
    blockers: [],
    lease: null,
    nextChangeAt: null,
    nextState: null,
    at: nowMs,
  };
}

function namedView(group: GroupState, { publishedAtMs, dueAtMs, ...named }: Named) {
  const { topic, group: name } = group.key;
  return { topic, group: name, ...named, publishedAt: publishedAtMs, dueAt: dueAtMs };
}

function ownView({ state, attempt, subscriber, deliveredAtMs, reason }: OwnState) {
  return {
    state,
    ...(attempt === null ? {} : { attempt }),
    ...(subscriber === null ? {} : { subscriber }),
    ...(deliveredAtMs === null ? {} : { deliveredAt: deliveredAtMs }),
    ...(reason === "" ? {} : { reason }),
  };
}

function leaseView({ expiresAtMs, ...lease }: { subscriber: string; epoch: number; expiresAtMs: number }) {
  return { ...lease, expiresAt: expiresAtMs };
}

function blockerView(
  blocker: Blocker,
  blockingId: string | null,
  route: string | undefined,
): Explanation["blockers"][number] {
  switch (blocker.kind) {
    case "no-subscriber":
      return { ...blocker, ...(route === undefined ? {} : { route }) };
    case "nobody-asking":
      return { kind: blocker.kind, subscribers: blocker.subscribers };
    case "log-unavailable":
      return { kind: blocker.kind, until: blocker.untilMs };
    case "lease": {
      const { kind, ...lease } = blocker;
      return { kind, ...leaseView(lease) };
    }
    case "share": {
      const { kind, subscriber, untilMs } = blocker;
      return { kind, subscriber, until: untilMs };
    }
    case "message": {
      const { kind, offset, untilMs } = blocker;
      const id = blockingId === null ? {} : { id: blockingId };
      return { kind, offset, ...id, ...ownView(blocker), until: untilMs };
    }
    case "in-flight-limit": {
      const { kind, inFlight, limit, untilMs } = blocker;
      return { kind, inFlight, limit, until: untilMs };
    }
    default:
      return blocker;
  }
}

function deadLetterView({
  failedAtMs,
  ...deadLetter
}: DeadLetterInfo): NonNullable<Explanation["deadLetter"]> {
  return { ...deadLetter, failedAt: failedAtMs };
}
