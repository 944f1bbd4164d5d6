import { describe, expect, test } from "vitest";
import type { Blocker, Explained, OwnState, UnsettledState } from "../../../src/core/explain.ts";
import { type Ended, summaryOf, summaryOfEnded } from "../../../src/core/explain-summary.ts";

const AT_MS = Date.UTC(2026, 10, 29, 10, 0, 5);
const AT = "2026-11-29T10:00:05.000Z";
/** Fourteen minutes and a half before. */
const SINCE_MS = Date.UTC(2026, 10, 29, 9, 45, 30);
const SINCE = "2026-11-29T09:45:30.000Z";
const TERMS = {
  nowMs: Date.UTC(2026, 10, 29, 10, 0, 0),
  blockingId: null,
  maxAttempts: 3,
  deadLetters: true,
};

function own(state: UnsettledState, more: Partial<OwnState> = {}): OwnState {
  return {
    state,
    attempt: null,
    untilMs: null,
    subscriber: null,
    deliveredAtMs: null,
    overdue: null,
    reason: "",
    ...more,
  };
}

function explained(state: UnsettledState, more: Partial<Explained> = {}): Explained {
  return { ...own(state), blockers: [], lease: null, changesHands: false, ...more };
}

const delivered = { attempt: 2, untilMs: AT_MS, subscriber: "worker-1" };
const lease = { subscriber: "worker-1", epoch: 1, expiresAtMs: AT_MS };

