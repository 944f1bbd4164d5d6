import type { SplitMessage } from "../conformance/splitting/split-message.ts";
import type { Broker, QueueView } from "./broker.ts";
import type { Consumer, Delivery, Position, QueueSpec } from "./queue.ts";
import type { Lane, ModelProcess } from "./scheduler.ts";

/** The connection is gone, asked for or not. Nothing says whether what was under way took effect. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
}

/** The broker said no; nothing changed. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/**
 * One process's connection to the model broker. Every method is a step: one operation, in the order asked. What hangs
 * on a connection (its lock, its consumers and their unsettled deliveries) ends with it, whoever closed it.
 */
export class Connection {
  readonly process: ModelProcess;
  private readonly broker: Broker;
  /** Null: closed. */
  private lane: Lane | null;
  private readonly closeHandlers: (() => void)[] = [];
  /** What a step fails with that the connection's end cut off. */
  private readonly closed: () => Error;

  constructor(broker: Broker, process: ModelProcess, closed: () => Error = () => new ConnectionClosed()) {
    this.broker = broker;
    this.closed = closed;
    this.process = process;
    this.lane = broker.scheduler.lane(process);
    process.onDeath.push(() => this.end());
  }

  get open(): boolean {
    return this.lane !== null;
  }

  onClose(handler: () => void): void {
    this.closeHandlers.push(handler);
  }

  /** Null: there is no such thing. Of `cursor`'s counts. */
  describe(name: string, cursor: string): Promise<QueueView | null> {
    return this.step("describe", () => this.broker.view(name, cursor));
  }

  /** Names of policies that hit, or would hit, a queue of that name. */
  policiesOf(name: string): Promise<string[]> {
    return this.step("policies", () => this.broker.policiesOf(name).map((policy) => policy.name));
  }

  create(label: string, name: string, spec: QueueSpec): Promise<void> {
    return this.step(label, () => this.broker.create(name, spec));
  }

  delete(label: string, name: string): Promise<void> {
    return this.step(label, () => this.broker.delete(name));
  }

  /** Exclusive to this connection, and gone with it. Ends the connection of a holder with a lower epoch. */
  lock(name: string, epoch: number): Promise<void> {
    return this.step("take-fence", () => this.broker.lock(name, epoch, this));
  }

  unlock(name: string): Promise<void> {
    return this.step("delete-fence", () => this.broker.unlock(name, this));
  }

  holderOf(name: string): Promise<Connection | null> {
    return this.step("describe", () => this.broker.holderOf(name));
  }

  consume(name: string, cursor: string, prefetch: number): Promise<Consumer> {
    return this.step("consume", () => this.broker.consume(name, cursor, prefetch, this));
  }

  cancel(consumer: Consumer): Promise<void> {
    return this.step("cancel", () => this.broker.cancel(consumer));
  }

  /** Null: nothing for it just now. */
  take(consumer: Consumer): Promise<Delivery | null> {
    return this.step("take", () => this.broker.take(consumer));
  }

  /** Confirmed when it resolves; false: no queue took it. Copies go to what the headers `CC` and `BCC` name. */
  publish(label: string, name: string, message: SplitMessage): Promise<boolean> {
    return this.step(label, () => this.broker.publish(name, message));
  }

  settle(label: string, delivery: Delivery): Promise<void> {
    return this.step(label, () => {
      if (!this.broker.settle(delivery)) throw new Refused("not this consumer's delivery");
    });
  }

  position(name: string, cursor: string): Promise<Position | null> {
    return this.step("read-position", () => this.broker.position(name, cursor));
  }

  /** Refused while anybody reads by that position. */
  commit(label: string, name: string, cursor: string, position: Position): Promise<void> {
    return this.step(label, () => this.broker.commit(name, cursor, position));
  }

  forgetPosition(label: string, name: string, cursor: string): Promise<void> {
    return this.step(label, () => this.broker.forgetPosition(name, cursor));
  }

  /** By its own process. */
  close(): void {
    this.end();
  }

  /** By anybody, or by chance. */
  end(): void {
    const { lane } = this;
    if (!lane) return;
    this.lane = null;
    this.broker.release(this);
    this.broker.scheduler.drop(lane, this.process.state === "dead" ? undefined : this.closed());
    if (this.process.state !== "dead") for (const handler of this.closeHandlers) handler();
  }

  private step<T>(label: string, effect: () => T): Promise<T> {
    if (!this.lane) return Promise.reject(this.closed());
    return this.broker.scheduler.perform(this.lane, label, effect);
  }
}
