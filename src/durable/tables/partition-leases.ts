import type { Lease } from "../../core/lane.ts";
import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

/** Who owns which lane. */
export class PartitionLeasesTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  load(key: GroupKey): { partitionKey: string; lease: Lease }[] {
    const rows = this.sql.all(
      `SELECT partition_key, subscriber, epoch, acquired_at_ms FROM queue_partition_leases
       WHERE tenant = ? AND topic = ? AND group_name = ?`,
      key.tenant,
      key.topic,
      key.group,
    );
    return rows.map((row) => ({
      partitionKey: String(row.partition_key),
      lease: {
        subscriber: String(row.subscriber),
        epoch: Number(row.epoch),
        acquiredAtMs: Number(row.acquired_at_ms),
      },
    }));
  }

  save(key: GroupKey, partitionKey: string, lease: Lease): void {
    this.sql.run(
      `INSERT OR REPLACE INTO queue_partition_leases
         (tenant, topic, group_name, partition_key, subscriber, epoch, acquired_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      key.tenant,
      key.topic,
      key.group,
      partitionKey,
      lease.subscriber,
      lease.epoch,
      lease.acquiredAtMs,
    );
  }

  remove(key: GroupKey, partitionKey: string): void {
    this.sql.run(
      "DELETE FROM queue_partition_leases WHERE tenant = ? AND topic = ? AND group_name = ? AND partition_key = ?",
      key.tenant,
      key.topic,
      key.group,
      partitionKey,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_partition_leases WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}
