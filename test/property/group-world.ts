import fc from "fast-check";
import { arrivedException } from "../../src/core/exceptions.ts";
import { Lane } from "../../src/core/lane.ts";
import { LaneIndex } from "../../src/core/lane-index.ts";
import { type WalkRules, walk } from "../../src/core/walk.ts";

/** Several lanes of one group under an index, changed as commands change them: mutate a lane, then place it. */
export const SUBSCRIBERS = ["ann", "bob", "cid"] as const;
const KEYS = 5;
const MAX_WINDOW = 4;
/** Short: messages grow too old while a case is played. Long: none does. */
export const SHORT_RETENTION_MS = 700;
export const LONG_RETENTION_MS = 1_000_000_000;

export type Step =
  | { kind: "publish"; key: number; count: number; delayMs: number | null; behind: boolean }
  | { kind: "grant"; key: number; count: number; owner: number }
  | { kind: "ack" | "nack" | "postpone" | "giveBack" | "reject"; key: number; which: number; ms: number }
  | { kind: "settleDying" | "unlease" | "again" | "requeue" | "drop" | "reset"; key: number }
  | { kind: "arrive"; key: number; ms: number }
  | { kind: "pass"; ms: number }
  | { kind: "pause" }
  | { kind: "limit"; maxInFlight: number };

const key = fc.nat(KEYS - 1);
const ms = fc.integer({ min: 0, max: 250 });
const steps = {
  publish: fc.record({
    kind: fc.constant("publish" as const),
    key,
    count: fc.integer({ min: 1, max: 4 }),
    delayMs: fc.option(ms, { freq: 3 }),
    behind: fc.boolean(),
  }),
  grant: fc.record({
    kind: fc.constant("grant" as const),
    key,
    count: fc.integer({ min: 1, max: 4 }),
    owner: fc.nat(SUBSCRIBERS.length - 1),
  }),
  settle: fc.record({
    kind: fc.constantFrom(
      "ack" as const,
      "nack" as const,
      "postpone" as const,
      "giveBack" as const,
      "reject" as const,
    ),
    key,
    which: fc.nat(9),
    ms,
  }),
  lane: fc.record({
    kind: fc.constantFrom(
      "settleDying" as const,
      "unlease" as const,
      "again" as const,
      "requeue" as const,
      "drop" as const,
      "reset" as const,
    ),
    key,
  }),
  arrive: fc.record({ kind: fc.constant("arrive" as const), key, ms }),
  pass: fc.record({ kind: fc.constant("pass" as const), ms }),
  pause: fc.record({ kind: fc.constant("pause" as const) }),
  limit: fc.record({ kind: fc.constant("limit" as const), maxInFlight: fc.integer({ min: 1, max: 5 }) }),
};

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: steps.publish },
  { weight: 6, arbitrary: steps.grant },
  { weight: 7, arbitrary: steps.settle },
  { weight: 5, arbitrary: steps.lane },
  { weight: 1, arbitrary: steps.arrive },
  { weight: 4, arbitrary: steps.pass },
  { weight: 1, arbitrary: steps.pause },
  { weight: 1, arbitrary: steps.limit },
);

export class GroupWorld {
  readonly index = new LaneIndex();
  /** Every lane that ever was, so that one that the index forgot too early is seen. */
  readonly lanes: Lane[] = Array.from({ length: KEYS }, (_, at) => new Lane(`p${at}`, 0));
  nowMs = 1000;
  private paused = false;
  private maxInFlight = 3;
  private nextOffset = 1;
  private nonce = 0;
  private epoch = 0;
  private readonly maxRetentionMs: number;

  constructor(maxRetentionMs: number) {
    this.maxRetentionMs = maxRetentionMs;
  }

  get rules(): WalkRules | null {
    return this.paused ? null : this.activeRules;
  }

  private get activeRules(): WalkRules {
    const { nowMs, maxInFlight, maxRetentionMs } = this;
    return { maxInFlight, maxAttempts: 2, maxRetentionMs, freshAllowed: true, nowMs, logAheadMs: 0 };
  }

  place(lane: Lane): void {
    this.index.place(lane, this.rules, this.nowMs);
  }

  take(next: Step): void {
    switch (next.kind) {
      case "pass":
        this.nowMs += next.ms;
        this.index.advance(this.rules, this.nowMs);
        break;
      case "pause":
        this.paused = !this.paused;
        this.placeAll();
        break;
      case "limit":
        this.maxInFlight = next.maxInFlight;
        this.placeAll();
        break;
      default:
        this.change(this.lanes[next.key] as Lane, next);
    }
  }

