import {
  MAX_DELAY_MS,
  MAX_REASON_CHARS,
  MAX_VISIBILITY_TIMEOUT_MS,
  MIN_VISIBILITY_TIMEOUT_MS,
} from "../core/limits.ts";
import { decodeBase64 } from "../protocol/base64.ts";
import { integerIn, type Message, type SettlementStatus } from "./consume-options.ts";
import type { Delivery, Settlement } from "./delivery.ts";

/** What ends a delivery. */
export type Decision = Exclude<Settlement, { action: "extend" }>;

/** The consumer, as a message sees it. */
export interface Holder {
  decide(held: HeldDelivery, decision: Decision): Promise<SettlementStatus>;
  extend(held: HeldDelivery, visibilityTimeoutMs: number): Promise<SettlementStatus>;
}

/** How far into its visibility a delivery is extended. */
const EXTEND_AFTER_PART = 2 / 3;

/**
 * A delivery that a consumer holds.
 *
 *   waiting   its handler has not begun: another of its partition is before it
 *   running   its handler runs, or ran and left it undecided to be given back
 *   decided   `action` is set: its settlement is under way or done
 *
 * `staleAs` is set, and `signal` aborted, once the server said that the delivery ended; then nothing more is sent.
 */
export class HeldDelivery {
  readonly delivery: Delivery;
  readonly message: Message;
  action: Decision["action"] | null = null;
  staleAs: "stale" | "settled" | "invalid" | null = null;
  /** By the client's clock. */
  postponedUntilMs: number | null = null;
  isRunning = false;
  /** An extension of it is under way. */
  isExtending = false;
  /** By the client's clock, as is the next. */
  visibleUntilMs: number;
  extendAtMs: number;
  private readonly controller = new AbortController();

  constructor(delivery: Delivery, holder: Holder, grantedAtMs: number, visibilityTimeoutMs: number) {
    this.delivery = delivery;
    this.visibleUntilMs = grantedAtMs + visibilityTimeoutMs;
    this.extendAtMs = grantedAtMs + visibilityTimeoutMs * EXTEND_AFTER_PART;
    this.message = new HeldMessage(this, holder, this.controller.signal);
  }

  get partitionKey(): string {
    return this.delivery.partitionKey;
  }

  /** Is it this consumer's still, as far as it knows? */
  get isOpen(): boolean {
    return this.action === null && this.staleAs === null;
  }

  /** The server extended it by a request that was sent then. */
  extended(sentAtMs: number, visibilityTimeoutMs: number): void {
    this.visibleUntilMs = sentAtMs + visibilityTimeoutMs;
    this.extendAtMs = sentAtMs + visibilityTimeoutMs * EXTEND_AFTER_PART;
  }

  abort(reason: Error): void {
    this.controller.abort(reason);
  }
}

class HeldMessage implements Message {
  readonly id: string;
  readonly topic: string;
  readonly partitionKey: string;
  readonly offset: number;
  readonly attempt: number;
  readonly body: unknown;
  readonly bytes: Uint8Array | undefined;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly publishedAt: number;
  readonly visibleUntil: number;
  readonly deadLetter: Message["deadLetter"];
  readonly signal: AbortSignal;
  readonly #held: HeldDelivery;
  readonly #holder: Holder;

  constructor(held: HeldDelivery, holder: Holder, signal: AbortSignal) {
    const { delivery } = held;
    this.#held = held;
    this.#holder = holder;
    this.id = delivery.id;
    this.topic = delivery.topic;
    this.partitionKey = delivery.partitionKey;
    this.offset = delivery.offset;
    this.attempt = delivery.attempt;
    this.body = delivery.body;
    this.bytes = delivery.bodyBase64 === undefined ? undefined : bytesOf(delivery.bodyBase64);
    this.contentType = delivery.contentType;
    this.headers = delivery.headers;
    this.publishedAt = delivery.publishedAt;
    this.visibleUntil = delivery.visibleUntil;
    this.deadLetter = delivery.deadLetter;
    this.signal = signal;
  }

  get bodyText(): string | undefined {
    return this.#held.delivery.bodyText;
  }

  ack(): Promise<SettlementStatus> {
    return this.#decide({ receipt: this.#receipt, action: "ack" });
  }

  nack(reason?: string, { delayMs }: { delayMs?: number | undefined } = {}): Promise<SettlementStatus> {
    if (delayMs !== undefined) integerIn("delayMs", delayMs, 0, MAX_DELAY_MS);
    return this.#decide({ receipt: this.#receipt, action: "nack", reason: keptReason(reason), delayMs });
  }

  postpone(delayMs: number): Promise<SettlementStatus> {
    integerIn("delayMs", delayMs, 0, MAX_DELAY_MS);
    return this.#decide({ receipt: this.#receipt, action: "postpone", delayMs });
  }

  reject(reason: string): Promise<SettlementStatus> {
    return this.#decide({ receipt: this.#receipt, action: "reject", reason: keptReason(reason) });
  }

  extend(visibilityTimeoutMs: number): Promise<SettlementStatus> {
    integerIn(
      "visibilityTimeoutMs",
      visibilityTimeoutMs,
      MIN_VISIBILITY_TIMEOUT_MS,
      MAX_VISIBILITY_TIMEOUT_MS,
    );
    this.#refuseSecond("extend");
    return this.#holder.extend(this.#held, visibilityTimeoutMs);
  }

  get #receipt(): string {
    return this.#held.delivery.receipt;
  }

  #decide(decision: Decision): Promise<SettlementStatus> {
    this.#refuseSecond(decision.action);
    return this.#holder.decide(this.#held, decision);
  }

  #refuseSecond(action: string): void {
    const { action: first } = this.#held;
    if (first === null) return;
    throw new Error(`${action}: the message of offset ${this.offset} is decided already, by ${first}`);
  }
}

/** Cut as the server would: a reason of megabytes need not travel. */
export function keptReason(reason: unknown): string | undefined {
  if (reason === undefined) return undefined;
  if (typeof reason !== "string") throw new TypeError("the reason must be a string");
  if (reason.length <= MAX_REASON_CHARS) return reason;
  // No character is longer than two units: what lies beyond is cut in any case.
  return [...reason.slice(0, 2 * MAX_REASON_CHARS)].slice(0, MAX_REASON_CHARS).join("");
}

function bytesOf(base64: string): Uint8Array {
  const bytes = decodeBase64(base64);
  if (bytes === null) throw new TypeError("the server sent a body that is not base64");
  return bytes;
}
