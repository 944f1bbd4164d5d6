/**
 * What the tenant object's commands need of the world. Inside workerd these are the platform
 * (src/durable/platform.ts); in tests and the simulator they are a Node SQLite and a manual clock.
 */

/** Values as SQLite gives them back: blobs are ArrayBuffer in workerd and Uint8Array in Node, see `toBytes`. */
export type SqlValue = string | number | null | ArrayBuffer | Uint8Array;
export type SqlRow = Record<string, SqlValue>;

/**
 * A synchronous SQLite. At most 100 bound parameters a statement, as on the platform; no booleans, no
 * bigints. `transaction` rolls back when `run` throws; it does not nest.
 */
export interface Sql {
  all(query: string, ...params: (string | number | null | Uint8Array)[]): SqlRow[];
  /** Returns how many rows an INSERT, UPDATE or DELETE changed. */
  run(query: string, ...params: (string | number | null | Uint8Array)[]): number;
  transaction<T>(run: () => T): T;
  /** Bytes the database holds. */
  sizeBytes(): number;
}

export interface Clock {
  nowMs(): number;
}

export interface Chance {
  /** 64 random bits as 16 hex digits. */
  nonce(): string;
}

export interface Timers {
  /** Runs `task` once after at least `delayMs`, unless cancelled or the object is evicted. */
  after(delayMs: number, task: () => void): () => void;
}

/** The one alarm of the object. Durable: it fires even after an eviction. */
export interface Alarm {
  get(): number | null;
  set(atMs: number): void;
}

export interface Ports {
  /** A failure in background work: logged by name and error, never with bodies. */
  report(where: string, error: unknown): void;
  sql: Sql;
  clock: Clock;
  chance: Chance;
  timers: Timers;
  alarm: Alarm;
  /**
   * Tells the registry of collections that the object holds something again. Idempotent: a lower number than
   * one told before changes nothing. Absent: nobody asks, and the object never answers idle.
   */
  announceActive?(activity: number): Promise<void>;
}
