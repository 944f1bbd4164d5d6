import type { Filter } from "../../splitting/filter/filter.ts";
import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

export interface RouteRow {
  routeId: number;
  /** "" of the row that counts what the application gets. */
  route: string;
  /** null of that row. */
  filter: Filter | null;
  ttlMs: number;
  startedAtMs: number;
  expiresAtMs: number;
  ended: boolean;
  delivered: number;
}

/** Routes of groups, those that have ended and are still named by pending ranges included. */
export class RoutesTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  load(key: GroupKey): RouteRow[] {
    const rows = this.sql.all(
      `SELECT route_id, route, filter, ttl_ms, started_at_ms, expires_at_ms, ended, delivered
       FROM queue_routes WHERE tenant = ? AND topic = ? AND group_name = ? ORDER BY route_id`,
      key.tenant,
      key.topic,
      key.group,
    );
    return rows.map((row) => ({
      routeId: Number(row.route_id),
      route: String(row.route),
      filter: row.filter === "" ? null : (JSON.parse(String(row.filter)) as Filter),
      ttlMs: Number(row.ttl_ms),
      startedAtMs: Number(row.started_at_ms),
      expiresAtMs: Number(row.expires_at_ms),
      ended: Number(row.ended) === 1,
      delivered: Number(row.delivered),
    }));
  }

  save(key: GroupKey, row: RouteRow): void {
    this.sql.run(
      `INSERT OR REPLACE INTO queue_routes (tenant, topic, group_name, route_id, route, filter, ttl_ms,
         started_at_ms, expires_at_ms, ended, delivered) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key.tenant,
      key.topic,
      key.group,
      row.routeId,
      row.route,
      row.filter === null ? "" : JSON.stringify(row.filter),
      row.ttlMs,
      row.startedAtMs,
      row.expiresAtMs,
      row.ended ? 1 : 0,
      row.delivered,
    );
  }

  remove(key: GroupKey, routeId: number): void {
    this.sql.run(
      "DELETE FROM queue_routes WHERE tenant = ? AND topic = ? AND group_name = ? AND route_id = ?",
      key.tenant,
      key.topic,
      key.group,
      routeId,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_routes WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}
