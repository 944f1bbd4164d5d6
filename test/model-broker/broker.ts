import type { HeaderValue, SplitMessage } from "../conformance/splitting/split-message.ts";
import { Connection, Refused } from "./connection.ts";
import {
  type Consumer,
  type Delivery,
  type Policy,
  type Position,
  Queue,
  type QueueSpec,
  SHARED,
} from "./queue.ts";
import type { ModelProcess, Scheduler } from "./scheduler.ts";

/** How long a log keeps a position that nobody reads by. */
export const POSITION_RETENTION_MS = 7 * 24 * 3600 * 1000;

/** The mark of what no split made. */
export const USERS = "";

export interface QueueView {
  id: number;
  spec: QueueSpec;
  /** Null where the broker does not say. */
  ready: number | null;
  unsettled: number | null;
  /** Of all positions. */
  consumers: { process: string; cursor: string; connection: Connection }[] | null;
}

export interface BrokerWatcher {
  /** Queues and locks that a split made, and positions. */
  created(name: string): void;
  deleted(name: string): void;
  stored(queue: Queue, message: SplitMessage): void;
  settled(process: ModelProcess, queue: Queue, id: string): void;
  /** A connection ended and left these unsettled. */
  interrupted(process: ModelProcess, ids: readonly string[]): void;
}

/**
 * A queue broker in memory: a model for tests, of what RabbitMQ and Kafka have in common and of the traps of both. It
 * has no time and no chance of its own. Everything on it is as durable as a real one's acknowledged writes; only
 * connections die.
 */
export class Broker {
  readonly scheduler: Scheduler;
  readonly policies: Policy[] = [];
  /** Names of which it gives no counts, as a broker with its statistics off or late. */
  readonly silent = new Set<string>();
  /** Names that it refuses to delete. */
  readonly undeletable = new Set<string>();
  private readonly queues = new Map<string, Queue>();
  private readonly connections = new Set<Connection>();
  private readonly locks = new Map<string, { epoch: number; holder: Connection }>();
  private readonly watcher: BrokerWatcher;
  private lastId = 0;

  constructor(scheduler: Scheduler, watcher: BrokerWatcher) {
    this.scheduler = scheduler;
    this.watcher = watcher;
  }

  connect(process: ModelProcess, closed?: () => Error): Connection {
    const connection = new Connection(this, process, closed);
    this.connections.add(connection);
    return connection;
  }

  /** Ends every connection of a process that lives on. */
  cut(process: ModelProcess): void {
    for (const connection of [...this.connections]) if (connection.process === process) connection.end();
  }

  get names(): string[] {
    return [...this.queues.keys(), ...this.locks.keys()];
  }

  queue(name: string): Queue | undefined {
    return this.queues.get(name);
  }

  policiesOf(name: string): Policy[] {
    return this.policies.filter((policy) => policy.pattern.test(name));
  }

  view(name: string, cursor: string): QueueView | null {
    const queue = this.queues.get(name);
    if (!queue) return null;
    if (this.silent.has(name)) {
      return { id: queue.id, spec: queue.spec, ready: null, unsettled: null, consumers: null };
    }
    const consumers = [...queue.consumers].map((each) => ({
      process: each.connection.process.name,
      cursor: each.cursor,
      connection: each.connection,
    }));
    return { id: queue.id, spec: queue.spec, consumers, ...this.count(queue, cursor) };
  }

  create(name: string, spec: QueueSpec): void {
    const existing = this.queues.get(name);
    if (existing) {
      const same = JSON.stringify(existing.spec) === JSON.stringify(spec);
      if (!same) throw new Refused(`${name} exists and is another`);
      return;
    }
    this.queues.set(name, new Queue(++this.lastId, name, spec, POSITION_RETENTION_MS, this.scheduler.nowMs));
    if (spec.owner !== USERS) this.watcher.created(name);
  }

  delete(name: string): void {
    if (this.undeletable.has(name)) throw new Refused(`${name} cannot be deleted`);
    const queue = this.queues.get(name);
    if (!queue) return;
    for (const consumer of [...queue.consumers]) this.cancel(consumer);
    this.queues.delete(name);
    this.watcher.deleted(name);
  }

  lock(name: string, epoch: number, connection: Connection): void {
    const held = this.locks.get(name);
    if (held && held.holder !== connection) {
      if (held.epoch >= epoch) throw new Refused(`${name} is held`);
      held.holder.end();
    }
    this.locks.set(name, { epoch, holder: connection });
    this.watcher.created(name);
  }

