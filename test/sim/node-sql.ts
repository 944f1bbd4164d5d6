import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Sql, SqlRow } from "../../src/durable/ports.ts";

type Param = string | number | null | Uint8Array;

/** What the platform allows; a plain SQLite allows far more and would hide a mistake. */
const MAX_PARAMS = 100;
const MAX_SQL_BYTES = 100_000;
const MAX_VALUE_BYTES = 2_000_000;
const MAX_LIKE_PATTERN_BYTES = 50;
const MAX_COMPOUND_SELECTS = 5;
/** Statements kept prepared; the platform keeps some too, so a text that changes with its data is slow there. */
const MAX_CACHED_STATEMENTS = 500;

const TRANSACTION_WORD = /^\s*(?:--[^\n]*\n\s*)*(BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)\b/i;

interface Prepared {
  statement: StatementSync;
  params: number;
}

/** The Sql port over `node:sqlite`, as strict as the platform. `path` defaults to a database in memory. */
export class NodeSql implements Sql {
  private readonly database: DatabaseSync;
  private readonly prepared = new Map<string, Prepared>();
  private inTransaction = false;

  constructor(path = ":memory:") {
    this.database = new DatabaseSync(path, {
      limits: {
        length: MAX_VALUE_BYTES,
        sqlLength: MAX_SQL_BYTES,
        variableNumber: MAX_PARAMS,
        likePatternLength: MAX_LIKE_PATTERN_BYTES,
        compoundSelect: MAX_COMPOUND_SELECTS,
      },
    });
  }

  all(query: string, ...params: Param[]): SqlRow[] {
    return this.prepare(query, params).all(...params) as SqlRow[];
  }

  run(query: string, ...params: Param[]): number {
    if (params.length > 0) return Number(this.prepare(query, params).run(...params).changes);
    // Without parameters the text may hold several statements (a migration); `prepare` would drop all but one.
    refuseTransactionWords(query);
    const before = this.totalChanges();
    this.database.exec(query);
    return this.totalChanges() - before;
  }

  transaction<T>(run: () => T): T {
    if (this.inTransaction) throw new Error("transactions do not nest");
    this.inTransaction = true;
    this.database.exec("BEGIN IMMEDIATE");
    try {
      const result = run();
      if (result instanceof Promise) throw new Error("a transaction is synchronous");
      this.database.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite itself ends the transaction after some failures, a full disk for one.
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
      throw error;
    } finally {
      this.inTransaction = false;
    }
  }

  /** Pages in use, as the platform counts: free pages are not part of it. */
  sizeBytes(): number {
    const pages = this.pragma("page_count") - this.pragma("freelist_count");
    return pages * this.pragma("page_size");
  }

  close(): void {
    this.database.close();
  }

  private pragma(name: "page_count" | "freelist_count" | "page_size"): number {
    const row = this.database.prepare(`PRAGMA ${name}`).get();
    return Number(row?.[name]);
  }

  private totalChanges(): number {
    return Number(this.database.prepare("SELECT total_changes() AS changes").get()?.changes);
  }

  private prepare(query: string, params: readonly Param[]): StatementSync {
    for (const param of params) refuseUnlessBindable(param);
    const prepared = this.prepared.get(query) ?? this.prepareNew(query);
    if (params.length !== prepared.params) {
      throw new Error(`the statement has ${prepared.params} parameters, ${params.length} were bound`);
    }
    return prepared.statement;
  }

  private prepareNew(query: string): Prepared {
    refuseTransactionWords(query);
    const prepared = { statement: this.database.prepare(query), params: countParams(query) };
    if (prepared.params > MAX_PARAMS) throw new Error(`more than ${MAX_PARAMS} bound parameters`);
    if (this.prepared.size >= MAX_CACHED_STATEMENTS) this.prepared.clear();
    this.prepared.set(query, prepared);
    return prepared;
  }
}

function refuseTransactionWords(query: string): void {
  if (TRANSACTION_WORD.test(query)) throw new Error("transactions are the business of `transaction`");
}

/** `?` takes the number after the highest so far, `?N` its own; text in quotes and comments does not count. */
export function countParams(query: string): number {
  let highest = 0;
  for (const [token, numbered] of query.matchAll(/'[^']*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g)) {
    if (!token.startsWith("?")) continue;
    highest = numbered ? Math.max(highest, Number(numbered)) : highest + 1;
  }
  return highest;
}

function refuseUnlessBindable(param: unknown): void {
  if (param === null) return;
  if (typeof param === "number") {
    if (!Number.isFinite(param)) throw new TypeError(`${param} would be bound as NULL or changed`);
    if (Number.isInteger(param) && !Number.isSafeInteger(param)) {
      throw new TypeError(`${param} is beyond 2^53 and would be rounded`);
    }
    return;
  }
  if (typeof param === "string") {
    if (!param.isWellFormed()) throw new TypeError("a lone surrogate would be changed");
    if (Buffer.byteLength(param) > MAX_VALUE_BYTES) throw tooBig();
    return;
  }
  if (param instanceof Uint8Array) {
    if (param.byteLength > MAX_VALUE_BYTES) throw tooBig();
    return;
  }
  throw new TypeError(`a ${typeof param} cannot be bound`);
}

function tooBig(): Error {
  return new Error("string or blob too big: SQLITE_TOOBIG");
}
