import type { NotifyInput } from "../protocol/tenant-calls.ts";
import { type After, endsWithin, pause } from "./http/deadline.ts";
import { errorFields, logLine } from "./log-line.ts";

/**
 * Hints to tenant objects that topics grew, one coalescer for each isolate: at most one for a tenant and topic every
 * 10 ms, and none while one is under way. What comes meanwhile is merged into the next.
 *
 * The request that finds nobody sending becomes the carrier of its topic and goes on until nothing is pending, in its
 * own `waitUntil`. The platform may end its context at any moment and nobody is told: so a carrier's term ends after
 * 2 s, and the next publish takes over. A carrier that lives on sees that and stops.
 *
 *   idle --hint--> carried --nothing pending--> idle
 *   carried --hint after the carrier's term--> carried by that request, as soon as no call is under way
 *
 * A lost hint costs latency and nothing else, so memory is bounded by losing some.
 */

export type Offsets = NotifyInput["offsets"];

export interface HintPorts {
  /** Rejects when the object was not told within the deadline. */
  notify(tenant: string, input: NotifyInput, deadlineMs: number): Promise<unknown>;
  nowMs(): number;
  after: After;
}

/** The place of a hint, and who keeps the sending alive. */
export interface HintCall {
  tenant: string;
  topic: string;
  waitUntil(work: Promise<unknown>): void;
}

export const HINT_INTERVAL_MS = 10;
export const HINT_DEADLINE_MS = 2000;
export const CARRIER_TERM_MS = 2000;
/** How long a publish is held back for its hint. Longer would make a slow object slow publishing down. */
export const DELIVERY_WAIT_MS = 250;
/** A hint that failed and is still waited for is sent again after this: so a failing object sees few of them. */
export const HINT_RETRY_MS = 100;
/** Topics that are kept in mind; some 200 bytes each. */
export const MAX_HINTED_TOPICS = 5000;
/** Publishes that are told of their hint's delivery; any more wait their time out. */
export const MAX_HINT_WAITERS = 5000;
const FAILURES_LOGGED_EVERY_MS = 1000;

/** Tells one publish that its hint was delivered. */
type Tell = () => void;

/** What one call of `notify` says, and who waits for it. */
interface Hint {
  offsets: Offsets;
  waiters: Set<Tell>;
}

interface TopicHints {
  /** The next hint with offsets, and the next without: as one they would have none. */
  known: Hint | null;
  unknown: Hint | null;
  carrier: { sinceMs: number } | null;
  underWay: { hint: Hint; ended: Promise<unknown>; untilMs: number } | null;
  /** No call before this. */
  nextAtMs: number;
}

export class Hints {
  private readonly ports: HintPorts;
  /** By tenant and topic, least recently hinted first. */
  private readonly topics = new Map<string, TopicHints>();
  private waiting = 0;
  private failures = 0;
  private loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(ports: HintPorts) {
    this.ports = ports;
  }

  get remembered(): number {
    return this.topics.size;
  }

  /** Sends the hint soon. `offsets` null: which they are is not known. */
  hint(call: HintCall, offsets: Offsets): void {
    this.add(call, offsets, null);
  }

  /** Returns when a hint with these offsets was delivered, or when that has taken too long. Never rejects. */
  async hintAndWait(call: HintCall, offsets: Offsets): Promise<void> {
    let tell: Tell = () => {};
    const delivered = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const topic = this.add(call, offsets, this.waiting < MAX_HINT_WAITERS ? tell : null);
    this.waiting += 1;
    // A timer of this request's own: whoever carries the hint may be gone.
    await endsWithin(delivered, DELIVERY_WAIT_MS, this.ports.after);
    this.waiting -= 1;
    for (const hint of [topic.known, topic.unknown, topic.underWay?.hint]) hint?.waiters.delete(tell);
  }