describe("the words of a state", () => {
  test.each<[string, Explained, string]>([
    [
      "in flight",
      explained("in-flight", delivered),
      `Delivered to worker-1 (attempt 2 of 3); unless it settles, it comes again at ${AT}.`,
    ],
    [
      "in flight for the last time",
      explained("in-flight", { ...delivered, attempt: 3 }),
      `Delivered to worker-1 (attempt 3 of 3); unless it settles, it becomes a dead letter at ${AT}.`,
    ],
    [
      "backing off",
      explained("backing-off", { attempt: 1, untilMs: AT_MS, reason: "timeout" }),
      `Attempt 1 of 3 failed: "timeout"; it comes again at ${AT}.`,
    ],
    [
      "backing off without a reason",
      explained("backing-off", { attempt: 1, untilMs: AT_MS }),
      `Attempt 1 of 3 failed; it comes again at ${AT}.`,
    ],
    [
      "postponed",
      explained("postponed", { untilMs: AT_MS }),
      `Postponed; it comes again at ${AT}, and what is behind it in its partition waits for it.`,
    ],
    ["delayed", explained("delayed", { untilMs: AT_MS }), `Published with a delay; it is due at ${AT}.`],
    [
      "on its way to the dead letters",
      explained("being-dead-lettered", { attempt: 3, reason: "schema 4" }),
      'It failed for the last time: "schema 4"; its dead letter is being written.',
    ],
    [
      "on its way there while the log is away",
      explained("being-dead-lettered", { blockers: [{ kind: "log-unavailable", untilMs: AT_MS }] }),
      `It failed for the last time. The message log cannot be read; it is tried again at ${AT}.`,
    ],
    [
      "out of attempts while paused",
      explained("being-dead-lettered", { blockers: [{ kind: "group-paused" }] }),
      "Out of attempts. The group is paused: it becomes a dead letter once the group is resumed.",
    ],
    ["expired", explained("expired"), "Older than the topic keeps messages: it is not delivered any more."],
    [
      "deliverable",
      explained("deliverable"),
      "It can be delivered now: the next receive of any subscriber that may have one more partition gets it.",
    ],
    [
      "deliverable to the owner",
      explained("deliverable", { lease }),
      "It can be delivered now: the next receive of worker-1, which holds the partition, gets it.",
    ],
    [
      "deliverable to another than the owner",
      explained("deliverable", { lease, changesHands: true }),
      "It can be delivered now: the next receive of any subscriber that may have one more partition gets it.",
    ],
    [
      "in flight while paused",
      explained("in-flight", { ...delivered, blockers: [{ kind: "group-paused" }] }),
      `Delivered to worker-1 (attempt 2 of 3); unless it settles, it comes again at ${AT}. But the group is paused: nothing is delivered until it is resumed.`,
    ],
    [
      "backing off with nobody there",
      explained("backing-off", { attempt: 1, untilMs: AT_MS, blockers: [{ kind: "no-subscriber" }] }),
      `Attempt 1 of 3 failed; it comes again at ${AT}. But the group has no live subscriber to receive it.`,
    ],
  ])("%s", (_what, said, summary) => {
    expect(summaryOf(said, TERMS)).toBe(summary);
  });

  test("how long a delivery is out, and that it was extended: then somebody should look at it", () => {
    const out = (more: Partial<Explained>) =>
      summaryOf(explained("in-flight", { ...delivered, deliveredAtMs: SINCE_MS, ...more }), TERMS);
    const to = `Delivered to worker-1 (attempt 2 of 3) at ${SINCE}, 14 minutes ago`;
    expect(out({})).toBe(`${to}; unless it settles, it comes again at ${AT}.`);
    expect(out({ overdue: "asked" })).toBe(
      `${to}; unless it settles, it comes again at ${AT}. Look at what worker-1 does with it.`,
    );
    const extended = `${to}, and extended since; unless it settles or is extended again,`;
    expect(out({ overdue: "extended" })).toBe(
      `${extended} it comes again at ${AT}. Look at what worker-1 does with it.`,
    );
    expect(out({ overdue: "extended", attempt: 3 })).toBe(
      `${extended} it becomes a dead letter at ${AT}. Look at what worker-1 does with it.`.replace(
        "2 of",
        "3 of",
      ),
    );
  });

  test.each([
    [-5000, "just now"],
    [999, "just now"],
    [1000, "1 second ago"],
    [59_999, "59 seconds ago"],
    [60_000, "1 minute ago"],
    [7_199_999, "1 hour ago"],
    [172_800_000, "2 days ago"],
  ])("%i ms are %s", (agoMs, words) => {
    const said = explained("in-flight", { ...delivered, deliveredAtMs: TERMS.nowMs - agoMs });
    expect(summaryOf(said, TERMS)).toContain(`, ${words}; unless`);
  });

  test("without dead letters a message out of attempts is dropped, without a limit it comes again", () => {
    const last = explained("in-flight", { ...delivered, attempt: 3 });
    expect(summaryOf(last, { ...TERMS, deadLetters: false })).toBe(
      `Delivered to worker-1 (attempt 3 of 3); unless it settles, it is dropped at ${AT}.`,
    );
    expect(summaryOf(last, { ...TERMS, maxAttempts: null })).toBe(
      `Delivered to worker-1 (attempt 3); unless it settles, it comes again at ${AT}.`,
    );
  });

  test.each<[string, Ended, string]>([
    [
      "settled",
      { state: "settled" },
      "Settled for this group: it was acknowledged, dropped, skipped or too old, and is not delivered again.",
    ],
    [
      "not found",
      { state: "not-found" },
      "The topic has no such message: it was never published, or it was deleted or collected since.",
    ],
    [
      "dead-lettered",
      { state: "dead-lettered", deadLetter: { failedAtMs: AT_MS, attempts: 3, reason: "timeout" } },
      `Became a dead letter at ${AT} after 3 attempts: "timeout". A redrive delivers it again.`,
    ],
    [
      "dead-lettered at once",
      { state: "dead-lettered", deadLetter: { failedAtMs: AT_MS, attempts: 1, reason: "" } },
      `Became a dead letter at ${AT} after 1 attempt. A redrive delivers it again.`,
    ],
    [
      "for another group",
      { state: "other-group", targetGroup: "audit" },
      "A redriven message that only group audit receives.",
    ],
  ])("%s", (_what, ended, summary) => {
    expect(summaryOfEnded(ended)).toBe(summary);
  });
});

