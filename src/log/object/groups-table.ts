import type { Sql, SqlRow } from "../../durable/ports.ts";
import type { GroupRecord } from "../message-log.ts";
import { number, numberOrNull, text } from "./row-values.ts";

/** Consumer groups and their settings, tombstones included. */
export class GroupsTable {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  list(topic: string): GroupRecord[] {
    const query = "SELECT * FROM queue_groups WHERE tenant = ? AND topic = ? ORDER BY group_name";
    return this.sql.all(query, this.tenant, topic).map(recordOf);
  }

  /** The groups of all topics. */
  listAll(): { topic: string; record: GroupRecord }[] {
    const query = "SELECT * FROM queue_groups WHERE tenant = ? ORDER BY topic, group_name";
    return this.sql
      .all(query, this.tenant)
      .map((row) => ({ topic: text(row, "topic"), record: recordOf(row) }));
  }

  /** Of the group as it is now; null when it was deleted or never made. */
  liveGeneration(topic: string, group: string): number | null {
    const query = `SELECT generation FROM queue_groups
      WHERE tenant = ? AND topic = ? AND group_name = ? AND deleted_at_ms IS NULL`;
    const [row] = this.sql.all(query, this.tenant, topic, group);
    return row ? number(row, "generation") : null;
  }

  save(topic: string, record: GroupRecord): void {
    const { settings } = record;
    this.sql.run(
      `INSERT OR REPLACE INTO queue_groups (tenant, topic, group_name, generation, visibility_timeout_ms,
         lease_duration_ms, max_in_flight_per_partition, max_attempts, initial_backoff_ms, backoff_multiplier,
         max_backoff_ms, dead_letters, start_from, paused, created_by, start_offset, deleted_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.tenant,
      topic,
      record.group,
      record.generation,
      settings.visibilityTimeoutMs,
      settings.leaseDurationMs,
      settings.maxInFlightPerPartition,
      settings.maxAttempts,
      settings.retry.initialBackoffMs,
      settings.retry.multiplier,
      settings.retry.maxBackoffMs,
      settings.deadLetters ? 1 : 0,
      settings.startFrom,
      settings.paused ? 1 : 0,
      record.createdBy,
      record.startOffset,
      record.deletedAtMs,
    );
  }

  remove(topic: string, group: string): void {
    const query = "DELETE FROM queue_groups WHERE tenant = ? AND topic = ? AND group_name = ?";
    this.sql.run(query, this.tenant, topic, group);
  }
}

function recordOf(row: SqlRow): GroupRecord {
  return {
    group: text(row, "group_name"),
    generation: number(row, "generation"),
    settings: {
      visibilityTimeoutMs: number(row, "visibility_timeout_ms"),
      leaseDurationMs: number(row, "lease_duration_ms"),
      maxInFlightPerPartition: number(row, "max_in_flight_per_partition"),
      maxAttempts: number(row, "max_attempts"),
      retry: {
        initialBackoffMs: number(row, "initial_backoff_ms"),
        multiplier: number(row, "backoff_multiplier"),
        maxBackoffMs: number(row, "max_backoff_ms"),
      },
      deadLetters: number(row, "dead_letters") === 1,
      startFrom: text(row, "start_from") === "latest" ? "latest" : "earliest",
      paused: number(row, "paused") === 1,
    },
    createdBy: text(row, "created_by") === "receive" ? "receive" : "admin",
    startOffset: number(row, "start_offset"),
    deletedAtMs: numberOrNull(row, "deleted_at_ms"),
  };
}
