import type { SqlRow } from "../../src/durable/ports.ts";
import type { History, LogRow } from "./history.ts";
import type { NodeSql } from "./node-sql.ts";

/** Notes which messages appear in the log and vanish from it, by reading its rows directly. */
export class LogObserver {
  private readonly sql: NodeSql;
  private readonly history: History;
  private readonly present = new Map<string, LogRow>();
  private stale = false;
  private lastLookSeq = 0;

  constructor(sql: NodeSql, history: History) {
    this.sql = sql;
    this.history = history;
  }

  wrote(query: string): void {
    if (query.includes("queue_messages")) this.stale = true;
  }

  look(): void {
    const notBeforeSeq = this.lastLookSeq;
    const seq = this.history.seq();
    this.lastLookSeq = seq;
    if (!this.stale) return;
    this.stale = false;
    const seen = new Set<string>();
    for (const row of this.sql.all("SELECT * FROM queue_messages ORDER BY tenant, topic, message_offset")) {
      if (row.tenant !== this.history.tenant) {
        this.history.violate("G7", `a row of tenant ${String(row.tenant)} is in the database`);
        continue;
      }
      const name = `${String(row.topic)}\n${String(row.message_offset)}`;
      seen.add(name);
      if (this.present.has(name)) continue;
      const found = logRow(row, notBeforeSeq, seq, this.history.clockMs());
      this.present.set(name, found);
      this.history.rows.push(found);
    }
    for (const [name, row] of this.present) {
      if (seen.has(name)) continue;
      row.vanishedNotBeforeSeq = notBeforeSeq;
      row.vanishedSeq = seq;
      row.vanishedClockMs = this.history.clockMs();
      row.vanishedLogClockMs = this.history.logClockMs();
      this.present.delete(name);
    }
  }
}

function logRow(row: SqlRow, notBeforeSeq: number, appearedSeq: number, appearedClockMs: number): LogRow {
  return {
    topic: String(row.topic),
    offset: Number(row.message_offset),
    partitionKey: String(row.partition_key),
    id: String(row.message_id),
    origin: String(row.origin),
    targetGroup: row.target_group === null ? null : String(row.target_group),
    publishedAtMs: Number(row.published_at_ms),
    dueAtMs: Number(row.due_at_ms),
    contentType: row.content_type === null ? null : String(row.content_type),
    headers: String(row.headers),
    deadLetter: row.dead_letter === null ? null : JSON.parse(String(row.dead_letter)),
    body: row.body as string | Uint8Array,
    notBeforeSeq,
    appearedSeq,
    appearedClockMs,
    vanishedNotBeforeSeq: null,
    vanishedSeq: null,
    vanishedClockMs: 0,
    vanishedLogClockMs: 0,
  };
}
