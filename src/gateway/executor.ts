import { type ConnectionPool, PoolExhausted } from "./connection-pool.ts";
import type { GatewayLimits } from "./limits.ts";
import { ConnectError, type MysqlConnection, type WireResult } from "./mysql-connection.ts";
import type { Session } from "./session.ts";
import { newSession } from "./session.ts";
import { statementKind } from "./statement-kind.ts";
import { type RunOutcome, runWithin } from "./statement-runner.ts";
import { type Transaction, Transactions } from "./transactions.ts";
import { mysqlError, statementError, tabletError, type WireError, type WireOrigin } from "./wire-error.ts";

export interface ExecuteReply {
  session: Session;
  result?: WireResult;
  /** Seconds. */
  timing?: number;
  error?: WireError;
}

/** Index of the database that a statement belongs to. Throws when it belongs to none, or to more than one. */
export type Route = (sql: string) => number;

const ERRNO_DEADLOCK = 1213;
const EMPTY: WireResult = {};
const SECOND_MS = 1000;

/** What a run of one statement leads to. */
type Answer = { result: WireResult } | { error: WireError };

/** Runs statements of sessions against the databases. */
export class Executor {
  readonly transactions: Transactions;
  readonly #pools: readonly ConnectionPool[];
  readonly #route: Route;
  readonly #limits: GatewayLimits;
  readonly #user: string;
  #statements = 0;

  constructor(pools: readonly ConnectionPool[], route: Route, limits: GatewayLimits, user: string) {
    this.#pools = pools;
    this.#route = route;
    this.#limits = limits;
    this.#user = user;
    this.transactions = new Transactions(limits);
  }

  /** Statements run for clients, BEGIN and its like included. */
  get statements(): number {
    return this.#statements;
  }

