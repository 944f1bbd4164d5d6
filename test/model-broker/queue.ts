import type { HeaderValue, SplitMessage } from "../conformance/splitting/split-message.ts";
import type { Connection } from "./connection.ts";

/** queue: one position, that of whoever reads. log: a position for each name, kept a while without a reader. */
export type QueueKind = "queue" | "log";

export interface QueueSpec {
  kind: QueueKind;
  durable: boolean;
  /** Deliveries after which the broker drops a message. */
  deliveryLimit: number;
  /** A mark of who made it; "" for users. */
  owner: string;
}

export interface Policy {
  name: string;
  pattern: RegExp;
  ttlMs?: number;
  maxLength?: number;
}

interface Entry {
  message: SplitMessage;
  appendedAtMs: number;
  state: "open" | "committed" | "aborted" | "dropped";
}

export interface Position {
  /** Everything before it is settled. */
  below: number;
  /** Settled beyond it, ascending. */
  above: number[];
}

interface Cursor {
  below: number;
  above: Set<number>;
  unsettled: Map<number, Consumer>;
  deliveries: Map<number, number>;
  touchedAtMs: number;
}

export interface Consumer {
  readonly queue: Queue;
  readonly cursor: string;
  readonly connection: Connection;
  readonly prefetch: number;
}

export interface Delivery {
  readonly consumer: Consumer;
  readonly offset: number;
  readonly message: SplitMessage;
  /** Somebody had it before and did not settle it. */
  readonly redelivered: boolean;
}

/** A broker's own copy: nobody who gets it can change it for others. */
function frozen(message: SplitMessage): SplitMessage {
  const headers = message.headers.map((header) => Object.freeze(header) as [string, HeaderValue]);
  return Object.freeze({ ...message, headers: Object.freeze(headers) as [string, HeaderValue][] });
}

/** The only position of a queue. */
export const SHARED = "";

/**
 * One queue or log of the model broker. Invariants: an entry's offset is its place in `entries` and never changes;
 * a position is settled entries only; an unsettled delivery belongs to an attached consumer, and goes back when
 * that goes.
 */
export class Queue {
  readonly id: number;
  readonly name: string;
  readonly spec: QueueSpec;
  readonly entries: Entry[] = [];
  readonly consumers = new Set<Consumer>();
  private readonly cursors = new Map<string, Cursor>();
  private readonly retentionMs: number;

  constructor(id: number, name: string, spec: QueueSpec, retentionMs: number, nowMs: number) {
    this.id = id;
    this.name = name;
    this.spec = spec;
    this.retentionMs = retentionMs;
    if (spec.kind === "queue") this.seed(SHARED, { below: 0, above: [] }, nowMs);
  }

  append(
    message: SplitMessage,
    nowMs: number,
    policies: readonly Policy[],
    state: Entry["state"] = "committed",
  ): Entry {
    const entry: Entry = { message: frozen(message), appendedAtMs: nowMs, state };
    this.entries.push(entry);
    for (const { maxLength } of policies) {
      if (maxLength === undefined) continue;
      const waiting = this.entries.filter((each, offset) => each.state === "committed" && this.waits(offset));
      for (const each of waiting.slice(0, Math.max(0, waiting.length - maxLength))) each.state = "dropped";
    }
    return entry;
  }

  /** Null: there is none. */
  position(name: string, nowMs: number): Position | null {
    const cursor = this.cursor(name, nowMs);
    if (cursor) this.advance(cursor);
    return cursor && { below: cursor.below, above: [...cursor.above].sort((a, b) => a - b) };
  }

  /** Sets a position, whatever was there. */
  seed(name: string, { below, above }: Position, nowMs: number): void {
    this.cursors.set(name, {
      below,
      above: new Set(above),
      unsettled: new Map(),
      deliveries: new Map(),
      touchedAtMs: nowMs,
    });
    this.advance(this.cursors.get(name) as Cursor);
  }

  forgetPosition(name: string): boolean {
    return this.cursors.delete(name);
  }

  /** Of one position: what waits and what is delivered and not settled. */
  count(name: string, nowMs: number, policies: readonly Policy[]): { ready: number; unsettled: number } {
    this.expire(nowMs, policies);
    const cursor = this.cursor(name, nowMs);
    if (!cursor) return { ready: this.entries.length, unsettled: 0 };
    this.advance(cursor);
    let ready = 0;
    for (let offset = cursor.below; offset < this.entries.length; offset++) {
      if (this.isFree(cursor, offset) && this.entries[offset]?.state === "committed") ready++;
    }
    return { ready, unsettled: cursor.unsettled.size };
  }

