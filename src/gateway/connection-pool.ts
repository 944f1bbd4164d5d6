import type { Dsn } from "./dsn.ts";
import { MysqlConnection } from "./mysql-connection.ts";

export interface PoolLimits {
  maxConnections: number;
  maxWaiting: number;
  waitMs: number;
  connectMs: number;
}

/** All connections are in use, and stayed so. The statement was not run. */
export class PoolExhausted extends Error {
  override name = "PoolExhausted";
}

interface Waiter {
  resolve: (connection: MysqlConnection | null) => void;
  timer: NodeJS.Timeout;
}

/**
 * Connections to one database, bounded. Whoever acquires one releases it, whatever happened; what is spoiled does not
 * come back. A freed place goes to the first that waits.
 */
export class ConnectionPool {
  readonly dsn: Dsn;
  readonly #limits: PoolLimits;
  #idle: MysqlConnection[] = [];
  readonly #used = new Set<MysqlConnection>();
  readonly #waiting: Waiter[] = [];
  /** Being opened. */
  #opening = 0;
  #closed = false;

  constructor(dsn: Dsn, limits: PoolLimits) {
    this.dsn = dsn;
    this.#limits = limits;
  }

  get openConnections(): number {
    const idle = this.#idle.filter((connection) => !connection.spoiled).length;
    return idle + this.#used.size + this.#opening;
  }

  get used(): ReadonlySet<MysqlConnection> {
    return this.#used;
  }

  /** Rejects with `PoolExhausted` or `ConnectError`. */
  acquire(): Promise<MysqlConnection> {
    return this.#acquireBy(performance.now() + this.#limits.waitMs);
  }

  async #acquireBy(deadlineMs: number): Promise<MysqlConnection> {
    if (this.#closed) throw new PoolExhausted("the gateway is ending");
    const idle = this.#takeIdle();
    if (idle) return idle;
    if (this.openConnections < this.#limits.maxConnections) return this.#open();
    if (this.#waiting.length >= this.#limits.maxWaiting) throw new PoolExhausted("too many statements wait");
    const handed = await new Promise<MysqlConnection | null>((resolve, reject) => {
      const waiter: Waiter = {
        resolve,
        timer: setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
          reject(new PoolExhausted("no connection became free"));
        }, deadlineMs - performance.now()),
      };
      this.#waiting.push(waiter);
    });
    // null: a place is free, not a connection.
    return handed ?? this.#acquireBy(deadlineMs);
  }

  release(connection: MysqlConnection): void {
    this.#used.delete(connection);
    if (this.#closed || connection.spoiled) connection.destroy();
    const next = connection.spoiled ? null : connection;
    const waiter = this.#waiting.shift();
    if (waiter) {
      clearTimeout(waiter.timer);
      if (next) this.#used.add(next);
      waiter.resolve(next);
    } else if (next) {
      this.#idle.push(next);
    }
  }

  /** A connection beside the pool, so that a full one can be relieved. The caller destroys it. */
  openBeside(): Promise<MysqlConnection> {
    return MysqlConnection.open(this.dsn, this.#limits.connectMs);
  }

  /** Ends the idle ones now and the others when they are released; nobody gets one any more. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
    for (const waiter of this.#waiting.splice(0)) {
      clearTimeout(waiter.timer);
      waiter.resolve(null);
    }
  }

  /** The one used last, which the server has likely not closed for idleness. */
  #takeIdle(): MysqlConnection | null {
    // A server that ended took all of them with it.
    if (this.#idle.at(-1)?.spoiled) this.#idle = this.#idle.filter((connection) => !connection.spoiled);
    const connection = this.#idle.pop();
    if (!connection) return null;
    this.#used.add(connection);
    return connection;
  }

  async #open(): Promise<MysqlConnection> {
    this.#opening++;
    try {
      const connection = await MysqlConnection.open(this.dsn, this.#limits.connectMs);
      if (this.#closed) {
        connection.destroy();
        throw new PoolExhausted("the gateway is ending");
      }
      this.#used.add(connection);
      return connection;
    } catch (error) {
      this.#passPlace();
      throw error;
    } finally {
      this.#opening--;
    }
  }

  /** The place of a connection that could not be made is free again: one that waits may try. */
  #passPlace(): void {
    const waiter = this.#waiting.shift();
    if (!waiter) return;
    clearTimeout(waiter.timer);
    // After the count of those being opened went down.
    queueMicrotask(() => waiter.resolve(null));
  }
}
