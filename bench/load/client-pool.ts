import { QueueClient, type Target } from "./queue-client.ts";

/** Clients for calls that may overlap: made when all are in use, at most `maxClients`. */
export class ClientPool {
  private readonly target: Target;
  private readonly maxClients: number;
  private readonly free: QueueClient[] = [];
  private readonly all: QueueClient[] = [];
  private opening = 0;

  constructor(target: Target, maxClients: number) {
    this.target = target;
    this.maxClients = maxClients;
  }

  /** Opens `count` ahead, so that none is opened in what is measured. */
  async fill(count: number): Promise<void> {
    const clients = await Promise.all(Array.from({ length: count }, () => this.borrow()));
    this.free.push(...clients);
  }

  /** Throws when too many calls are under way: the server does not keep up. */
  async use<T>(call: (client: QueueClient) => Promise<T>): Promise<T> {
    const client = await this.borrow();
    const result = await call(client);
    // A client whose call failed is not used again.
    this.free.push(client);
    return result;
  }

  close(): void {
    for (const client of this.all) client.close();
  }

  private async borrow(): Promise<QueueClient> {
    const free = this.free.pop();
    if (free) return free;
    if (this.all.length + this.opening >= this.maxClients) {
      throw new Error(`${this.maxClients} calls are unanswered at once: the server does not keep up`);
    }
    this.opening += 1;
    try {
      const client = await QueueClient.open(this.target);
      this.all.push(client);
      return client;
    } finally {
      this.opening -= 1;
    }
  }
}