  take(consumer: Consumer, nowMs: number, policies: readonly Policy[]): Delivery | null {
    this.expire(nowMs, policies);
    // A reader without a position begins at the end.
    if (!this.cursor(consumer.cursor, nowMs)) {
      this.seed(consumer.cursor, { below: this.entries.length, above: [] }, nowMs);
    }
    const cursor = this.cursor(consumer.cursor, nowMs) as Cursor;
    cursor.touchedAtMs = nowMs;
    const mine = [...cursor.unsettled.values()].filter((holder) => holder === consumer).length;
    if (mine >= consumer.prefetch) return null;
    for (let offset = cursor.below; offset < this.entries.length; offset++) {
      const entry = this.entries[offset] as Entry;
      if (entry.state === "open") return null;
      if (entry.state !== "committed" || !this.isFree(cursor, offset)) continue;
      const before = cursor.deliveries.get(offset) ?? 0;
      if (before > this.spec.deliveryLimit) {
        entry.state = "dropped";
        continue;
      }
      cursor.deliveries.set(offset, before + 1);
      cursor.unsettled.set(offset, consumer);
      return { consumer, offset, message: entry.message, redelivered: before > 0 };
    }
    return null;
  }

  get positions(): string[] {
    return [...this.cursors.keys()];
  }

  /** What none of these positions has settled, delivered or not. */
  waiting(names: readonly string[]): SplitMessage[] {
    const cursors = names.map((name) => this.cursors.get(name)).filter((cursor) => cursor !== undefined);
    return this.entries.flatMap((entry, offset) => {
      const settled = cursors.some((cursor) => offset < cursor.below || cursor.above.has(offset));
      return entry.state === "committed" && !settled ? [entry.message] : [];
    });
  }

  /** False: it is not this consumer's any more. */
  settle(delivery: Delivery, nowMs: number): boolean {
    const cursor = this.cursor(delivery.consumer.cursor, nowMs);
    if (cursor?.unsettled.get(delivery.offset) !== delivery.consumer) return false;
    cursor.unsettled.delete(delivery.offset);
    cursor.above.add(delivery.offset);
    cursor.touchedAtMs = nowMs;
    this.advance(cursor);
    return true;
  }

  /** IDs of what a consumer held; they wait again. */
  detach(consumer: Consumer): string[] {
    if (!this.consumers.delete(consumer)) return [];
    const cursor = this.cursors.get(consumer.cursor);
    const held: string[] = [];
    for (const [offset, holder] of [...(cursor?.unsettled ?? [])]) {
      if (holder !== consumer) continue;
      cursor?.unsettled.delete(offset);
      held.push((this.entries[offset] as Entry).message.id);
    }
    return held;
  }

  private cursor(name: string, nowMs: number): Cursor | null {
    const cursor = this.cursors.get(name);
    if (!cursor) return null;
    const attended = [...this.consumers].some((consumer) => consumer.cursor === name);
    if (attended) cursor.touchedAtMs = nowMs;
    if (this.spec.kind === "log" && nowMs - cursor.touchedAtMs > this.retentionMs) {
      this.cursors.delete(name);
      return null;
    }
    return cursor;
  }

  private isFree(cursor: Cursor, offset: number): boolean {
    return !cursor.above.has(offset) && !cursor.unsettled.has(offset);
  }

  /** Whether any position has not settled it and nobody holds it. */
  private waits(offset: number): boolean {
    return [...this.cursors.values()].some((cursor) => offset >= cursor.below && this.isFree(cursor, offset));
  }

  private advance(cursor: Cursor): void {
    for (; cursor.below < this.entries.length; cursor.below++) {
      const gone = ["aborted", "dropped"].includes(this.entries[cursor.below]?.state ?? "");
      if (!cursor.above.delete(cursor.below) && !(gone && !cursor.unsettled.has(cursor.below))) return;
    }
  }

  private expire(nowMs: number, policies: readonly Policy[]): void {
    for (const { ttlMs } of policies) {
      if (ttlMs === undefined) continue;
      for (const [offset, entry] of this.entries.entries()) {
        if (entry.state === "committed" && nowMs - entry.appendedAtMs > ttlMs && this.waits(offset)) {
          entry.state = "dropped";
        }
      }
    }
  }
}
