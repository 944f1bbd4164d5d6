import type { Exception, ExceptionState } from "../../core/lane.ts";
import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

/** Messages with a history: one row each. */
export class DeliveryStateTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  /** Ascending by partition key and offset. */
  load(key: GroupKey): { partitionKey: string; routeId: number; exception: Exception }[] {
    const rows = this.sql.all(
      `SELECT partition_key, message_offset, state, attempt, at_ms, nonce, subscriber, epoch, reason, body_bytes, due_at_ms,
         delivered_at_ms, route_id, sorted_by
       FROM queue_delivery_state WHERE tenant = ? AND topic = ? AND group_name = ?
       ORDER BY partition_key, message_offset`,
      key.tenant,
      key.topic,
      key.group,
    );
    return rows.map((row) => ({
      partitionKey: String(row.partition_key),
      routeId: Number(row.route_id),
      exception: {
        offset: Number(row.message_offset),
        state: String(row.state) as ExceptionState,
        attempt: Number(row.attempt),
        atMs: Number(row.at_ms),
        nonce: String(row.nonce),
        subscriber: String(row.subscriber),
        epoch: Number(row.epoch),
        reason: String(row.reason),
        bodyBytes: Number(row.body_bytes),
        dueAtMs: Number(row.due_at_ms),
        ...deliveredAt(Number(row.delivered_at_ms)),
        ...(Number(row.sorted_by) === 0 ? {} : { sortedBy: Number(row.sorted_by) }),
      },
    }));
  }

  save(
    key: GroupKey,
    { partitionKey, routeId }: { partitionKey: string; routeId: number },
    exception: Exception,
  ): void {
    this.sql.run(
      `INSERT OR REPLACE INTO queue_delivery_state (tenant, topic, group_name, partition_key, message_offset,
         state, attempt, at_ms, nonce, subscriber, epoch, reason, body_bytes, due_at_ms, delivered_at_ms, route_id, sorted_by)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key.tenant,
      key.topic,
      key.group,
      partitionKey,
      exception.offset,
      exception.state,
      exception.attempt,
      exception.atMs,
      exception.nonce,
      exception.subscriber,
      exception.epoch,
      exception.reason,
      exception.bodyBytes,
      exception.dueAtMs,
      exception.deliveredAtMs ?? 0,
      routeId,
      exception.sortedBy ?? 0,
    );
  }

  /** Only as long as it is this lane's: it may have gone to another one of the partition. */
  remove(
    key: GroupKey,
    { partitionKey, routeId }: { partitionKey: string; routeId: number },
    offset: number,
  ): void {
    this.sql.run(
      `DELETE FROM queue_delivery_state
       WHERE tenant = ? AND topic = ? AND group_name = ? AND partition_key = ? AND message_offset = ? AND route_id = ?`,
      key.tenant,
      key.topic,
      key.group,
      partitionKey,
      offset,
      routeId,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_delivery_state WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}

function deliveredAt(deliveredAtMs: number): { deliveredAtMs?: number } {
  return deliveredAtMs === 0 ? {} : { deliveredAtMs };
}
