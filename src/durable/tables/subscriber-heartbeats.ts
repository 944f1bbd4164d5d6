import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

export interface Heartbeat {
  subscriber: string;
  beatAtMs: number;
  expiresAtMs: number;
  /** The route that it is attached to; 0: none. */
  routeId: number;
}

/** Live subscribers. */
export class SubscriberHeartbeatsTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  load(key: GroupKey): Heartbeat[] {
    const rows = this.sql.all(
      `SELECT subscriber, beat_at_ms, expires_at_ms, route_id FROM queue_subscriber_heartbeats
       WHERE tenant = ? AND topic = ? AND group_name = ?`,
      key.tenant,
      key.topic,
      key.group,
    );
    return rows.map((row) => ({
      subscriber: String(row.subscriber),
      beatAtMs: Number(row.beat_at_ms),
      expiresAtMs: Number(row.expires_at_ms),
      routeId: Number(row.route_id),
    }));
  }

  save(key: GroupKey, beat: Heartbeat): void {
    this.sql.run(
      `INSERT OR REPLACE INTO queue_subscriber_heartbeats
         (tenant, topic, group_name, subscriber, beat_at_ms, expires_at_ms, route_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      key.tenant,
      key.topic,
      key.group,
      beat.subscriber,
      beat.beatAtMs,
      beat.expiresAtMs,
      beat.routeId,
    );
  }

  remove(key: GroupKey, subscriber: string): void {
    this.sql.run(
      "DELETE FROM queue_subscriber_heartbeats WHERE tenant = ? AND topic = ? AND group_name = ? AND subscriber = ?",
      key.tenant,
      key.topic,
      key.group,
      subscriber,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_subscriber_heartbeats WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}
