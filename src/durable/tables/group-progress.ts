import type { DuePosition } from "../../log/message-log.ts";
import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

export interface GroupProgress {
  generation: number;
  /** Every entry at or below was scanned. */
  scanOffset: number;
  /** Delayed entries up to here have arrived. */
  due: DuePosition;
  lastEpoch: number;
  resetEpoch: number;
  expired: number;
  dropped: number;
  /** Entries at or below were there when this object began, and may have been settled before. */
  recoverThrough: number;
  /** Every entry at or below was read for certain, see src/core/known-offsets.ts. */
  sureOffset: number;
  /** Read above it since the last chunk of queue_known_offsets, encoded. */
  knownOffsets: string;
}

/** How far each group has read its topic. */
export class GroupProgressTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  load(key: GroupKey): GroupProgress | null {
    const [row] = this.sql.all(
      `SELECT generation, scan_offset, due_at_ms, due_offset, last_epoch, reset_epoch, expired, dropped,
         recover_through, sure_offset, known_offsets
       FROM queue_group_progress WHERE tenant = ? AND topic = ? AND group_name = ?`,
      key.tenant,
      key.topic,
      key.group,
    );
    if (!row) return null;
    return {
      generation: Number(row.generation),
      scanOffset: Number(row.scan_offset),
      due: { dueAtMs: Number(row.due_at_ms), offset: Number(row.due_offset) },
      lastEpoch: Number(row.last_epoch),
      resetEpoch: Number(row.reset_epoch),
      expired: Number(row.expired),
      dropped: Number(row.dropped),
      recoverThrough: Number(row.recover_through),
      sureOffset: Number(row.sure_offset),
      knownOffsets: String(row.known_offsets),
    };
  }

  /** Groups of the tenant that have progress, in order, at most `maxGroups` above `after`. */
  list(tenant: string, after: { topic: string; group: string }, maxGroups: number): GroupKey[] {
    const rows = this.sql.all(
      `SELECT topic, group_name FROM queue_group_progress
       WHERE tenant = ? AND (topic, group_name) > (?, ?) ORDER BY topic, group_name LIMIT ?`,
      tenant,
      after.topic,
      after.group,
      maxGroups,
    );
    return rows.map((row) => ({ tenant, topic: String(row.topic), group: String(row.group_name) }));
  }

  save(key: GroupKey, progress: GroupProgress): void {
    this.sql.run(
      `INSERT OR REPLACE INTO queue_group_progress (tenant, topic, group_name, generation, scan_offset, due_at_ms,
         due_offset, last_epoch, reset_epoch, expired, dropped, recover_through, sure_offset, known_offsets)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key.tenant,
      key.topic,
      key.group,
      progress.generation,
      progress.scanOffset,
      progress.due.dueAtMs,
      progress.due.offset,
      progress.lastEpoch,
      progress.resetEpoch,
      progress.expired,
      progress.dropped,
      progress.recoverThrough,
      progress.sureOffset,
      progress.knownOffsets,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_group_progress WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}
