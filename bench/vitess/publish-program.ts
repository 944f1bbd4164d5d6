import { setTimeout as pause } from "node:timers/promises";
import { obeyOrders } from "../load/child-program.ts";
import { MessageSource } from "../load/messages.ts";
import { QueueClient, type Target } from "../load/queue-client.ts";

/** Single publishes at a rate, as a program of its own; what it cannot send in time it leaves out. */
export interface PublishOrder {
  target: Target;
  partitions: number;
  ratePerSecond: number;
}
export type PublishAnswer = { ready: true } | { publishedPerSecond: number };

/** Each carries one publish at a time. */
const CONNECTIONS = 32;
/** Numbers go on over all orders of a topic: none is a duplicate. */
let source: MessageSource | null = null;
let running: Load | null = null;

class Load {
  private readonly clients: QueueClient[] = [];
  private readonly numbers: MessageSource;
  private readonly everyMs: number;
  private readonly startedAtMs = performance.now();
  private published = 0;
  private stopping = false;
  private sending: Promise<void>[] = [];

  constructor(numbers: MessageSource, ratePerSecond: number) {
    this.numbers = numbers;
    this.everyMs = (CONNECTIONS * 1000) / ratePerSecond;
  }

  async start(target: Target): Promise<void> {
    for (let opened = 0; opened < CONNECTIONS; opened++) this.clients.push(await QueueClient.open(target));
    this.sending = this.clients.map((client, place) => this.send(client, place));
    // Seen by `stop`, which waits for them.
    for (const sending of this.sending) sending.catch(() => {});
  }

  /** Returns the rate that was reached. Throws what any publish met. */
  async stop(): Promise<number> {
    const rate = (this.published * 1000) / (performance.now() - this.startedAtMs);
    this.stopping = true;
    await Promise.all(this.sending);
    for (const client of this.clients) client.close();
    return rate;
  }

  private async send(client: QueueClient, place: number): Promise<void> {
    let nextAtMs = performance.now() + (place * this.everyMs) / CONNECTIONS;
    while (!this.stopping) {
      const waitMs = nextAtMs - performance.now();
      if (waitMs > 0) await pause(waitMs);
      if (this.stopping) return;
      await client.publish(this.numbers.batch(1), 1);
      this.published += 1;
      nextAtMs = Math.max(nextAtMs + this.everyMs, performance.now() - this.everyMs);
    }
  }
}

obeyOrders(async (order: PublishOrder | "stop"): Promise<PublishAnswer> => {
  if (order !== "stop") {
    source ??= new MessageSource(order.partitions);
    running = new Load(source, order.ratePerSecond);
    await running.start(order.target);
    return { ready: true };
  }
  if (!running) throw new Error("nothing runs");
  const load = running;
  running = null;
  return { publishedPerSecond: await load.stop() };
});
