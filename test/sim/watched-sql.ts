import type { Sql, SqlRow } from "../../src/durable/ports.ts";
import { ObjectGone } from "./object-gone.ts";

type Param = string | number | null | Uint8Array;

/** What an object's host wants to know and decide about each statement. */
export interface SqlWatch {
  /** False once the object crashed. */
  isAlive(): boolean;
  /** Before a statement; throws to make it fail. */
  beforeStatement(): void;
  /** Before a transaction's commit is told; throws to crash after it. */
  afterCommit(): void;
  wrote(query: string, params: readonly Param[]): void;
  rolledBack(): void;
}

/** The object's storage with crash points at each statement and after each commit. */
export class WatchedSql implements Sql {
  private readonly inner: Sql;
  private readonly watch: SqlWatch;

  constructor(inner: Sql, watch: SqlWatch) {
    this.inner = inner;
    this.watch = watch;
  }

  all(query: string, ...params: Param[]): SqlRow[] {
    this.enter();
    return this.inner.all(query, ...params);
  }

  run(query: string, ...params: Param[]): number {
    this.enter();
    const changed = this.inner.run(query, ...params);
    this.watch.wrote(query, params);
    return changed;
  }

  transaction<T>(run: () => T): T {
    this.enter();
    let result: T;
    try {
      result = this.inner.transaction(run);
    } catch (error) {
      this.watch.rolledBack();
      throw error;
    }
    this.watch.afterCommit();
    return result;
  }

  sizeBytes(): number {
    this.enter();
    return this.inner.sizeBytes();
  }

  private enter(): void {
    if (!this.watch.isAlive()) throw new ObjectGone();
    this.watch.beforeStatement();
  }
}
