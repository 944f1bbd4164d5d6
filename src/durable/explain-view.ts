import { type Blocker, explainAt, type OwnState, type Subject, type Surroundings } from "../core/explain.ts";
import { nextChangeAtMs } from "../core/explain-change.ts";
import { type Ended, summaryOf, summaryOfEnded } from "../core/explain-summary.ts";
import type { Lane } from "../core/lane.ts";
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

export function explanationOf(
  group: GroupState,
  named: Named,
  subject: Subject,
  lane: Lane | null,
  around: Surroundings,
): Explanation {
  const { nowMs, maxAttempts } = around.rules;
  const explained = explainAt(subject, lane, around, nowMs);
  const { lease, blockers } = explained;
  const { deadLetters } = group.record.settings;
  return {
    ...namedView(group, named),
    ...ownView(explained),
    until: explained.untilMs,
    summary: summaryOf(explained, { maxAttempts, deadLetters }),
    maxAttempts,
    blockers: blockers.map(blockerView),
    lease: lease && leaseView(lease),
    nextChangeAt: nextChangeAtMs(subject, lane, around, explained),
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
    maxAttempts: group.activeRules(nowMs).maxAttempts,
    until: null,
    ...(ended.state === "other-group" ? { targetGroup: ended.targetGroup } : {}),
    ...(ended.state === "dead-lettered" ? { deadLetter: deadLetterView(ended.deadLetter) } : {}),
    blockers: [],
    lease: null,
    nextChangeAt: null,
    at: nowMs,
  };
}

function namedView(group: GroupState, { publishedAtMs, dueAtMs, ...named }: Named) {
  const { topic, group: name } = group.key;
  return { topic, group: name, ...named, publishedAt: publishedAtMs, dueAt: dueAtMs };
}

function ownView({ state, attempt, subscriber, reason }: OwnState) {
  return {
    state,
    ...(attempt === null ? {} : { attempt }),
    ...(subscriber === null ? {} : { subscriber }),
    ...(reason === "" ? {} : { reason }),
  };
}

function leaseView({ expiresAtMs, ...lease }: { subscriber: string; epoch: number; expiresAtMs: number }) {
  return { ...lease, expiresAt: expiresAtMs };
}

function blockerView(blocker: Blocker): Explanation["blockers"][number] {
  switch (blocker.kind) {
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
      return { kind, offset, ...ownView(blocker), until: untilMs };
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
