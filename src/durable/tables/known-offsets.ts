import type { Sql } from "../ports.ts";
import type { GroupKey } from "./group-key.ts";

export interface KnownChunk {
  lastOffset: number;
  text: string;
}

/** Chunks of the offsets that groups have read above the commit horizon. */
export class KnownOffsetsTable {
  private readonly sql: Sql;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  load(key: GroupKey): KnownChunk[] {
    const rows = this.sql.all(
      `SELECT last_offset, known_offsets FROM queue_known_offsets
       WHERE tenant = ? AND topic = ? AND group_name = ? ORDER BY last_offset`,
      key.tenant,
      key.topic,
      key.group,
    );
    return rows.map((row) => ({ lastOffset: Number(row.last_offset), text: String(row.known_offsets) }));
  }

  save(key: GroupKey, chunk: KnownChunk): void {
    this.sql.run(
      `INSERT INTO queue_known_offsets (tenant, topic, group_name, last_offset, known_offsets)
       VALUES (?, ?, ?, ?, ?)`,
      key.tenant,
      key.topic,
      key.group,
      chunk.lastOffset,
      chunk.text,
    );
  }

  removeThrough(key: GroupKey, offset: number): void {
    this.sql.run(
      `DELETE FROM queue_known_offsets
       WHERE tenant = ? AND topic = ? AND group_name = ? AND last_offset <= ?`,
      key.tenant,
      key.topic,
      key.group,
      offset,
    );
  }

  removeGroup(key: GroupKey): void {
    this.sql.run(
      "DELETE FROM queue_known_offsets WHERE tenant = ? AND topic = ? AND group_name = ?",
      key.tenant,
      key.topic,
      key.group,
    );
  }
}
