import type { Sql, SqlRow } from "../../durable/ports.ts";
import type { PartitionCheckpoint, PartitionProgress, PartitionReset } from "../message-log.ts";
import { number, text } from "./row-values.ts";

/** A group name made anew never inherits a reset: a new group begins where it begins. */
const SAVE = `
  INSERT INTO queue_offsets AS kept (tenant, topic, group_name, partition_key, generation, reset_epoch,
    acked_offset, unsettled, acked_above, due_at_ms, due_offset, reset_offset)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
  ON CONFLICT (tenant, topic, group_name, partition_key) DO UPDATE
  SET generation = excluded.generation, reset_epoch = excluded.reset_epoch, acked_offset = excluded.acked_offset,
    unsettled = excluded.unsettled, acked_above = excluded.acked_above,
    due_at_ms = excluded.due_at_ms, due_offset = excluded.due_offset,
    reset_offset = CASE WHEN kept.generation = excluded.generation THEN kept.reset_offset ELSE 0 END
  WHERE (excluded.generation, excluded.reset_epoch, excluded.acked_offset)
        > (kept.generation, kept.reset_epoch, kept.acked_offset)
    OR ((excluded.generation, excluded.reset_epoch, excluded.acked_offset)
        = (kept.generation, kept.reset_epoch, kept.acked_offset)
        AND (excluded.unsettled, excluded.acked_above, excluded.due_at_ms, excluded.due_offset)
        <> (kept.unsettled, kept.acked_above, kept.due_at_ms, kept.due_offset))`;

const SAVE_RESET = `
  INSERT INTO queue_offsets AS kept (tenant, topic, group_name, partition_key, generation, reset_epoch,
    acked_offset, unsettled, acked_above, due_at_ms, due_offset, reset_offset)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '', '', 0, 0, ?7)
  ON CONFLICT (tenant, topic, group_name, partition_key) DO UPDATE
  SET generation = excluded.generation, reset_epoch = excluded.reset_epoch, acked_offset = excluded.acked_offset,
    unsettled = '', acked_above = '', due_at_ms = 0, due_offset = 0, reset_offset = excluded.reset_offset
  WHERE (excluded.generation, excluded.reset_epoch) > (kept.generation, kept.reset_epoch)`;

/** One seek in the messages for each key: how many messages a partition holds does not matter. */
const LIST_KEYS = `
  WITH page AS (
    SELECT partition_key FROM queue_offsets
    WHERE tenant = ?1 AND topic = ?2 AND group_name = ?3 AND partition_key > ?4 ORDER BY partition_key LIMIT ?5
  )
  SELECT page.partition_key, EXISTS (
    SELECT 1 FROM queue_messages AS m INDEXED BY queue_messages_by_partition
    WHERE m.tenant = ?1 AND m.topic = ?2 AND m.partition_key = page.partition_key
  ) AS holds_messages
  FROM page`;

/** Checkpointed progress of groups. */
export class OffsetsTable {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  /** Does nothing when the row is of a later generation or reset, further on, or already the same. */
  save(topic: string, group: string, checkpoint: PartitionCheckpoint): void {
    this.sql.run(
      SAVE,
      this.tenant,
      topic,
      group,
      checkpoint.partitionKey,
      checkpoint.generation,
      checkpoint.resetEpoch,
      checkpoint.ackedOffset,
      checkpoint.unsettled,
      checkpoint.ackedAbove,
      checkpoint.due.dueAtMs,
      checkpoint.due.offset,
    );
  }

  /** Does nothing when the row is of a later generation, or of this reset or a later one. */
  saveReset(topic: string, group: string, reset: PartitionReset): void {
    const { partitionKey, generation, resetEpoch, offset } = reset;
    this.sql.run(SAVE_RESET, this.tenant, topic, group, partitionKey, generation, resetEpoch, offset);
  }

  load(topic: string, group: string, partitionKeys: readonly string[]): PartitionProgress[] {
    const query = `SELECT queue_offsets.*
      FROM json_each(?4) AS wanted CROSS JOIN queue_offsets
      WHERE tenant = ?1 AND topic = ?2 AND group_name = ?3 AND partition_key = wanted.value`;
    return this.sql.all(query, this.tenant, topic, group, JSON.stringify(partitionKeys)).map(progressOf);
  }

  /** Of the rows of this generation; 0 when there are none. */
  highestResetEpoch(topic: string, group: string, generation: number): number {
    const query = `SELECT coalesce(max(reset_epoch), 0) AS highest FROM queue_offsets
      WHERE tenant = ? AND topic = ? AND group_name = ? AND generation = ?`;
    const [row] = this.sql.all(query, this.tenant, topic, group, generation);
    return row ? number(row, "highest") : 0;
  }

  /** Partitions that have a row, in byte order, and whether each holds messages. */
  listKeys(
    topic: string,
    group: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): { partitionKey: string; holdsMessages: boolean }[] {
    // No key is empty, so every key is above "".
    return this.sql
      .all(LIST_KEYS, this.tenant, topic, group, read.afterKey ?? "", read.maxPartitions)
      .map((row) => ({
        partitionKey: text(row, "partition_key"),
        holdsMessages: number(row, "holds_messages") === 1,
      }));
  }

  remove(topic: string, group: string, partitionKeys: readonly string[]): void {
    const query = `DELETE FROM queue_offsets
      WHERE tenant = ? AND topic = ? AND group_name = ? AND partition_key IN (SELECT value FROM json_each(?))`;
    this.sql.run(query, this.tenant, topic, group, JSON.stringify(partitionKeys));
  }

  removeGroup(topic: string, group: string): void {
    const query = "DELETE FROM queue_offsets WHERE tenant = ? AND topic = ? AND group_name = ?";
    this.sql.run(query, this.tenant, topic, group);
  }
}

function progressOf(row: SqlRow): PartitionProgress {
  return {
    partitionKey: text(row, "partition_key"),
    generation: number(row, "generation"),
    resetEpoch: number(row, "reset_epoch"),
    ackedOffset: number(row, "acked_offset"),
    unsettled: text(row, "unsettled"),
    ackedAbove: text(row, "acked_above"),
    due: { dueAtMs: number(row, "due_at_ms"), offset: number(row, "due_offset") },
    resetOffset: number(row, "reset_offset"),
  };
}
