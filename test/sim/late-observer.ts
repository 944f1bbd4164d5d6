import type { StoredMessage } from "../../src/log/message-log.ts";
import type { History, LogRow } from "./history.ts";
import type { LateDatabase } from "./late-database.ts";

/** Notes which messages appear in a log outside the object, and vanish from it. */
export class LateObserver {
  private readonly database: LateDatabase;
  private readonly history: History;
  private readonly present = new Map<StoredMessage, LogRow>();
  private readonly seenVersions = new Map<string, number>();
  private lastLookSeq = 0;

  constructor(database: LateDatabase, history: History) {
    this.database = database;
    this.history = history;
  }

  /** What the object writes into its own rows does not matter here. */
  wrote(_query: string): void {}

  look(): void {
    const notBeforeSeq = this.lastLookSeq;
    const seq = this.history.seq();
    this.lastLookSeq = seq;
    for (const [topic, table] of this.database.tablesOf(this.history.tenant)) {
      if (this.seenVersions.get(topic) === table.version) continue;
      this.seenVersions.set(topic, table.version);
      this.compare(topic, new Set(table.rows), notBeforeSeq, seq);
    }
  }

  private compare(topic: string, rows: ReadonlySet<StoredMessage>, notBeforeSeq: number, seq: number): void {
    for (const row of rows) {
      if (this.present.has(row)) continue;
      const found = logRow(topic, row, notBeforeSeq, seq, this.history.clockMs());
      this.present.set(row, found);
      this.history.rows.push(found);
    }
    for (const [row, found] of this.present) {
      if (found.topic !== topic || rows.has(row)) continue;
      found.vanishedNotBeforeSeq = notBeforeSeq;
      found.vanishedSeq = seq;
      found.vanishedClockMs = this.history.clockMs();
      found.vanishedLogClockMs = this.history.logClockMs();
      this.present.delete(row);
    }
  }
}

function logRow(
  topic: string,
  row: StoredMessage,
  notBeforeSeq: number,
  appearedSeq: number,
  appearedClockMs: number,
): LogRow {
  const { offset, partitionKey, id, origin, targetGroup, publishedAtMs, dueAtMs } = row;
  const { contentType, headers, deadLetter, body } = row;
  return {
    ...{ topic, offset, partitionKey, id, origin, targetGroup, publishedAtMs, dueAtMs },
    ...{ contentType, headers, deadLetter, body },
    notBeforeSeq,
    appearedSeq,
    appearedClockMs,
    vanishedNotBeforeSeq: null,
    vanishedSeq: null,
    vanishedClockMs: 0,
    vanishedLogClockMs: 0,
  };
}
