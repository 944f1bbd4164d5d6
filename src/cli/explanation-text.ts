import type { Blocker, Explanation } from "../client/fairlane.ts";
import { adviceOn } from "./explanation-advice.ts";
import { counted, facts } from "./figures.ts";
import type { Output } from "./output.ts";
import { momentText } from "./times.ts";

/** An explanation in words. Its own clock counts, which is the server's: "in 12 s" is right also where ours is not. */
export function explanationText(out: Output, explanation: Explanation, nowMs: number): string {
  const { at } = explanation;
  // The server's moments, told by this machine's clock.
  const moment = (atMs: number) => momentText(atMs - at + nowMs, nowMs);
  const parts = [
    `${out.styled("bold", headline(out, explanation))}\n${out.name(explanation.summary)}`,
    facts(factsOf(out, explanation, moment)),
  ];
  if (explanation.blockers.length > 0) {
    const lines = explanation.blockers.map((blocker) => `  - ${out.name(blockerText(blocker, moment))}`);
    parts.push(`It waits for:\n${lines.join("\n")}`);
  }
  const advice = adviceOn(explanation);
  if (advice.length > 0) parts.push(advice.map((one) => `do: ${out.name(one)}`).join("\n"));
  const change = changeText(explanation, moment);
  if (change !== null) parts.push(change);
  return parts.join("\n\n");
}

function changeText(
  { nextChangeAt, nextState, state }: Explanation,
  moment: (atMs: number) => string,
): string | null {
  if (nextChangeAt === null) return null;
  const then = nextState === null ? "" : `, then ${nextState === state ? "still " : ""}${nextState}`;
  return `Next change: ${moment(nextChangeAt)}${then}`;
}

function headline(out: Output, { id, offset, partitionKey, topic, group, state }: Explanation): string {
  const message = id === null ? `offset ${offset}` : id;
  return `${out.name(message)} of partition ${out.name(partitionKey)} in ${topic}, for group ${group}: ${state}`;
}

function factsOf(
  out: Output,
  explanation: Explanation,
  moment: (atMs: number) => string,
): (readonly [string, string | null])[] {
  const { offset, publishedAt, dueAt, attempt, maxAttempts, until, reason, subscriber, lease } = explanation;
  const { targetGroup, deadLetter, deliveredAt, route } = explanation;
  return [
    ["offset", offset === null ? null : String(offset)],
    ["published", publishedAt === null ? null : moment(publishedAt)],
    ["due", dueAt === null || dueAt === publishedAt ? null : moment(dueAt)],
    ["attempt", attempt === undefined ? null : `${attempt} of ${maxAttempts ?? "any number"}`],
    ["last failure", reason === undefined ? null : out.name(reason)],
    ["subscriber", subscriber === undefined ? null : out.name(subscriber)],
    ["delivered", deliveredAt === undefined ? null : moment(deliveredAt)],
    ["until", until === null ? null : moment(until)],
    ["only for group", targetGroup ?? null],
    ["route", route === undefined ? null : out.name(route)],
    [
      "dead letter",
      deadLetter
        ? `${moment(deadLetter.failedAt)}: ${out.name(deadLetter.reason)} (attempt ${deadLetter.attempts})`
        : null,
    ],
    [
      "lease",
      lease === null ? "nobody holds the partition" : `${lease.subscriber}, until ${moment(lease.expiresAt)}`,
    ],
  ];
}

/** What stands in the way, each kind in one sentence. */
export function blockerText(blocker: Blocker, moment: (atMs: number) => string): string {
  const until = (atMs: number | null) => (atMs === null ? "" : `, until ${moment(atMs)}`);
  switch (blocker.kind) {
    case "group-paused":
      return "the group, which is paused";
    case "log-unavailable":
      return `the message log cannot be read; it is tried again at ${moment(blocker.until)}`;
    case "no-subscriber":
      return blocker.route === undefined
        ? "a subscriber: the group has no live one"
        : `a subscriber of route ${blocker.route}: it has no live one`;
    case "nobody-asking":
      return `a receive: ${counted(blocker.subscribers, "subscriber")} live, none of them asking`;
    case "lease":
      return `subscriber ${blocker.subscriber}, who holds the partition and does not ask; without a word from it until ${moment(blocker.expiresAt)} the partition is free`;
    case "share":
      return blocker.subscriber === null
        ? `a fair share: none of those who ask may take one more partition${until(blocker.until)}`
        : `subscriber ${blocker.subscriber}, who holds more than its fair share, to give the partition up${until(blocker.until)}`;
    case "message":
      return messageText(blocker, moment);
    case "in-flight-limit":
      return `the partition's deliveries under way: ${blocker.inFlight}, and it may have ${blocker.limit}${until(blocker.until)}`;
    case "failed-limit":
      return "failed messages: as many wait as may; settle some of them";
    case "unread":
      return "dispatch to read so far; the next receives do";
    default:
      // A newer server may know more of them.
      return (blocker as { kind: string }).kind;
  }
}

function messageText(
  {
    id,
    offset,
    state,
    attempt,
    until,
    subscriber,
    deliveredAt,
    reason,
  }: Extract<Blocker, { kind: "message" }>,
  moment: (atMs: number) => string,
): string {
  const name = id === undefined ? `at offset ${offset}` : `${id} at offset ${offset}`;
  const parts = [`the message ${name} before it, which is ${state}`];
  if (attempt !== undefined) parts.push(`attempt ${attempt}`);
  if (subscriber !== undefined) parts.push(`with ${subscriber}`);
  if (deliveredAt !== undefined) parts.push(`since ${moment(deliveredAt)}`);
  if (reason !== undefined) parts.push(`last failure: ${reason}`);
  if (until !== null) parts.push(`until ${moment(until)}`);
  return parts.join(", ");
}
