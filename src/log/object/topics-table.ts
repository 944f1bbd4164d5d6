import type { TopicSettings } from "../../core/settings.ts";
import type { Sql, SqlRow } from "../../durable/ports.ts";
import type { TopicRecord } from "../message-log.ts";
import { number, text } from "./row-values.ts";

/** Topics, their settings, and how far each was collected. */
export class TopicsTable {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  /** null: there is no such topic. */
  collectedOffset(topic: string): number | null {
    const query = "SELECT collected_offset FROM queue_topics WHERE tenant = ? AND topic = ?";
    const [row] = this.sql.all(query, this.tenant, topic);
    return row ? number(row, "collected_offset") : null;
  }

  /** Creates or replaces the settings; what was collected stays known. */
  save(topic: string, settings: TopicSettings): void {
    this.sql.run(
      `INSERT INTO queue_topics (tenant, topic, retention_ms, max_retention_ms, collected_offset)
       VALUES (?, ?, ?, ?, 0)
       ON CONFLICT (tenant, topic) DO UPDATE
       SET retention_ms = excluded.retention_ms, max_retention_ms = excluded.max_retention_ms`,
      this.tenant,
      topic,
      settings.retentionMs,
      settings.maxRetentionMs,
    );
  }

  raiseCollected(topic: string, offset: number): void {
    this.sql.run(
      `UPDATE queue_topics SET collected_offset = ?3
       WHERE tenant = ?1 AND topic = ?2 AND collected_offset < ?3`,
      this.tenant,
      topic,
      offset,
    );
  }

  list(): TopicRecord[] {
    const query = `SELECT topic, retention_ms, max_retention_ms FROM queue_topics
      WHERE tenant = ? ORDER BY topic`;
    return this.sql.all(query, this.tenant).map(recordOf);
  }

  /** null: there is no such topic. */
  load(topic: string): TopicRecord | null {
    const query = `SELECT topic, retention_ms, max_retention_ms FROM queue_topics
      WHERE tenant = ? AND topic = ?`;
    const [row] = this.sql.all(query, this.tenant, topic);
    return row ? recordOf(row) : null;
  }
}

function recordOf(row: SqlRow): TopicRecord {
  return {
    topic: text(row, "topic"),
    settings: { retentionMs: number(row, "retention_ms"), maxRetentionMs: number(row, "max_retention_ms") },
  };
}
