import { randomBytes } from "node:crypto";
import type { ConnectionPool } from "./connection-pool.ts";
import type { GatewayLimits } from "./limits.ts";
import type { MysqlConnection } from "./mysql-connection.ts";
import { kill } from "./statement-runner.ts";

// A transaction is
//   opened by BEGIN, without a connection (as in Vitess, whose router begins at the first statement);
//   given a connection by its first statement, on which its BEGIN runs first;
//   busy while one statement runs, of one request;
//   ended by COMMIT, ROLLBACK, the limit, a broken connection, a deadlock, or a statement that commits by itself.
// Ended ones are remembered for a while, so that whoever goes on with one learns why it ended.

const ENDED_KEPT = 1000;
const KEY_BYTES = 24;
const NANOSECONDS_PER_MS = 1_000_000n;

export interface TransactionConnection {
  pool: ConnectionPool;
  connection: MysqlConnection;
}

export class Transaction {
  /** What the session holds: nobody guesses it. */
  readonly key = randomBytes(KEY_BYTES).toString("base64url");
  /** For people; in messages. */
  readonly id: string;
  readonly beginSql: string;
  used: TransactionConnection | null = null;
  busy = false;
  /** Why it is over; null while it is open. */
  endedBecause: string | null = null;
  timer: NodeJS.Timeout | undefined;

  constructor(id: string, beginSql: string) {
    this.id = id;
    this.beginSql = beginSql;
  }
}

/** The transactions of all sessions, bounded in number and in time. */
export class Transactions {
  readonly #limits: GatewayLimits;
  readonly #open = new Map<string, Transaction>();
  readonly #ended = new Map<string, Transaction>();
  #nextId = BigInt(Date.now()) * NANOSECONDS_PER_MS;

  constructor(limits: GatewayLimits) {
    this.#limits = limits;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** null when there are too many. */
  begin(beginSql: string): Transaction | null {
    if (this.#open.size >= this.#limits.maxTransactions) return null;
    const transaction = new Transaction(String(this.#nextId++), beginSql);
    this.#open.set(transaction.key, transaction);
    const { transactionMs } = this.#limits;
    const why = `exceeded timeout: ${transactionMs / 1000}s`;
    transaction.timer = setTimeout(() => this.#abort(transaction, why), transactionMs);
    return transaction;
  }

  /** Open or ended; null when it was never there or is long forgotten. */
  find(key: string): Transaction | null {
    return this.#open.get(key) ?? this.#ended.get(key) ?? null;
  }

  /** Over; its connection goes back. It must be spoiled if it may still hold the transaction. */
  end(transaction: Transaction, why: string): void {
    const { used } = transaction;
    if (!this.#markEnded(transaction, why)) return;
    if (used) used.pool.release(used.connection);
  }
  /** Rolls all back. */
  close(): void {
    for (const transaction of [...this.#open.values()]) {
      this.#abort(transaction, "unlocked closed connection");
    }
  }

  /** The connection goes with it: what it held is rolled back by the server, busy or not. */
  #abort(transaction: Transaction, why: string): void {
    const { used, busy } = transaction;
    this.#markEnded(transaction, why);
    if (!used) return;
    used.connection.spoiled = true;
    const giveBack = () => {
      used.connection.destroy();
      used.pool.release(used.connection);
    };
    // A closed connection does not stop a statement, and until that ends its locks stay.
    if (busy) void kill(used.pool, used.connection, "CONNECTION").then(giveBack);
    else giveBack();
  }

  /** False when it was over already. */
  #markEnded(transaction: Transaction, why: string): boolean {
    if (transaction.endedBecause !== null) return false;
    clearTimeout(transaction.timer);
    transaction.endedBecause = `ended at ${utc(Date.now())} UTC (${why})`;
    transaction.used = null;
    this.#open.delete(transaction.key);
    this.#ended.set(transaction.key, transaction);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= ENDED_KEPT) break;
      this.#ended.delete(oldest);
    }
    return true;
  }
}

/** As Vitess writes an instant. */
function utc(nowMs: number): string {
  return new Date(nowMs).toISOString().replace("T", " ").replace("Z", "");
}
