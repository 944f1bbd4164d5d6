import type { MariaDb } from "../../test/vitess/mariadb.ts";

/** Rows that the server's storage engine was asked for, and told to change. */
export interface DatabaseRows {
  read: number;
  written: number;
}

/** Every way to read a row or an index entry, rows of sorts and of the server's own tables included. */
const READ = /^Handler_read_/;
/** Not Handler_tmp_…, which are rows of the server's temporary tables. */
const WRITTEN = new Set(["Handler_write", "Handler_update", "Handler_delete"]);
const CALIBRATIONS = 8;

/** Of the server's counters by name. Throws when it is not what a MariaDB or MySQL server answers. */
export function rowsOf(counters: Readonly<Record<string, number>>): DatabaseRows {
  const rows = { read: 0, written: 0 };
  for (const [name, count] of Object.entries(counters)) {
    const kind = READ.test(name) ? "read" : WRITTEN.has(name) ? "written" : null;
    if (kind === null) continue;
    if (!Number.isSafeInteger(count) || count < 0) throw new Error(`the counter ${name} is ${count}`);
    rows[kind] += count;
  }
  const isMissing = [...WRITTEN, "Handler_read_key"].some((name) => counters[name] === undefined);
  if (isMissing) throw new Error("the server has no Handler counters");
  return rows;
}

/** The counters over time, without what it takes to ask for them. Counts whatever the whole server does. */
export class DatabaseMeter {
  private readonly mariaDb: MariaDb;
  private readonly ownRows: DatabaseRows;
  private last: DatabaseRows;

  /** Nothing else may be under way. */
  static async open(mariaDb: MariaDb): Promise<DatabaseMeter> {
    const readings: DatabaseRows[] = [];
    for (let reading = 0; reading <= CALIBRATIONS; reading++) readings.push(await readRows(mariaDb));
    return new DatabaseMeter(mariaDb, leastDifference(readings), readings.at(-1) as DatabaseRows);
  }

  private constructor(mariaDb: MariaDb, ownRows: DatabaseRows, last: DatabaseRows) {
    this.mariaDb = mariaDb;
    this.ownRows = ownRows;
    this.last = last;
  }

  /** Since the last call. */
  async take(): Promise<DatabaseRows> {
    const now = await readRows(this.mariaDb);
    const { last, ownRows } = this;
    this.last = now;
    return {
      read: now.read - last.read - ownRows.read,
      written: now.written - last.written - ownRows.written,
    };
  }
}

/** What one reading adds to the next: whatever else it saw only made it more. */
export function leastDifference(readings: readonly DatabaseRows[]): DatabaseRows {
  const least = { read: Number.POSITIVE_INFINITY, written: Number.POSITIVE_INFINITY };
  for (const [place, { read, written }] of readings.entries()) {
    const before = readings[place - 1];
    if (before === undefined) continue;
    least.read = Math.min(least.read, read - before.read);
    least.written = Math.min(least.written, written - before.written);
  }
  if (!Number.isFinite(least.read)) throw new RangeError("a difference needs two readings");
  return least;
}

async function readRows(mariaDb: MariaDb): Promise<DatabaseRows> {
  return rowsOf(await mariaDb.globalStatus("Handler_%"));
}