  private placeAll(): void {
    for (const lane of [...this.index.lanes.values()]) this.place(lane);
  }

  private change(lane: Lane, next: Exclude<Step, { kind: "pass" | "pause" | "limit" }>): void {
    switch (next.kind) {
      case "publish":
        this.publish(lane, next.count, next.delayMs, next.behind);
        break;
      case "grant":
        this.grant(lane, next.count, SUBSCRIBERS[next.owner] as string);
        break;
      case "arrive":
        this.arrive(lane, next.ms);
        break;
      case "requeue":
        this.index.requeue(lane);
        return;
      case "settleDying":
        for (const { offset } of lane.exceptions.filter((e) => e.state === "dying")) lane.settle(offset);
        break;
      case "unlease":
        lane.setLease(null);
        break;
      case "drop":
        if (lane.window[0]) lane.drop(lane.window[0].offset);
        break;
      case "reset":
        lane.reset(this.nextOffset, false);
        break;
      case "again":
        break;
      default:
        this.settle(lane, next.kind, next.which, next.ms);
    }
    this.place(lane);
  }

  private publish(lane: Lane, count: number, delayMs: number | null, behind: boolean): void {
    for (let more = 0; more < count; more += 1) {
      const entry = {
        offset: this.nextOffset,
        bodyBytes: 10,
        dueAtMs: this.nowMs + (delayMs ?? 0),
        delayed: delayMs !== null,
      };
      this.nextOffset += 1;
      lane.extendWindow([entry], MAX_WINDOW);
    }
    lane.behind = behind;
  }

  private arrive(lane: Lane, delayMs: number): void {
    if (lane.walkedOffset === 0) return;
    const dueAtMs = this.nowMs + delayMs;
    lane.arrive({ offset: lane.walkedOffset, bodyBytes: 10, dueAtMs, delayed: true }, MAX_WINDOW);
  }

  private grant(lane: Lane, count: number, subscriber: string): void {
    const { grants, deferred } = walk(lane, this.activeRules, count);
    if (grants.length === 0) return;
    if (lane.lease?.subscriber !== subscriber) {
      this.epoch += 1;
      lane.setLease({ subscriber, epoch: this.epoch, acquiredAtMs: this.nowMs });
    }
    this.nonce += 1;
    const terms = { nonce: `n${this.nonce}`, subscriber, epoch: this.epoch };
    const visibleUntilMs = this.nowMs + 100;
    for (const { offset, bodyBytes, dueAtMs, attempt, fresh } of grants) {
      if (fresh) continue;
      lane.except({
        offset,
        bodyBytes,
        dueAtMs,
        state: "inFlight",
        attempt,
        atMs: visibleUntilMs,
        ...terms,
        reason: "",
      });
    }
    const fresh = grants.filter((message) => message.fresh).map((m) => ({ ...m, delayed: false }));
    if (fresh.length === 0) return;
    lane.grantRun({ ...terms, visibleUntilMs }, fresh);
    for (const entry of deferred) if (entry.offset < lane.walkedOffset) lane.except(arrivedException(entry));
  }

  private settle(
    lane: Lane,
    action: "ack" | "nack" | "postpone" | "giveBack" | "reject",
    which: number,
    afterMs: number,
  ): void {
    const unsettled = [
      ...lane.runs.flatMap((run) => run.messages.map(({ offset }) => offset)),
      ...lane.exceptions.map(({ offset }) => offset),
    ].filter((offset) => lane.holderOf(offset) !== null);
    const offset = unsettled[which % Math.max(1, unsettled.length)];
    const holder = offset === undefined ? null : lane.holderOf(offset);
    if (offset === undefined || !holder) return;
    const { attempt, bodyBytes, dueAtMs } = holder;
    const nobody = { offset, bodyBytes, dueAtMs, nonce: "", subscriber: "", epoch: 0, reason: "" };
    const atMs = this.nowMs + afterMs;
    if (action === "ack") lane.settle(offset);
    if (action === "nack") lane.except({ ...nobody, state: "backingOff", attempt, atMs });
    if (action === "postpone") lane.except({ ...nobody, state: "postponed", attempt: 0, atMs });
    if (action === "giveBack") lane.except({ ...nobody, state: "returned", attempt: attempt - 1, atMs: 0 });
    if (action === "reject") lane.except({ ...nobody, state: "dying", attempt, atMs: this.nowMs });
  }
}
