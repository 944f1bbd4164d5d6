import type { StoredMessage } from "../../src/log/message-log.ts";
import { logUnreachable } from "./gated-log.ts";

/** What surrounds a database outside the object: its clock, and how long its statements take. */
export interface DatabaseWorld {
  /** The database's own clock, whole milliseconds. It may step in either direction. */
  nowMs(): number;
  /** A clock that never steps: only its differences mean anything. */
  trueMs(): number;
  /** What will happen to an insert that begins now. */
  drawFate(): InsertFate;
  wait(delayMs: number): Promise<void>;
  /** Between two statements of one call: rejects when the call ends there. */
  betweenStatements(): Promise<void>;
}

export interface InsertFate {
  /** So long after its offsets were given it commits, unless it waits longer for another insert. */
  openMs: number;
  /** It is rolled back instead. */
  fails: boolean;
}

export type Inserted =
  | { kind: "stored"; rows: readonly StoredMessage[]; tookMs: number }
  /** One of its names is stored. */
  | { kind: "duplicate" }
  /** One of its offsets is taken. */
  | { kind: "collision" }
  | { kind: "deadlock" };

export interface ClockReading {
  /** Microseconds since 2020-01-01. */
  micros: number;
  nowMs: number;
}

const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);
/** Between two readings within a millisecond: less than a large batch is long, so that some inserts collide. */
const CLOCK_STEP_MICROS = 40;

/** The lowest offset that can have been given at that time of the database's clock. */
export function offsetAtMs(atMs: number): number {
  return (atMs - OFFSET_EPOCH_MS) * 1000;
}

/** One clock for all tables: readings within a millisecond differ, and go back only when it steps back. */
export class DatabaseClock {
  private readonly world: DatabaseWorld;
  private last: ClockReading | null = null;

  constructor(world: DatabaseWorld) {
    this.world = world;
  }

  read(): ClockReading {
    const nowMs = this.world.nowMs();
    const steppedBack = this.last !== null && nowMs < this.last.nowMs;
    const least = this.last === null || steppedBack ? 0 : this.last.micros + CLOCK_STEP_MICROS;
    this.last = { micros: Math.max(offsetAtMs(nowMs), least), nowMs };
    return this.last;
  }
}

/** An insert between its first row and its commit: it holds its names, and nobody sees its rows. */
class OpenInsert {
  waitingFor: OpenInsert | null = null;
  readonly ended: Promise<void>;
  end: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  isWaitedForBy(other: OpenInsert): boolean {
    for (let at: OpenInsert | null = other; at !== null; at = at.waitingFor) if (at === this) return true;
    return false;
  }
}

/** The messages of one tenant's topic. Rows are in the order of their offsets, and are seen when they are committed. */
export class LateTable {
  readonly rows: StoredMessage[] = [];
  /** Changes with every change of the rows. */
  version = 0;
  private readonly byName = new Map<string, StoredMessage>();
  private readonly openNames = new Map<string, OpenInsert>();
  private readonly openOffsets = new Set<number>();
  private readonly world: DatabaseWorld;
  private readonly clock: DatabaseClock;
  private readonly killAfterMs: number;

  constructor(world: DatabaseWorld, clock: DatabaseClock, killAfterMs: number) {
    this.world = world;
    this.clock = clock;
    this.killAfterMs = killAfterMs;
  }

  find(row: { partitionKey: string; id: string; origin: string }): StoredMessage | undefined {
    return this.byName.get(nameOf(row));
  }

  at(offset: number): StoredMessage | undefined {
    const row = this.rows[this.placeOf(offset)];
    return row?.offset === offset ? row : undefined;
  }

  /** The place of the first row at or above an offset. */
  placeOf(offset: number): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.rows[middle]?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Rows above one offset and up to another. */
  between(afterOffset: number, throughOffset: number): StoredMessage[] {
    const first = this.placeOf(afterOffset + 1);
    return this.rows.slice(first, Math.max(first, this.placeOf(throughOffset + 1)));
  }

  /** Both ends included. Rows that are not committed yet are not met. */
  remove(first: number, last: number): number {
    const from = this.placeOf(first);
    const removed = this.rows.splice(from, Math.max(0, this.placeOf(last + 1) - from));
    for (const row of removed) this.byName.delete(nameOf(row));
    if (removed.length > 0) this.version += 1;
    return removed.length;
  }

  /**
   * One INSERT: `rowsAt` makes its rows from the clock at its beginning, then it takes each row's name in turn,
   * waits for whoever holds it, stays open for a while and commits all rows at once. Rejects when it was rolled back.
   */
  async insert(rowsAt: (at: ClockReading) => StoredMessage[]): Promise<Inserted> {
    const startMs = this.world.trueMs();
    const fate = this.world.drawFate();
    const rows = rowsAt(this.clock.read());
    if (rows.some(({ offset }) => this.openOffsets.has(offset) || this.at(offset) !== undefined)) {
      return { kind: "collision" };
    }
    const insert = new OpenInsert();
    for (const { offset } of rows) this.openOffsets.add(offset);
    try {
      for (const row of rows) {
        const refused = await this.takeName(insert, nameOf(row));
        if (refused) return refused;
      }
      const leftMs = fate.openMs - (this.world.trueMs() - startMs);
      if (leftMs > 0 && rows.length > 0) await this.world.wait(leftMs);
      const tookMs = this.world.trueMs() - startMs;
      if (fate.fails || tookMs > this.killAfterMs) throw logUnreachable();
      for (const row of rows) this.store(row);
      return { kind: "stored", rows, tookMs };
    } finally {
      this.release(insert, rows);
    }
  }

  /** Null once it is held. A holder ends in time, since it is killed otherwise. */
  private async takeName(insert: OpenInsert, name: string): Promise<Inserted | null> {
    for (;;) {
      if (this.byName.has(name)) return { kind: "duplicate" };
      const holder = this.openNames.get(name);
      if (!holder) break;
      if (insert.isWaitedForBy(holder)) return { kind: "deadlock" };
      insert.waitingFor = holder;
      await holder.ended;
      insert.waitingFor = null;
    }
    this.openNames.set(name, insert);
    return null;
  }

  private release(insert: OpenInsert, rows: readonly StoredMessage[]): void {
    for (const row of rows) {
      this.openOffsets.delete(row.offset);
      const name = nameOf(row);
      if (this.openNames.get(name) === insert) this.openNames.delete(name);
    }
    insert.end();
  }

  private store(row: StoredMessage): void {
    this.rows.splice(this.placeOf(row.offset), 0, row);
    this.byName.set(nameOf(row), row);
    this.version += 1;
  }
}

/** No key, ID or origin holds a NUL. */
function nameOf({ partitionKey, id, origin }: { partitionKey: string; id: string; origin: string }): string {
  return `${partitionKey}\0${id}\0${origin}`;
}
