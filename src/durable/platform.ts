import type { Alarm, Chance, Clock, Ports, Sql, SqlRow, Timers } from "./ports.ts";

/** The ports over the platform. `open` reads what can only be read asynchronously, before the first request. */
export class Platform implements Ports {
  readonly sql: Sql;
  readonly clock: Clock = { nowMs: () => Date.now() };
  readonly chance: Chance = { nonce };
  readonly timers: Timers = { after };
  readonly alarm: PlatformAlarm;
  readonly report = report;
  /** Set once the object knows whose it is. */
  announceActive?: (activity: number) => Promise<void>;

  private constructor(storage: DurableObjectStorage, alarm: PlatformAlarm) {
    this.sql = new PlatformSql(storage);
    this.alarm = alarm;
  }

  static async open(storage: DurableObjectStorage): Promise<Platform> {
    return new Platform(storage, new PlatformAlarm(storage, await storage.getAlarm()));
  }
}

/** `ctx.storage.sql` as the commands see it. The platform keeps statements prepared by their text. */
export class PlatformSql implements Sql {
  private readonly storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.storage = storage;
  }

  all(query: string, ...params: (string | number | null | Uint8Array)[]): SqlRow[] {
    return this.storage.sql.exec(query, ...params).toArray() as SqlRow[];
  }

  run(query: string, ...params: (string | number | null | Uint8Array)[]): number {
    // The platform counts index entries too, so only 0 and 1 tell the number of rows.
    const { rowsWritten } = this.storage.sql.exec(query, ...params);
    if (rowsWritten <= 1) return rowsWritten;
    return Number(this.storage.sql.exec("SELECT changes() AS changes").one().changes);
  }

  transaction<T>(run: () => T): T {
    return this.storage.transactionSync(run);
  }

  sizeBytes(): number {
    return this.storage.sql.databaseSize;
  }
}

/**
 * The object's alarm, which the platform reads asynchronously: its time is kept beside it. Whoever handles
 * the alarm says `fired` first, since the platform forgets the alarm when its handler starts.
 */
export class PlatformAlarm implements Alarm {
  private readonly storage: DurableObjectStorage;
  private atMs: number | null;

  constructor(storage: DurableObjectStorage, atMs: number | null) {
    this.storage = storage;
    this.atMs = atMs;
  }

  get(): number | null {
    return this.atMs;
  }

  /** A time that has passed is moved into the future: inside a handler it could stall for ever. */
  set(atMs: number): void {
    const futureMs = Math.max(Math.ceil(atMs), Date.now() + 1);
    this.atMs = futureMs;
    this.storage.setAlarm(futureMs).catch((error: unknown) => {
      // The platform resets an object whose write failed; until then the next check must arm it again.
      this.atMs = null;
      report("setting the alarm", error);
    });
  }

  fired(): void {
    this.atMs = null;
  }
}

function report(where: string, error: unknown): void {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
  const detail = error instanceof Error ? `${error.name}: ${error.message}${cause}` : String(error);
  console.error(JSON.stringify({ level: "error", event: "background-failure", where, error: detail }));
}

function nonce(): string {
  const [bits = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return bits.toString(16).padStart(16, "0");
}

function after(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}
