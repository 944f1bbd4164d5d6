import fc from "fast-check";
import { type Exception, Lane } from "../../src/core/lane.ts";
import type { WalkRules } from "../../src/core/walk.ts";
import type { ModelMessage, Place } from "./walk-model.ts";

/** Lanes in any state that the rules allow, each beside the same state in the model's words. */
export interface LaneCase {
  lane: Lane;
  messages: ModelMessage[];
}

export const NOW_MS = 1_000_000;
const SUBSCRIBERS = ["ann", "bob", "cid"] as const;

export const subscriber = fc.constantFrom(...SUBSCRIBERS);
const SHORT_RETENTION_MS = 1000;
/** Around now; half of them at an instant at which something begins or ends, or beside it. */
const instantMs = fc.oneof(
  fc.constantFrom(
    NOW_MS - 1,
    NOW_MS,
    NOW_MS + 1,
    NOW_MS - SHORT_RETENTION_MS,
    NOW_MS - SHORT_RETENTION_MS + 1,
  ),
  fc.integer({ min: NOW_MS - 3000, max: NOW_MS + 3000 }),
);
const attempt = fc.integer({ min: 1, max: 5 });

export const rules: fc.Arbitrary<WalkRules> = fc.record({
  maxInFlight: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 1000 })),
  maxAttempts: fc.option(fc.integer({ min: 1, max: 5 }), { nil: null }),
  maxRetentionMs: fc.constantFrom(SHORT_RETENTION_MS, 1500, 10_000_000),
  freshAllowed: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  nowMs: fc.constant(NOW_MS),
  logAheadMs: fc.constant(0),
});

interface WalkedSource {
  kind: "settled" | "run" | "inFlight" | "backingOff" | "postponed" | "returned" | "arrived" | "dying";
  gap: number;
  bodyBytes: number;
  attempt: number;
  atMs: number;
  subscriber: string;
  startsRun: boolean;
}

const gap = fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 1_000_000_000 }));
const bodyBytes = fc.integer({ min: 0, max: 100 });
const walkedKind = fc.oneof(
  { weight: 4, arbitrary: fc.constant("run" as const) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "settled" as const,
      "inFlight" as const,
      "backingOff" as const,
      "returned" as const,
      "arrived" as const,
      "dying" as const,
    ),
  },
  { weight: 1, arbitrary: fc.constant("postponed" as const) },
);
const walkedSource: fc.Arbitrary<WalkedSource> = fc.record({
  kind: walkedKind,
  gap,
  bodyBytes,
  attempt,
  atMs: instantMs,
  subscriber,
  startsRun: fc.boolean(),
});
const aheadSource = fc.record({ gap, bodyBytes, dueAtMs: instantMs, delayed: fc.boolean() });

/** What was walked is never too old here: age has cases of its own in test/unit/core/walk.test.ts. */
export const UNAGED = Number.MAX_SAFE_INTEGER / 2;

function exceptionOf(offset: number, source: WalkedSource): Exception {
  const base = {
    offset,
    bodyBytes: source.bodyBytes,
    dueAtMs: UNAGED,
    nonce: "",
    subscriber: "",
    epoch: 0,
    reason: "",
  };
  switch (source.kind) {
    case "inFlight":
      return {
        ...base,
        state: "inFlight",
        attempt: source.attempt,
        atMs: source.atMs,
        nonce: "n",
        subscriber: source.subscriber,
      };
    case "returned":
      return { ...base, state: "returned", attempt: source.attempt - 1, atMs: 0 };
    case "postponed":
    case "arrived":
      return { ...base, state: source.kind, attempt: 0, atMs: source.atMs };
    case "backingOff":
    case "dying":
      return { ...base, state: source.kind, attempt: source.attempt, atMs: source.atMs };
    default:
      throw new Error(`${source.kind} is no exception`);
  }
}

function putWalked(lane: Lane, offset: number, source: WalkedSource): Place {
  lane.walkedOffset = offset;
  if (source.kind === "settled") return { kind: "settled" };
  if (source.kind === "run") {
    const last = lane.runs[lane.runs.length - 1];
    const message = { offset, bodyBytes: source.bodyBytes, dueAtMs: UNAGED };
    if (last && !source.startsRun) {
      last.messages.push(message);
      return { kind: "delivered", attempt: 1, untilMs: last.visibleUntilMs };
    }
    const { subscriber: holder, atMs: visibleUntilMs } = source;
    lane.runs.push({
      nonce: `r${offset}`,
      subscriber: holder,
      epoch: 1,
      visibleUntilMs,
      messages: [message],
    });
    return { kind: "delivered", attempt: 1, untilMs: visibleUntilMs };
  }
  const exception = exceptionOf(offset, source);
  lane.exceptions.push(exception);
  const { state, attempt: failed, atMs } = exception;
  return state === "inFlight"
    ? { kind: "delivered", attempt: failed, untilMs: atMs }
    : { kind: "waiting", state, attempt: failed, atMs };
}

export const laneCase: fc.Arbitrary<LaneCase> = fc
  .record({
    partitionKey: fc.string({ minLength: 1, maxLength: 3 }),
    walked: fc.array(walkedSource, { maxLength: 9 }),
    ahead: fc.array(aheadSource, { maxLength: 7 }),
    behind: fc.boolean(),
    owner: fc.option(subscriber, { nil: null }),
    epoch: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ partitionKey, walked, ahead, behind, owner, epoch }) => {
    const lane = new Lane(partitionKey, 0);
    const messages: ModelMessage[] = [];
    let offset = 0;
    for (const source of walked) {
      offset += source.gap;
      messages.push({ offset, bodyBytes: source.bodyBytes, place: putWalked(lane, offset, source) });
    }
    lane.windowThrough = lane.walkedOffset;
    for (const { gap: step, ...entry } of ahead) {
      offset += step;
      lane.window.push({ offset, ...entry });
      lane.windowThrough = offset;
      const { dueAtMs, delayed } = entry;
      messages.push({ offset, bodyBytes: entry.bodyBytes, place: { kind: "ahead", dueAtMs, delayed } });
    }
    lane.behind = behind;
    if (owner !== null) lane.lease = { subscriber: owner, epoch, acquiredAtMs: 0 };
    return { lane, messages };
  });