  private add(call: HintCall, offsets: Offsets, tell: Tell | null): TopicHints {
    const topic = this.topicOf(call);
    merge(topic, { offsets, waiters: new Set(tell === null ? [] : [tell]) });
    const nowMs = this.ports.nowMs();
    const termMs = topic.carrier === null ? Number.POSITIVE_INFINITY : nowMs - topic.carrier.sinceMs;
    // After a step back of the clock a dead carrier would seem alive for long.
    if (termMs >= 0 && termMs < CARRIER_TERM_MS) return topic;
    topic.carrier = { sinceMs: nowMs };
    call.waitUntil(this.carry(call, topic, topic.carrier));
    return topic;
  }

  private topicOf({ tenant, topic }: HintCall): TopicHints {
    const key = `${tenant}/${topic}`;
    const known = this.topics.get(key);
    const found = known ?? { known: null, unknown: null, carrier: null, underWay: null, nextAtMs: 0 };
    if (known !== undefined) this.topics.delete(key);
    else if (this.topics.size >= MAX_HINTED_TOPICS) this.forgetOldest();
    this.topics.set(key, found);
    return found;
  }

  /** If it has a living carrier, that still sends what is pending. */
  private forgetOldest(): void {
    const oldest = this.topics.keys().next();
    if (!oldest.done) this.topics.delete(oldest.value);
  }

  private async carry(call: HintCall, topic: TopicHints, carrier: object): Promise<void> {
    while (topic.carrier === carrier) {
      const hint = topic.known ?? topic.unknown;
      if (hint === null) {
        topic.carrier = null;
        return;
      }
      const nowMs = this.ports.nowMs();
      const { underWay } = topic;
      if (underWay !== null && nowMs < underWay.untilMs) {
        // Of a carrier before, which may never end it.
        await endsWithin(underWay.ended, underWay.untilMs - nowMs, this.ports.after);
      } else if (nowMs < topic.nextAtMs) {
        await pause(Math.min(topic.nextAtMs - nowMs, HINT_RETRY_MS), this.ports.after);
      } else {
        if (hint === topic.known) topic.known = null;
        else topic.unknown = null;
        await this.send(call, topic, hint);
      }
    }
  }

  private async send({ tenant, topic: name }: HintCall, topic: TopicHints, hint: Hint): Promise<void> {
    const nowMs = this.ports.nowMs();
    const sent = this.ports.notify(tenant, { topic: name, offsets: hint.offsets }, HINT_DEADLINE_MS).then(
      () => true,
      (error: unknown) => {
        this.noteFailure(error);
        return false;
      },
    );
    const underWay = { hint, ended: sent, untilMs: nowMs + HINT_DEADLINE_MS };
    topic.underWay = underWay;
    topic.nextAtMs = nowMs + HINT_INTERVAL_MS;
    const delivered = await sent;
    if (topic.underWay === underWay) topic.underWay = null;
    if (delivered) {
      for (const tell of hint.waiters) tell();
      return;
    }
    topic.nextAtMs = this.ports.nowMs() + HINT_RETRY_MS;
    if (hint.waiters.size > 0) merge(topic, hint);
  }

  private noteFailure(error: unknown): void {
    this.failures += 1;
    const sinceMs = this.ports.nowMs() - this.loggedAtMs;
    if (sinceMs >= 0 && sinceMs < FAILURES_LOGGED_EVERY_MS) return;
    const { error: name, message } = errorFields(error);
    logLine("warn", "hints-failed", { failures: this.failures, lastError: name, lastMessage: message });
    this.failures = 0;
    this.loggedAtMs = this.ports.nowMs();
  }
}

function merge(topic: TopicHints, hint: Hint): void {
  const which = hint.offsets === null ? "unknown" : "known";
  const pending = topic[which];
  if (pending === null) {
    topic[which] = hint;
    return;
  }
  for (const tell of hint.waiters) pending.waiters.add(tell);
  if (pending.offsets === null || hint.offsets === null) return;
  pending.offsets = {
    lowest: Math.min(pending.offsets.lowest, hint.offsets.lowest),
    highest: Math.max(pending.offsets.highest, hint.offsets.highest),
  };
}
