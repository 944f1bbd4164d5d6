import { setTimeout as pause } from "node:timers/promises";
import { type MessageSource, Seen } from "./messages.ts";
import { QueueClient, type Target } from "./queue-client.ts";

const BATCH = 100;
const WAIT_MS = 1000;
const PRODUCERS = 4;
const SUBSCRIBERS = 4;

export function applicationSubscribers(count: number): FlowSubscriber[] {
  return Array.from({ length: count }, (_, place) => ({ name: `worker-${place}`, route: null }));
}
/** Producers pause above so many unsettled messages, so that the backlog is bounded. */
const MAX_BACKLOG = 10_000;

export interface FlowOptions {
  target: Target;
  group: string;
  source: MessageSource;
  /** Messages a second; null: as fast as they are settled. */
  ratePerSecond: number | null;
  /** Absent: four of the application. */
  subscribers?: readonly FlowSubscriber[];
}

export interface FlowSubscriber {
  name: string;
  /** null: of the application. */
  route: string | null;
}

/**
 * Producers and subscribers of one topic that run at the same time: batches of 100 in, subscribers that
 * each receive and settle in turn. Whatever fails ends it, and `stop` throws it.
 */
export class Flow {
  readonly seen = new Seen();
  private readonly options: FlowOptions;
  private readonly clients: QueueClient[] = [];
  private published = 0;
  private settledMessages = 0;
  private publishing = true;
  private consuming = true;
  private running: Promise<void>[] = [];
  private failure: unknown = null;
  private wakeProducers: (() => void)[] = [];

  constructor(options: FlowOptions) {
    this.options = options;
  }

  get settled(): number {
    return this.settledMessages;
  }

  /** Published and not settled. */
  get backlog(): number {
    return this.published - this.settledMessages;
  }

  /** Producers wait for subscribers. */
  get isFull(): boolean {
    return this.backlog + BATCH > MAX_BACKLOG;
  }

  async start(): Promise<void> {
    const subscribers = this.options.subscribers ?? applicationSubscribers(SUBSCRIBERS);
    for (let opened = 0; opened < PRODUCERS + subscribers.length; opened++) {
      this.clients.push(await QueueClient.open(this.options.target));
    }
    const [producers, consumers] = [this.clients.slice(0, PRODUCERS), this.clients.slice(PRODUCERS)];
    this.running = [
      ...producers.map((client, place) => this.produce(client, place)),
      ...subscribers.map((subscriber, place) =>
        this.consume(consumers[place] as QueueClient, subscriber, place, subscribers.length),
      ),
    ];
    for (const run of this.running) run.catch((error: unknown) => this.fail(error));
  }

  /** Throws what went wrong so far. */
  check(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Ends publishing, lets the subscribers settle what is left, and checks that every message came. */
  async stop(): Promise<void> {
    this.publishing = false;
    this.wake();
    await Promise.allSettled(this.running);
    for (const client of this.clients) client.close();
    this.check();
    if (this.seen.count !== this.published) {
      throw new Error(`${this.published} messages were published and ${this.seen.count} came`);
    }
  }

  private async produce(client: QueueClient, place: number): Promise<void> {
    const { source, ratePerSecond } = this.options;
    const everyMs = ratePerSecond === null ? 0 : (BATCH * PRODUCERS * 1000) / ratePerSecond;
    // Evenly after one another: batches that always meet would be another load than the rate says.
    const firstAtMs = performance.now() + (place * everyMs) / PRODUCERS;
    for (let nextAtMs = firstAtMs; this.publishing; nextAtMs += everyMs) {
      await this.roomForBatch(nextAtMs);
      if (!this.publishing) return;
      // Counted before, so that what is delivered before the reply came never exceeds it.
      this.published += BATCH;
      await client.publish(source.batch(BATCH), BATCH);
    }
  }

  private async roomForBatch(atMs: number): Promise<void> {
    const waitMs = this.options.ratePerSecond === null ? 0 : atMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    while (this.publishing && this.isFull) {
      await new Promise<void>((resolve) => this.wakeProducers.push(resolve));
    }
  }

  private async consume(
    client: QueueClient,
    { name: subscriber, route }: FlowSubscriber,
    place: number,
    subscribers: number,
  ): Promise<void> {
    const { group, ratePerSecond } = this.options;
    const everyMs = ratePerSecond === null ? 0 : (BATCH * subscribers * 1000) / ratePerSecond;
    if (everyMs > 0) await pause((place * everyMs) / subscribers);
    while (this.consuming && (this.publishing || this.backlog > 0)) {
      const startedAtMs = performance.now();
      const { receipts, numbers } = await client.receive(group, subscriber, BATCH, WAIT_MS, route);
      if (receipts.length === 0) continue;
      await client.settle(group, subscriber, receipts);
      this.seen.add(numbers);
      this.settledMessages += receipts.length;
      this.wake();
      // At a given rate it does not come for less than a batch, as at full speed; behind, it does not wait.
      const waitMs = receipts.length === BATCH ? 0 : everyMs - (performance.now() - startedAtMs);
      if (waitMs > 0 && this.publishing) await pause(waitMs);
    }
  }

  private wake(): void {
    for (const wake of this.wakeProducers.splice(0)) wake();
  }

  private fail(error: unknown): void {
    this.failure ??= error;
    this.publishing = false;
    this.consuming = false;
    this.wake();
  }
}