describe("the words of what stands before a message", () => {
  const behind = (before: OwnState): Blocker => ({ kind: "message", offset: 17, ...before });
  test.each<[Blocker, string]>([
    [{ kind: "group-paused" }, "The group is paused: nothing is delivered until it is resumed."],
    [
      { kind: "log-unavailable", untilMs: AT_MS },
      `The message log cannot be read; it is tried again at ${AT}.`,
    ],
    [{ kind: "no-subscriber" }, "The group has no live subscriber: it is delivered when one receives."],
    [
      { kind: "nobody-asking", subscribers: 1, busiest: null },
      "The one live subscriber has no receive open: it is delivered when one asks.",
    ],
    [
      { kind: "nobody-asking", subscribers: 4, busiest: null },
      "None of the 4 live subscribers has a receive open: it is delivered when one asks.",
    ],
    [
      { kind: "lease", ...lease },
      `Its partition is held by worker-1, which does not ask for messages; unless it does, the partition is free at ${AT}.`,
    ],
    [
      { kind: "share", subscriber: "worker-1", untilMs: AT_MS },
      `By fair share worker-1 must give the partition up; another gets it once the deliveries under way settle, at the latest at ${AT}.`,
    ],
    [
      { kind: "share", subscriber: "worker-1", untilMs: null },
      "By fair share worker-1 must give the partition up; another gets it once the deliveries under way settle.",
    ],
    [
      { kind: "share", subscriber: null, untilMs: null },
      "No subscriber that asks may take another partition by its fair share.",
    ],
    [
      behind(own("postponed", { untilMs: AT_MS })),
      `Waits behind the message at offset 17, which was postponed until ${AT}.`,
    ],
    [
      behind(own("in-flight", delivered)),
      `Waits behind the message at offset 17, which was delivered to worker-1 (attempt 2 of 3); unless it settles, it comes again at ${AT}.`,
    ],
    [
      behind(own("backing-off", { attempt: 1, untilMs: AT_MS, reason: "timeout" })),
      `Waits behind the message at offset 17, which failed: "timeout" and comes again at ${AT}.`,
    ],
    [
      behind(own("being-dead-lettered", { reason: "timeout" })),
      'Waits behind the message at offset 17, which failed for the last time: "timeout" and is about to end.',
    ],
    [
      behind(own("deliverable")),
      "Waits behind the message at offset 17, which can be delivered now and goes first.",
    ],
    [behind(own("waiting")), "Waits behind the message at offset 17, which waits itself and goes first."],
    [
      { kind: "in-flight-limit", inFlight: 10, limit: 10, before: 0, untilMs: AT_MS },
      `Its partition has 10 of at most 10 deliveries under way; it follows when one settles, or from ${AT}.`,
    ],
    [
      { kind: "in-flight-limit", inFlight: 0, limit: 2, before: 2, untilMs: null },
      "Its partition has 0 of at most 2 deliveries under way, and 2 more go before it; it follows when they settle.",
    ],
    [
      { kind: "failed-limit" },
      "So many failed messages wait in its partition or group that no new ones are delivered until some of them settle.",
    ],
    [{ kind: "unread" }, "Dispatch has not read so far in the log; the next receives read on."],
  ])("%o", (blocker, summary) => {
    expect(summaryOf(explained("waiting", { blockers: [blocker] }), TERMS)).toBe(summary);
  });

  test("the message before it is named by its ID where that is known", () => {
    const blockers = [behind(own("postponed", { untilMs: AT_MS }))];
    expect(summaryOf(explained("waiting", { blockers }), { ...TERMS, blockingId: "order-20/placed" })).toBe(
      `Waits behind the message order-20/placed at offset 17, which was postponed until ${AT}.`,
    );
  });

  test("a message before it that was extended is one to look at", () => {
    const before = own("in-flight", { ...delivered, deliveredAtMs: SINCE_MS, overdue: "extended" });
    expect(summaryOf(explained("waiting", { blockers: [behind(before)] }), TERMS)).toBe(
      `Waits behind the message at offset 17, which was delivered to worker-1 (attempt 2 of 3) at ${SINCE}, 14 minutes ago, and extended since; unless it settles or is extended again, it comes again at ${AT}. Look at what worker-1 does with it.`,
    );
  });

  test("who does not ask is busy, if it is", () => {
    const asked = (subscribers: number, inFlight: number, sinceMs: number | null) => {
      const busiest = { subscriber: "worker-1", inFlight, sinceMs };
      return summaryOf(
        explained("waiting", { blockers: [{ kind: "nobody-asking", subscribers, busiest }] }),
        TERMS,
      );
    };
    expect(asked(1, 1, SINCE_MS)).toBe(
      `The one live subscriber has no receive open; worker-1 has 1 message under way since ${SINCE} (14 minutes ago): it is delivered when one asks.`,
    );
    expect(asked(3, 2, SINCE_MS)).toBe(
      `None of the 3 live subscribers has a receive open; worker-1 has 2 messages under way, the oldest since ${SINCE} (14 minutes ago): it is delivered when one asks.`,
    );
    expect(asked(1, 2, null)).toContain("; worker-1 has 2 messages under way: it is");
  });

  test("the message before it is said before who does not ask, and nothing after the second", () => {
    const blockers: Blocker[] = [
      { kind: "nobody-asking", subscribers: 1, busiest: null },
      { kind: "lease", ...lease },
      behind(own("in-flight", delivered)),
    ];
    expect(summaryOf(explained("waiting", { blockers }), TERMS)).toBe(
      `Waits behind the message at offset 17, which was delivered to worker-1 (attempt 2 of 3); unless it settles, it comes again at ${AT}. Besides: The one live subscriber has no receive open: it is delivered when one asks.`,
    );
  });

  test("a long reason is cut by whole characters", () => {
    const said = summaryOf(explained("being-dead-lettered", { reason: "🚚".repeat(1000) }), TERMS);
    expect(said).toBe(
      `It failed for the last time: "${"🚚".repeat(200)}…"; its dead letter is being written.`,
    );
  });
});
