import { connect } from "@planetscale/database";
import { FairlaneError, fail } from "../../core/failure.ts";
import {
  type DatabaseFailure,
  failureOf,
  fairlaneErrorOf,
  UNAVAILABLE_RETRY_MS,
} from "./database-failure.ts";
import { KnownTopics } from "./known-topics.ts";
import { castValue, exactInteger, type SqlRow } from "./result-rows.ts";
import { formatSql, type SqlParam } from "./sql-text.ts";
import type { Statement } from "./statement.ts";

/** A URL holds user and password; its scheme is https, mysql (taken as https), or http for a gateway nearby. */
export type DatabaseCredentials = { url: string } | { host: string; username: string; password: string };

/** The world outside, as arguments. */
export interface DatabasePorts {
  fetch(input: string, init: RequestInit): Promise<Response>;
  sleep(ms: number): Promise<void>;
  /** From 0 to below 1. */
  chance(): number;
  /** Of a clock that does not go back; only differences count. */
  nowMs(): number;
}

export interface DatabaseLimits {
  readMs: number;
  writeMs: number;
  /** Of an operation with all its statements and retries. */
  totalMs: number;
}

export interface DatabaseOptions {
  ports?: Partial<DatabasePorts>;
  limits?: Partial<DatabaseLimits>;
  /** Told of every statement sent, as it was sent, and how long it took by our clock. Its text holds users' data. */
  observe?: (sql: string, tookMs: number) => void;
}

export interface Executed {
  rows: SqlRow[];
  rowsAffected: number;
  /** 0: none. */
  insertId: number;
  /** By the database's own clock; 0 when it does not say. */
  tookMs: number;
  /** How often it was sent again before it succeeded. */
  retries: number;
}

export type Inserted =
  | { kind: "stored"; executed: Executed }
  | { kind: "duplicate"; key: "primary" | "id" | "unclear"; retries: number };

/** The publish deadline of the edge is 10 s; a read that takes longer than 5 s has lost its receive. */
const DEFAULT_LIMITS: DatabaseLimits = { readMs: 5000, writeMs: 10_000, totalMs: 10_000 };
const MAX_TRIES = 3;
const FIRST_WAIT_MS = 20;

/**
 * A database behind one set of credentials: sends statements through the PlanetScale driver, each with a deadline,
 * and repeats those whose failure allows it. Shared by all tenants of an isolate.
 */
export class Database {
  readonly knownTopics = new KnownTopics();
  readonly ports: DatabasePorts;
  readonly limits: DatabaseLimits;
  private readonly origin: string;
  private readonly authorization: string;
  private readonly observe: ((sql: string, tookMs: number) => void) | null;

  constructor(credentials: DatabaseCredentials, options: DatabaseOptions = {}) {
    const { origin, username, password } = loginOf(credentials);
    this.origin = origin;
    this.authorization = `Basic ${base64OfUtf8(`${username}:${password}`)}`;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.observe = options.observe ?? null;
    this.ports = {
      fetch: (input, init) => fetch(input, init),
      sleep: (ms) => new Promise((wake) => setTimeout(wake, ms)),
      chance: () => Math.random(),
      nowMs: () => performance.now(),
      ...options.ports,
    };
  }

  /** Statements that share one budget of time. */
  operation(): Operation {
    return new Operation(this);
  }

  execute(statement: Statement, params: readonly SqlParam[]): Promise<Executed> {
    return this.operation().execute(statement, params);
  }

