import type { ExceptionState } from "../../src/core/lane.ts";
import type { Grant, WalkRules } from "../../src/core/walk.ts";
import { UNAGED } from "./lane-source.ts";

/**
 * The walk as design and API describe it, one message at a time and without regard to cost: find the next
 * message to deliver, deliver it, look again from the start. Knows nothing of runs, windows or placements.
 */
export type Place =
  | { kind: "settled" }
  | { kind: "delivered"; attempt: number; untilMs: number }
  | { kind: "waiting"; state: Exclude<ExceptionState, "inFlight">; attempt: number; atMs: number }
  | { kind: "ahead"; dueAtMs: number; delayed: boolean };

export interface ModelMessage {
  offset: number;
  bodyBytes: number;
  place: Place;
}

/** skip: as if it were not there; wait: passed over, but a strict lane stops; stop: nothing behind it. */
type Step = { kind: "skip" } | { kind: "wait" } | { kind: "stop" } | { kind: "deliver"; attempt: number };

function stepOf({ place }: ModelMessage, rules: WalkRules): Step {
  const { nowMs } = rules;
  switch (place.kind) {
    case "settled":
      return { kind: "skip" };
    case "delivered":
      if (place.untilMs > nowMs) return { kind: "wait" };
      return rules.maxAttempts !== null && place.attempt >= rules.maxAttempts
        ? { kind: "wait" }
        : { kind: "deliver", attempt: place.attempt + 1 };
    case "ahead":
      if (place.dueAtMs + rules.maxRetentionMs <= nowMs) return { kind: "skip" };
      if (place.delayed && place.dueAtMs > nowMs) return { kind: "skip" };
      return rules.freshAllowed ? { kind: "deliver", attempt: 1 } : { kind: "skip" };
    case "waiting":
      return waitingStep(place, nowMs);
  }
}

function waitingStep(place: Extract<Place, { kind: "waiting" }>, nowMs: number): Step {
  const due = place.atMs <= nowMs;
  switch (place.state) {
    case "returned":
      return { kind: "deliver", attempt: place.attempt + 1 };
    case "dying":
      return { kind: "wait" };
    case "backingOff":
      return due ? { kind: "deliver", attempt: place.attempt + 1 } : { kind: "wait" };
    case "arrived":
      return due ? { kind: "deliver", attempt: 1 } : { kind: "skip" };
    case "postponed":
      return due ? { kind: "deliver", attempt: 1 } : { kind: "stop" };
  }
}

export function modelInFlight(messages: readonly ModelMessage[], nowMs: number): number {
  return messages.filter(({ place }) => place.kind === "delivered" && place.untilMs > nowMs).length;
}

/** In a strict lane what was delivered before comes before a delayed message that is due since. */
function inOrder(messages: readonly ModelMessage[], strict: boolean): [number, ModelMessage][] {
  const all = [...messages.entries()];
  const isNew = ([, { place }]: [number, ModelMessage]) =>
    place.kind === "ahead" || (place.kind === "waiting" && place.state === "arrived");
  return strict ? [...all.filter((one) => !isNew(one)), ...all.filter(isNew)] : all;
}

export function modelNext(
  messages: readonly ModelMessage[],
  rules: WalkRules,
): { at: number; grant: Grant } | null {
  if (modelInFlight(messages, rules.nowMs) >= rules.maxInFlight) return null;
  const strict = rules.maxInFlight === 1;
  let first: { at: number; grant: Grant } | null = null;
  for (const [at, message] of inOrder(messages, strict)) {
    const step = stepOf(message, rules);
    if (step.kind === "skip") continue;
    if (step.kind === "stop") break;
    if (step.kind === "wait") {
      if (strict) break;
      continue;
    }
    const { offset, bodyBytes, place } = message;
    const found = {
      at,
      grant: {
        offset,
        bodyBytes,
        dueAtMs: place.kind === "ahead" ? place.dueAtMs : UNAGED,
        attempt: step.attempt,
        fresh: place.kind === "ahead",
      },
    };
    if (place.kind === "waiting" && place.state === "returned") return found;
    first ??= found;
    // A strict lane's next message is the first that is not done.
    if (strict) break;
  }
  return first;
}

export function modelWalk(
  messages: readonly ModelMessage[],
  rules: WalkRules,
  maxGrants: number,
): { grants: Grant[]; after: ModelMessage[] } {
  const after = [...messages];
  const grants: Grant[] = [];
  while (grants.length < maxGrants) {
    const next = modelNext(after, rules);
    if (!next) break;
    grants.push(next.grant);
    after[next.at] = {
      ...(after[next.at] as ModelMessage),
      place: { kind: "delivered", attempt: next.grant.attempt, untilMs: Number.POSITIVE_INFINITY },
    };
  }
  return { grants, after };
}
