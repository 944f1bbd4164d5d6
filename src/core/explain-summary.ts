import type { Blocker, Explained, OwnState, UnderWay } from "./explain.ts";

/** The explanation in one or two sentences: the cause, and what happens next. */

/** What is known beside the explanation. */
export interface SummaryTerms {
  /** When it was looked at. */
  nowMs: number;
  /** Of the message before it, where that is the blocker; null: not known. */
  blockingId: string | null;
  /** null: no limit. */
  maxAttempts: number | null;
  /** Whether a message out of attempts becomes a dead letter; else it is dropped. */
  deadLetters: boolean;
  /** Whose subscribers get it; absent: the application's. */
  route?: string;
}

/** Nothing more comes of the message. Fields that the state does not name are absent. */
export type Ended =
  | { state: "settled" | "not-found" }
  | { state: "dead-lettered"; deadLetter: { failedAtMs: number; attempts: number; reason: string } }
  | { state: "other-group"; targetGroup: string };

/** Reasons are up to a thousand characters: the field beside the summary has all of them. */
const MAX_REASON_SHOWN = 200;

export function summaryOfEnded(ended: Ended): string {
  switch (ended.state) {
    case "settled":
      return "Settled for this group: it was acknowledged, dropped, skipped or too old, and is not delivered again.";
    case "not-found":
      return "The topic has no such message: it was never published, or it was deleted or collected since.";
    case "dead-lettered": {
      const { failedAtMs, attempts, reason } = ended.deadLetter;
      const after = `after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
      return `Became a dead letter at ${timeText(failedAtMs)} ${after}${becauseOf(reason)}. A redrive delivers it again.`;
    }
    case "other-group":
      return `A redriven message that only group ${ended.targetGroup} receives.`;
  }
}

export function summaryOf(explained: Explained, terms: SummaryTerms): string {
  const summary = unroutedSummary(explained, terms);
  return terms.route === undefined ? summary : `Of route ${terms.route}. ${summary}`;
}

function unroutedSummary(explained: Explained, terms: SummaryTerms): string {
  const { state, blockers } = explained;
  switch (state) {
    case "deliverable": {
      const { lease, changesHands } = explained;
      const who =
        lease && !changesHands
          ? `the next receive of ${lease.subscriber}, which holds the partition,`
          : "the next receive of any subscriber that may have one more partition";
      return `It can be delivered now: ${who} gets it.`;
    }
    case "waiting":
      return waitingText(blockers, terms);
    case "expired":
      return "Older than the topic keeps messages: it is not delivered any more.";
    case "being-dead-lettered":
      return dyingText(explained, terms);
    default:
      return withHindrance(ownText(explained, terms), blockers, terms);
  }
}

function ownText(own: OwnState, terms: SummaryTerms): string {
  const until = timeText(own.untilMs);
  switch (own.state) {
    case "in-flight":
      return `Delivered to ${deliveredText(own, terms)}; ${lapseText(own, terms)}${lookAt(own)}`;
    case "backing-off":
      return `${attemptText(own, terms)} failed${becauseOf(own.reason)}; it comes again at ${until}.`;
    case "postponed":
      return `Postponed; it comes again at ${until}, and what is behind it in its partition waits for it.`;
    default:
      return `Published with a delay; it is due at ${until}.`;
  }
}

function lapseText(own: OwnState, { maxAttempts, deadLetters }: SummaryTerms): string {
  const at = timeText(own.untilMs);
  const unless = own.overdue === "extended" ? "unless it settles or is extended again" : "unless it settles";
  if (maxAttempts === null || (own.attempt ?? 0) < maxAttempts) return `${unless}, it comes again at ${at}.`;
  return `${unless}, it ${deadLetters ? "becomes a dead letter" : "is dropped"} at ${at}.`;
}

/** To whom, and since when it is out. */
function deliveredText(own: OwnState, terms: SummaryTerms): string {
  const { subscriber, deliveredAtMs, overdue } = own;
  const to = `${subscriber} (${attemptText(own, terms).toLowerCase()})`;
  if (deliveredAtMs === null) return to;
  const at = `${to} at ${timeText(deliveredAtMs)}, ${agoText(deliveredAtMs, terms)}`;
  return overdue === "extended" ? `${at}, and extended since` : at;
}

/** A client extends for as long as its process lives, so a handler that hangs shows by nothing else. */
function lookAt({ subscriber, overdue }: OwnState): string {
  return overdue === null ? "" : ` Look at what ${subscriber} does with it.`;
}

function attemptText({ attempt }: OwnState, { maxAttempts }: SummaryTerms): string {
  return maxAttempts === null ? `Attempt ${attempt ?? 0}` : `Attempt ${attempt ?? 0} of ${maxAttempts}`;
}

function dyingText({ reason, blockers }: Explained, terms: SummaryTerms): string {
  const [first] = blockers;
  const ends = terms.deadLetters ? "becomes a dead letter" : "is dropped";
  if (first?.kind === "group-paused")
    return `Out of attempts${becauseOf(reason)}. The group is paused: it ${ends} once the group is resumed.`;
  const failed = `It failed for the last time${becauseOf(reason)}`;
  return first ? `${failed}. ${blockerText(first, terms)}` : `${failed}; its dead letter is being written.`;
}

/** The own state is the cause; what would hold the message afterwards is worth a sentence if it is for good. */
function withHindrance(text: string, blockers: readonly Blocker[], { route }: SummaryTerms): string {
  const [first] = blockers;
  if (first?.kind === "group-paused")
    return `${text} But the group is paused: nothing is delivered until it is resumed.`;
  if (first?.kind === "no-subscriber")
    return `${text} But ${route === undefined ? "the group" : "that route"} has no live subscriber to receive it.`;
  return text;
}

/** What says most comes first: whoever is behind a message asks about that one next. */
const BY_WEIGHT: readonly Blocker["kind"][] = [
  "group-paused",
  "log-unavailable",
  "no-subscriber",
  "message",
  "in-flight-limit",
  "failed-limit",
  "nobody-asking",
  "lease",
  "share",
  "unread",
];

function waitingText(blockers: readonly Blocker[], terms: SummaryTerms): string {
  const [first, second] = blockers.toSorted((a, b) => BY_WEIGHT.indexOf(a.kind) - BY_WEIGHT.indexOf(b.kind));
  if (!first) return "It waits.";
  const cause = blockerText(first, terms);
  return second ? `${cause} Besides: ${blockerText(second, terms)}` : cause;
}

function blockerText(blocker: Blocker, terms: SummaryTerms): string {
  switch (blocker.kind) {
    case "group-paused":
      return "The group is paused: nothing is delivered until it is resumed.";
    case "log-unavailable":
      return `The message log cannot be read; it is tried again at ${timeText(blocker.untilMs)}.`;
    case "no-subscriber":
      return `${terms.route === undefined ? "The group" : "That route"} has no live subscriber: it is delivered when one receives.`;
    case "nobody-asking":
      return nobodyText(blocker, terms);
    case "lease":
      return `Its partition is held by ${blocker.subscriber}, which does not ask for messages; unless it does, the partition is free at ${timeText(blocker.expiresAtMs)}.`;
    case "share":
      return shareText(blocker);
    case "message": {
      const id = terms.blockingId === null ? "" : `${terms.blockingId} `;
      return `Waits behind the message ${id}at offset ${blocker.offset}, ${beforeText(blocker, terms)}`;
    }
    case "in-flight-limit":
      return roomText(blocker);
    case "failed-limit":
      return "So many failed messages wait in its partition or group that no new ones are delivered until some of them settle.";
    case "unread":
      return "Dispatch has not read so far in the log; the next receives read on.";
  }
}

function nobodyText(blocker: Extract<Blocker, { kind: "nobody-asking" }>, terms: SummaryTerms): string {
  const { subscribers, busiest } = blocker;
  const nobody =
    subscribers === 1
      ? "The one live subscriber has no receive open"
      : `None of the ${subscribers} live subscribers has a receive open`;
  return `${nobody}${busiest === null ? "" : `; ${busyText(busiest, terms)}`}: it is delivered when one asks.`;
}

function busyText({ subscriber, inFlight, sinceMs }: UnderWay, terms: SummaryTerms): string {
  const has = `${subscriber} has ${inFlight} ${inFlight === 1 ? "message" : "messages"} under way`;
  if (sinceMs === null) return has;
  const oldest = inFlight === 1 ? "since" : "the oldest since";
  return `${has}${inFlight === 1 ? "" : ","} ${oldest} ${timeText(sinceMs)} (${agoText(sinceMs, terms)})`;
}

function shareText({ subscriber, untilMs }: Extract<Blocker, { kind: "share" }>): string {
  if (subscriber === null) return "No subscriber that asks may take another partition by its fair share.";
  const when = untilMs === null ? "" : `, at the latest at ${timeText(untilMs)}`;
  return `By fair share ${subscriber} must give the partition up; another gets it once the deliveries under way settle${when}.`;
}

function roomText(blocker: Extract<Blocker, { kind: "in-flight-limit" }>): string {
  const { inFlight, limit, before, untilMs } = blocker;
  const first = before === 0 ? "" : `, and ${before} more ${before === 1 ? "goes" : "go"} before it`;
  const next =
    untilMs === null
      ? "it follows when they settle"
      : `it follows when one settles, or from ${timeText(untilMs)}`;
  return `Its partition has ${inFlight} of at most ${limit} deliveries under way${first}; ${next}.`;
}

function beforeText(own: OwnState, terms: SummaryTerms): string {
  const until = timeText(own.untilMs);
  switch (own.state) {
    case "in-flight":
      return `which was delivered to ${deliveredText(own, terms)}; ${lapseText(own, terms)}${lookAt(own)}`;
    case "backing-off":
      return `which failed${becauseOf(own.reason)} and comes again at ${until}.`;
    case "postponed":
      return `which was postponed until ${until}.`;
    case "being-dead-lettered":
      return `which failed for the last time${becauseOf(own.reason)} and is about to end.`;
    case "deliverable":
      return "which can be delivered now and goes first.";
    default:
      return "which waits itself and goes first.";
  }
}

function becauseOf(reason: string): string {
  if (reason === "") return "";
  const chars = [...reason];
  return `: "${chars.length > MAX_REASON_SHOWN ? `${chars.slice(0, MAX_REASON_SHOWN).join("")}…` : reason}"`;
}

const UNITS_MS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** In its largest unit alone, rounded down: "14 minutes ago". */
function agoText(atMs: number, { nowMs }: SummaryTerms): string {
  const agoMs = nowMs - atMs;
  for (const [unit, unitMs] of UNITS_MS) {
    const count = Math.floor(agoMs / unitMs);
    if (count >= 1) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  }
  return "just now";
}

function timeText(atMs: number | null): string {
  return atMs === null ? "no known time" : new Date(atMs).toISOString();
}