  /** Never rejects for anything that a statement or a database does. */
  async execute(sql: string, session: Session | null): Promise<ExecuteReply> {
    const startMs = performance.now();
    const current = session ?? newSession();
    const transaction = current.vitessSession.transaction;
    const reply = await this.#dispatch(
      sql,
      current,
      transaction ? this.transactions.find(transaction) : null,
    );
    return { ...reply, timing: (performance.now() - startMs) / SECOND_MS };
  }

  async #dispatch(sql: string, session: Session, transaction: Transaction | null): Promise<ExecuteReply> {
    const kind = statementKind(sql);
    const claimed = session.vitessSession.transaction !== undefined;
    if (kind === "connection") {
      return {
        session,
        error: statementError("VT12001: unsupported: statement that changes the connection"),
      };
    }
    // A client whose transaction failed rolls it back before it goes on: that must work, whatever became of it.
    if (kind === "rollback" && (!transaction || transaction.endedBecause !== null)) {
      return { session: outside(session), result: EMPTY };
    }
    if (claimed && !transaction) return { session, error: this.#aborted("0", "not found") };
    if (transaction?.endedBecause) {
      return { session, error: this.#aborted(transaction.id, transaction.endedBecause) };
    }
    if (transaction?.busy) return { session, error: this.#aborted(transaction.id, "in use: for query") };

    if (kind === "begin") return this.#begin(sql, session, transaction);
    if (!transaction) {
      if (kind === "commit") return { session, result: EMPTY };
      if (kind === "savepoint") return { session, error: statementError("no transaction is open") };
      return { session, ...(await this.#runAlone(sql)) };
    }
    if (kind === "commit" || kind === "rollback") return this.#finish(sql, kind, session, transaction);
    return this.#runInside(sql, session, transaction);
  }

  async #begin(sql: string, session: Session, open: Transaction | null): Promise<ExecuteReply> {
    if (open) {
      const committed = await this.#finish("COMMIT", "commit", session, open);
      if (committed.error) return committed;
    }
    const transaction = this.transactions.begin(sql);
    if (!transaction) {
      return {
        session: outside(session),
        error: this.#exhausted("transaction pool connection limit exceeded"),
      };
    }
    return { session: inside(session, transaction), result: EMPTY };
  }

  async #finish(
    sql: string,
    how: "commit" | "rollback",
    session: Session,
    transaction: Transaction,
  ): Promise<ExecuteReply> {
    const { used } = transaction;
    const answer = used ? await this.#runBusy(sql, transaction) : { result: EMPTY };
    // It may hold the transaction still.
    if ("error" in answer && used) used.connection.spoiled = true;
    this.transactions.end(transaction, how === "commit" ? "committed" : "rolled back");
    return { session: outside(session), ...answer };
  }

  async #runInside(sql: string, session: Session, transaction: Transaction): Promise<ExecuteReply> {
    if (!transaction.used) {
      const began = await this.#beginOnDatabase(sql, transaction);
      if (began) return { session, error: began };
    }
    const answer = await this.#runBusy(sql, transaction);
    // A statement may have committed by itself, as DDL does. After an error it is for the client to roll back.
    const over = "result" in answer && transaction.endedBecause !== null;
    return { session: over ? outside(session) : session, ...answer };
  }

  /** Gives a transaction its connection. Returns what went wrong, or null. */
  async #beginOnDatabase(sql: string, transaction: Transaction): Promise<WireError | null> {
    transaction.busy = true;
    try {
      const found = await this.#connect(sql);
      if ("error" in found) return found.error;
      const { pool, connection } = found;
      if (transaction.endedBecause !== null) {
        pool.release(connection);
        return this.#aborted(transaction.id, transaction.endedBecause);
      }
      transaction.used = { pool, connection };
    } finally {
      transaction.busy = false;
    }
    const answer = await this.#runBusy(transaction.beginSql, transaction);
    return "error" in answer ? answer.error : null;
  }

  /** One statement of a transaction that has its connection. */
  async #runBusy(sql: string, transaction: Transaction): Promise<Answer> {
    const { used } = transaction;
    if (!used) return { error: this.#aborted(transaction.id, transaction.endedBecause ?? "not found") };
    const wrong = this.#misrouted(sql, used.pool);
    if (wrong) return { error: wrong };
    transaction.busy = true;
    this.#statements++;
    const outcome = await runWithin(used.pool, used.connection, sql, this.#limits);
    transaction.busy = false;
    const answer = this.#answer(outcome, used.pool);
    if (transaction.endedBecause !== null) {
      // The limit came meanwhile, and may be why the statement failed.
      return "error" in answer ? { error: this.#aborted(transaction.id, transaction.endedBecause) } : answer;
    }
    const deadlocked = outcome.kind === "failed" && outcome.failure.errno === ERRNO_DEADLOCK;
    if (outcome.kind === "done" && outcome.inTransaction === false) {
      this.transactions.end(transaction, "committed");
    } else if (deadlocked) {
      // The server has rolled back, and would run what follows without a transaction.
      this.transactions.end(transaction, "rolled back");
    } else if (used.connection.spoiled) {
      this.transactions.end(transaction, "unlocked closed connection");
    }
    return answer;
  }

  async #runAlone(sql: string): Promise<Answer> {
    const found = await this.#connect(sql);
    if ("error" in found) return found;
    const { pool, connection } = found;
    this.#statements++;
    try {
      return this.#answer(await runWithin(pool, connection, sql, this.#limits), pool);
    } finally {
      pool.release(connection);
    }
  }

  async #connect(
    sql: string,
  ): Promise<{ pool: ConnectionPool; connection: MysqlConnection } | { error: WireError }> {
    const routed = this.#poolOf(sql);
    if ("error" in routed) return routed;
    const { pool } = routed;
    try {
      return { pool, connection: await pool.acquire() };
    } catch (error) {
      if (error instanceof ConnectError) return { error: mysqlError(this.#origin(pool), error.failure) };
      if (error instanceof PoolExhausted) {
        return { error: this.#exhausted(`transaction pool connection limit exceeded: ${error.message}`) };
      }
      throw error;
    }
  }

  #poolOf(sql: string): { pool: ConnectionPool } | { error: WireError } {
    try {
      const index = this.#route(sql);
      const pool = this.#pools[index];
      if (!pool) return { error: statementError(`VT03027: no shard ${index}`) };
      return { pool };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { error: statementError(`VT12001: unsupported: ${why}`) };
    }
  }

  /** A statement of a transaction that belongs to another database than the transaction. */
  #misrouted(sql: string, pool: ConnectionPool): WireError | null {
    if (this.#pools.length === 1 || statementKind(sql) !== "other") return null;
    const routed = this.#poolOf(sql);
    if ("error" in routed) return routed.error;
    return routed.pool === pool ? null : statementError("VT12001: unsupported: transaction over two shards");
  }

  #answer(outcome: RunOutcome, pool: ConnectionPool): Answer {
    const origin = this.#origin(pool);
    switch (outcome.kind) {
      case "done":
        return { result: outcome.result };
      case "failed":
        return { error: mysqlError(origin, outcome.failure) };
      case "too-many-rows":
        return {
          error: tabletError(origin, "Aborted", `Row count exceeded ${this.#limits.maxResultRows}`),
        };
      case "too-many-bytes": {
        const sizes = `${outcome.bytes} vs. ${this.#limits.maxResultBytes}`;
        const what = `grpc: trying to send message larger than max (${sizes})`;
        return { error: tabletError(origin, "ResourceExhausted", what) };
      }
      case "killed": {
        const elapsed = `elapsed time: ${(outcome.elapsedMs / SECOND_MS).toFixed(3)}s`;
        const what = `(errno 2013) due to context deadline exceeded, ${elapsed}, killing query ID ${outcome.threadId}`;
        return { error: tabletError(origin, "Canceled", what) };
      }
    }
  }

  #aborted(id: string, why: string): WireError {
    return tabletError(this.#origin(this.#pools[0]), "Aborted", `transaction ${id}: ${why}`);
  }

  #exhausted(what: string): WireError {
    return tabletError(this.#origin(this.#pools[0]), "ResourceExhausted", what);
  }

  #origin(pool: ConnectionPool | undefined): WireOrigin {
    return { database: pool?.dsn.database ?? "", user: this.#user };
  }
}

function inside(session: Session, transaction: Transaction): Session {
  return {
    ...session,
    vitessSession: { ...session.vitessSession, inTransaction: true, transaction: transaction.key },
  };
}

function outside(session: Session): Session {
  const { inTransaction: _inTransaction, transaction: _transaction, ...rest } = session.vitessSession;
  return { ...session, vitessSession: rest };
}
