import type { Party } from "../conformance/splitting/probe.ts";
import type { Broker } from "./broker.ts";
import { type Connection, ConnectionClosed, Refused } from "./connection.ts";
import type { Consumer, Delivery } from "./queue.ts";
import type { ModelProcess } from "./scheduler.ts";

const POLL_MS = 40;
const PREFETCH = 3;

/** A consumer in a process of its own: it handles what it gets, or holds it. */
export class ModelParty implements Party {
  private readonly broker: Broker;
  private readonly connection: Connection;
  private readonly consumer: Consumer;
  private readonly holding: Delivery[] = [];
  private hold: number | null;

  private constructor(broker: Broker, connection: Connection, consumer: Consumer, hold: number | null) {
    this.broker = broker;
    this.connection = connection;
    this.consumer = consumer;
    this.hold = hold;
  }

  static async attach(
    broker: Broker,
    process: ModelProcess,
    name: string,
    cursor: string,
    hold: number | null,
  ): Promise<ModelParty> {
    const connection = broker.connect(process);
    const consumer = await connection.consume(name, cursor, hold ?? PREFETCH);
    const party = new ModelParty(broker, connection, consumer, hold);
    void party.go();
    return party;
  }

  held(): string[] {
    return this.holding.map(({ message }) => message.id);
  }

  async goOn(): Promise<void> {
    this.hold = null;
    for (const delivery of this.holding.splice(0)) await this.connection.settle("party-settle", delivery);
  }

  async detach(): Promise<void> {
    this.holding.length = 0;
    this.connection.close();
  }

  private async go(): Promise<void> {
    try {
      while (this.connection.open) await this.turn();
    } catch (error) {
      // Detached, or its queue was deleted under it.
      if (!(error instanceof ConnectionClosed) && !(error instanceof Refused)) throw error;
    }
  }

  private async turn(): Promise<void> {
    const { connection, consumer } = this;
    const delivery = await connection.take(consumer);
    if (delivery && this.hold !== null) this.holding.push(delivery);
    else if (delivery) await connection.settle("party-settle", delivery);
    else await this.broker.scheduler.wait(connection.process, POLL_MS);
  }
}
