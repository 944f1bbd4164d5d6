import type { Sql } from "../../durable/ports.ts";
import type { PartitionProgress } from "../message-log.ts";
import { number, text } from "./row-values.ts";

/** Checkpointed progress of groups. */
export class OffsetsTable {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  /** Does nothing when the row is of a later generation or reset, further on, or already the same. */
  save(topic: string, group: string, progress: PartitionProgress): void {
    this.sql.run(
      `INSERT INTO queue_offsets AS kept
         (tenant, topic, group_name, partition_key, generation, reset_epoch, acked_offset, acked_above)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (tenant, topic, group_name, partition_key) DO UPDATE
       SET generation = excluded.generation, reset_epoch = excluded.reset_epoch,
         acked_offset = excluded.acked_offset, acked_above = excluded.acked_above
       WHERE (excluded.generation, excluded.reset_epoch, excluded.acked_offset)
             > (kept.generation, kept.reset_epoch, kept.acked_offset)
         OR ((excluded.generation, excluded.reset_epoch, excluded.acked_offset)
             = (kept.generation, kept.reset_epoch, kept.acked_offset)
             AND excluded.acked_above <> kept.acked_above)`,
      this.tenant,
      topic,
      group,
      progress.partitionKey,
      progress.generation,
      progress.resetEpoch,
      progress.ackedOffset,
      progress.ackedAbove,
    );
  }

  load(topic: string, group: string, partitionKeys: readonly string[]): PartitionProgress[] {
    const query = `SELECT partition_key, generation, reset_epoch, acked_offset, acked_above
      FROM json_each(?4) AS wanted CROSS JOIN queue_offsets
      WHERE tenant = ?1 AND topic = ?2 AND group_name = ?3 AND partition_key = wanted.value`;
    return this.sql.all(query, this.tenant, topic, group, JSON.stringify(partitionKeys)).map((row) => ({
      partitionKey: text(row, "partition_key"),
      generation: number(row, "generation"),
      resetEpoch: number(row, "reset_epoch"),
      ackedOffset: number(row, "acked_offset"),
      ackedAbove: text(row, "acked_above"),
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