  unlock(name: string, connection: Connection): void {
    if (this.locks.get(name)?.holder !== connection)
      throw new Refused(`${name} is not held by this connection`);
    this.locks.delete(name);
    this.watcher.deleted(name);
  }

  holderOf(name: string): Connection | null {
    return this.locks.get(name)?.holder ?? null;
  }

  consume(name: string, cursor: string, prefetch: number, connection: Connection): Consumer {
    const queue = this.existing(name);
    const consumer: Consumer = { queue, cursor, connection, prefetch };
    queue.consumers.add(consumer);
    return consumer;
  }

  cancel(consumer: Consumer): void {
    consumer.queue.detach(consumer);
  }

  take(consumer: Consumer): Delivery | null {
    const { queue } = consumer;
    if (this.queues.get(queue.name) !== queue) throw new Refused(`${queue.name} is gone`);
    if (!queue.consumers.has(consumer)) throw new Refused("cancelled");
    return queue.take(consumer, this.scheduler.nowMs, this.policiesOf(queue.name));
  }

  publish(name: string, message: SplitMessage): boolean {
    const copies = message.headers.filter(([header]) => header === "CC" || header === "BCC");
    const targets = new Set([name, ...copies.flatMap(([, value]) => namesIn(value))]);
    const delivered = { ...message, headers: message.headers.filter(([header]) => header !== "BCC") };
    const queues = [...targets]
      .map((target) => this.queues.get(target))
      .filter((queue) => queue !== undefined);
    for (const queue of queues) this.append(queue, delivered);
    return queues.length > 0;
  }

  /** Into a log, within a transaction that is open until its end is told. */
  publishInTransaction(
    name: string,
    messages: readonly SplitMessage[],
  ): (outcome: "committed" | "aborted") => void {
    const queue = this.existing(name);
    const entries = messages.map((message) => queue.append(message, this.scheduler.nowMs, [], "open"));
    return (outcome) => {
      for (const entry of entries) {
        entry.state = outcome;
        if (outcome === "committed") this.watcher.stored(queue, entry.message);
      }
    };
  }

  settle(delivery: Delivery): boolean {
    const { queue, connection } = delivery.consumer;
    const settled = queue.settle(delivery, this.scheduler.nowMs);
    if (settled) this.watcher.settled(connection.process, queue, delivery.message.id);
    return settled;
  }

  position(name: string, cursor: string): Position | null {
    return this.existing(name).position(cursor, this.scheduler.nowMs);
  }

  commit(name: string, cursor: string, position: Position): void {
    const queue = this.existing(name);
    if ([...queue.consumers].some((consumer) => consumer.cursor === cursor)) {
      throw new Refused(`${name} is read by ${cursor}`);
    }
    if (queue.spec.kind !== "log" || cursor === SHARED) throw new Refused(`${name} keeps no positions`);
    if (!queue.position(cursor, this.scheduler.nowMs)) this.watcher.created(cursor);
    queue.seed(cursor, position, this.scheduler.nowMs);
  }

  forgetPosition(name: string, cursor: string): void {
    if (this.queues.get(name)?.forgetPosition(cursor)) this.watcher.deleted(cursor);
  }

  /** Ends what hangs on a connection. */
  release(connection: Connection): void {
    this.connections.delete(connection);
    const ids: string[] = [];
    for (const queue of this.queues.values()) {
      for (const consumer of [...queue.consumers]) {
        if (consumer.connection === connection) ids.push(...queue.detach(consumer));
      }
    }
    if (ids.length > 0) this.watcher.interrupted(connection.process, ids);
    for (const [name, { holder }] of [...this.locks]) {
      if (holder !== connection) continue;
      this.locks.delete(name);
      this.watcher.deleted(name);
    }
  }

  private append(queue: Queue, message: SplitMessage): void {
    queue.append(message, this.scheduler.nowMs, this.policiesOf(queue.name));
    this.watcher.stored(queue, message);
  }

  private count(queue: Queue, cursor: string): { ready: number; unsettled: number } {
    return queue.count(cursor, this.scheduler.nowMs, this.policiesOf(queue.name));
  }

  private existing(name: string): Queue {
    const queue = this.queues.get(name);
    if (!queue) throw new Refused(`there is no ${name}`);
    return queue;
  }
}

function namesIn(value: HeaderValue): string[] {
  if (typeof value === "string") return [value];
  const list = value !== null && typeof value === "object" && "list" in value ? value.list : [];
  return list.filter((item) => typeof item === "string");
}