  /** One round trip. The driver's connection is made for it alone: it holds a session. */
  async send(sql: string, deadlineMs: number): Promise<Omit<Executed, "retries"> | DatabaseFailure> {
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs)));
    const startedMs = this.ports.nowMs();
    try {
      const connection = connect({
        host: new URL(this.origin).host,
        // The driver would encode them so that other than Latin letters throw.
        username: "",
        password: "",
        fetch: (input, init) => this.fetchWithin(signal, input, init),
        cast: castValue,
      });
      const { rows, rowsAffected, insertId, time } = await connection.execute(sql);
      return {
        rows: rows as SqlRow[],
        rowsAffected,
        insertId: exactInteger(insertId),
        tookMs: time,
      };
    } catch (thrown) {
      // Of ours: a value that cannot be read as what the schema says.
      if (thrown instanceof FairlaneError) throw thrown;
      return failureOf(thrown, signal.aborted);
    } finally {
      this.observe?.(sql, this.ports.nowMs() - startedMs);
    }
  }

  private fetchWithin(
    signal: AbortSignal,
    input: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } | undefined,
  ) {
    const { method = "POST", body, headers } = init ?? {};
    return this.ports.fetch(new URL(new URL(input).pathname, this.origin).toString(), {
      method,
      headers: { ...headers, Authorization: this.authorization },
      ...(body === undefined ? {} : { body }),
      signal,
      // A redirect would carry statements to whoever it names.
      redirect: "manual",
    });
  }
}

/** One method of the log: its statements run one after the other, within one budget of time. */
export class Operation {
  readonly database: Database;
  private readonly endsAtMs: number;

  constructor(database: Database) {
    this.database = database;
    this.endsAtMs = database.ports.nowMs() + database.limits.totalMs;
  }

  /** Rejects with `FairlaneError`. */
  async execute(statement: Statement, params: readonly SqlParam[]): Promise<Executed> {
    const inserted = await this.insert(statement, params);
    if (inserted.kind === "stored") return inserted.executed;
    throw fairlaneErrorOf(inserted, statement.name);
  }

  /** As `execute`, but that a row exists already is an outcome. */
  async insert(statement: Statement, params: readonly SqlParam[]): Promise<Inserted> {
    const sql = formatSql(statement.sql, params);
    for (let retries = 0; ; retries++) {
      const outcome = await this.database.send(sql, this.deadlineMs(statement));
      if (!("kind" in outcome)) return { kind: "stored", executed: { ...outcome, retries } };
      if (outcome.kind === "duplicate") return { kind: "duplicate", key: outcome.key, retries };
      const mayRetry = retries + 1 < MAX_TRIES && isWorthRetrying(outcome, statement);
      if (!mayRetry || !(await this.wait(retries))) throw fairlaneErrorOf(outcome, statement.name);
    }
  }

  /** A short, uneven wait, longer each time; false when the budget does not allow it. */
  async wait(round: number): Promise<boolean> {
    const ms = FIRST_WAIT_MS * 2 ** round * (0.5 + this.database.ports.chance());
    if (this.leftMs() <= ms) return false;
    await this.database.ports.sleep(ms);
    return true;
  }

  private leftMs(): number {
    return this.endsAtMs - this.database.ports.nowMs();
  }

  private deadlineMs(statement: Statement): number {
    const leftMs = this.leftMs();
    if (leftMs <= 0) {
      fail("store-unavailable", "the tenant's database took too long", {
        retryAfterMs: UNAVAILABLE_RETRY_MS,
      });
    }
    const { readMs, writeMs } = this.database.limits;
    return Math.min(leftMs, statement.access === "read" ? readMs : writeMs);
  }
}

function isWorthRetrying(failure: DatabaseFailure, statement: Statement): boolean {
  switch (failure.kind) {
    case "deadlock":
    case "lockWait":
      return true;
    case "unavailable":
      // What hangs is not asked again: that would only add to what it has to do.
      return failure.cause !== "timeout" && statement.isIdempotent;
    default:
      return false;
  }
}

function loginOf(credentials: DatabaseCredentials): { origin: string; username: string; password: string } {
  if (!("url" in credentials)) {
    const { host, username, password } = credentials;
    return { origin: `https://${host}`, username, password };
  }
  const url = new URL(credentials.url);
  return {
    origin: `${url.protocol === "http:" ? "http" : "https"}://${url.host}`,
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}

function base64OfUtf8(plain: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(plain)));
}
