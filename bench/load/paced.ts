import { setTimeout as pause } from "node:timers/promises";
import { ClientPool } from "./client-pool.ts";
import { type MessageSource, Seen } from "./messages.ts";
import type { QueueClient, Target } from "./queue-client.ts";

const WAIT_MS = 20_000;
const MAX_MESSAGES = 10;
const GROUP = "workers";
const SUBSCRIBER = "worker-0";
/** Opened ahead, and the most: at 200 a second the server may stand still for a second. */
const CLIENTS = 16;
const MAX_CLIENTS = 256;
/** After the last publish, until every message must have come. */
const DRAIN_DEADLINE_MS = 10_000;
const DRAIN_POLL_MS = 5;

export interface PacedOptions {
  ratePerSecond: number;
  warmUpMs: number;
  windowMs: number;
}

export interface PacedFigures {
  /** From just before the publish request to the receive's reply read, in ms, one a message of the window. */
  delaysMs: number[];
  /** The latest that a publish was sent after its planned time, in ms. */
  maxLateMs: number;
}

/**
 * Publishes single messages at an even rate, whatever the answers take, while one receive waits, is answered
 * and is sent again at once; settling goes its own way. Every message must come.
 */
export async function measurePaced(
  target: Target,
  source: MessageSource,
  options: PacedOptions,
): Promise<PacedFigures> {
  const pool = new ClientPool(target, MAX_CLIENTS);
  try {
    await pool.fill(CLIENTS);
    const run = new PacedRun(source, pool);
    const receiving = pool.use((client) => run.receive(client));
    // The failure is seen below, where it is awaited.
    receiving.catch(() => {});
    await run.publishFor(options);
    await Promise.race([run.drained(), receiving]);
    run.end();
    await run.publishOne();
    await receiving;
    return run.figures();
  } finally {
    pool.close();
  }
}

class PacedRun {
  private readonly source: MessageSource;
  private readonly pool: ClientPool;
  private readonly first: number;
  private readonly sentAtMs = new Map<number, number>();
  private readonly seen = new Seen();
  private readonly delaysMs: number[] = [];
  private windowStart = Number.POSITIVE_INFINITY;
  private windowEnd = Number.POSITIVE_INFINITY;
  private maxLateMs = 0;
  private underway = new Set<Promise<void>>();
  private failure: unknown = null;
  private ending = false;

  constructor(source: MessageSource, pool: ClientPool) {
    this.source = source;
    this.first = source.made;
    this.pool = pool;
  }

  async publishFor({ ratePerSecond, warmUpMs, windowMs }: PacedOptions): Promise<void> {
    const startAtMs = performance.now();
    const everyMs = 1000 / ratePerSecond;
    const warmUp = Math.round(warmUpMs / everyMs);
    const total = warmUp + Math.round(windowMs / everyMs);
    this.windowStart = this.first + warmUp;
    this.windowEnd = this.first + total;
    for (let sent = 0; sent < total; sent++) {
      const dueAtMs = startAtMs + sent * everyMs;
      const waitMs = dueAtMs - performance.now();
      if (waitMs > 0) await pause(waitMs);
      if (this.failure !== null) throw this.failure;
      if (sent >= warmUp) this.maxLateMs = Math.max(this.maxLateMs, performance.now() - dueAtMs);
      this.track(this.publishOne());
    }
    await Promise.all(this.underway);
  }

  async publishOne(): Promise<void> {
    await this.pool.use((client) => {
      const number = this.source.made;
      const body = this.source.batch(1);
      this.sentAtMs.set(number, performance.now());
      return client.publish(body, 1);
    });
  }

  async receive(client: QueueClient): Promise<void> {
    while (!this.ending) {
      const { receipts, numbers } = await client.receive(GROUP, SUBSCRIBER, MAX_MESSAGES, WAIT_MS);
      const nowMs = performance.now();
      for (const number of numbers) {
        const sentAtMs = this.sentAtMs.get(number);
        if (sentAtMs === undefined) continue;
        this.sentAtMs.delete(number);
        if (number >= this.windowStart && number < this.windowEnd) this.delaysMs.push(nowMs - sentAtMs);
      }
      this.seen.add(numbers);
      if (receipts.length > 0) this.track(this.settle(receipts));
    }
    await Promise.all(this.underway);
    if (this.failure !== null) throw this.failure;
  }

  /** Until every message sent so far has come. */
  async drained(): Promise<void> {
    const giveUpAtMs = performance.now() + DRAIN_DEADLINE_MS;
    while (this.sentAtMs.size > 0) {
      if (performance.now() > giveUpAtMs) throw new Error(`${this.sentAtMs.size} messages did not come`);
      await pause(DRAIN_POLL_MS);
    }
  }

  /** The receive that waits now is the last one. */
  end(): void {
    this.ending = true;
  }

  figures(): PacedFigures {
    return { delaysMs: this.delaysMs, maxLateMs: this.maxLateMs };
  }

  private async settle(receipts: readonly string[]): Promise<void> {
    await this.pool.use((client) => client.settle(GROUP, SUBSCRIBER, receipts));
  }

  private track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.failure ??= error;
      })
      .finally(() => this.underway.delete(tracked));
    this.underway.add(tracked);
  }
}
