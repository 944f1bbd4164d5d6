import type { Sql } from "../../durable/ports.ts";
import type {
  CountRead,
  ListRead,
  OffsetRange,
  PartitionTail,
  StoredEntry,
  StoredMessage,
} from "../message-log.ts";
import {
  BY_PARTITION,
  MESSAGE_COLUMNS,
  STORED_COLUMNS,
  storedEntryOf,
  storedMessageOf,
} from "./message-rows.ts";
import { number, numberOrNull, type SqlParam, text } from "./row-values.ts";

const BY_ID = "queue_messages INDEXED BY queue_messages_by_id";
const MAX_FOUND = 100;

/** Offsets read by one statement, largest first; a shorter list is filled with NULL, which matches nothing. */
const READ_SIZES = [96, 48, 16, 4, 1] as const;
/** A join with VALUES reads one row per message; an IN list reads two. */
const READ_TEXTS = new Map(
  READ_SIZES.map((size) => {
    const values = Array.from({ length: size }, (_, place) => `(?${place + 3})`).join(",");
    return [
      size,
      `SELECT ${MESSAGE_COLUMNS} FROM (VALUES ${values}) AS wanted CROSS JOIN queue_messages
       WHERE tenant = ?1 AND topic = ?2 AND message_offset = wanted.column1`,
    ];
  }),
);

/** Steps from key to key by the index: its cost grows with the partitions returned, not with their entries. */
const LIST_PARTITIONS = `
  WITH RECURSIVE step(partition_key) AS (
    SELECT min(partition_key) FROM ${BY_PARTITION} WHERE tenant = ?1 AND topic = ?2 AND partition_key > ?3
    UNION ALL
    SELECT (SELECT min(m.partition_key) FROM queue_messages AS m INDEXED BY queue_messages_by_partition
            WHERE m.tenant = ?1 AND m.topic = ?2 AND m.partition_key > step.partition_key)
    FROM step WHERE step.partition_key IS NOT NULL LIMIT ?4
  )
  SELECT step.partition_key,
    (SELECT max(m.message_offset) FROM queue_messages AS m INDEXED BY queue_messages_by_partition
     WHERE m.tenant = ?1 AND m.topic = ?2 AND m.partition_key = step.partition_key) AS latest_offset
  FROM step WHERE step.partition_key IS NOT NULL`;

/** The statements that read and delete messages. Scanning them is message-scans.ts, writing them message-insert.ts. */
export class MessagesTable {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  listPartitions(topic: string, afterKey: string | null, maxPartitions: number): PartitionTail[] {
    // No key is empty, so every key is above "".
    return this.sql.all(LIST_PARTITIONS, this.tenant, topic, afterKey ?? "", maxPartitions).map((row) => ({
      partitionKey: text(row, "partition_key"),
      latestOffset: number(row, "latest_offset"),
    }));
  }

  /** `offsets` are distinct. */
  readByOffset(topic: string, offsets: readonly number[]): StoredMessage[] {
    const found: StoredMessage[] = [];
    let next = 0;
    while (next < offsets.length) {
      const left = offsets.length - next;
      const size = READ_SIZES.findLast((candidate) => candidate >= left) ?? READ_SIZES[0];
      const wanted: SqlParam[] = offsets.slice(next, next + size);
      while (wanted.length < size) wanted.push(null);
      const rows = this.sql.all(READ_TEXTS.get(size) ?? "", this.tenant, topic, ...wanted);
      found.push(...rows.map(storedMessageOf));
      next += size;
    }
    return found;
  }

  /** In order of origin: the published message, whose origin is empty, comes first. */
  findById(topic: string, id: string, partitionKey: string): StoredEntry[] {
    const query = `SELECT ${STORED_COLUMNS} FROM ${BY_ID}
      WHERE tenant = ? AND topic = ? AND partition_key = ? AND message_id = ? ORDER BY origin LIMIT ${MAX_FOUND}`;
    return this.sql.all(query, this.tenant, topic, partitionKey, id).map(storedEntryOf);
  }

  list(topic: string, read: ListRead): StoredEntry[] {
    const { afterOffset, maxEntries, partitionKey, fromEnd } = read;
    const order = `ORDER BY message_offset ${fromEnd ? "DESC" : "ASC"}`;
    const rows =
      partitionKey === undefined
        ? this.sql.all(
            `SELECT ${STORED_COLUMNS} FROM queue_messages
             WHERE tenant = ? AND topic = ? AND message_offset > ? ${order} LIMIT ?`,
            this.tenant,
            topic,
            afterOffset,
            maxEntries,
          )
        : this.sql.all(
            `SELECT ${STORED_COLUMNS} FROM ${BY_PARTITION}
             WHERE tenant = ? AND topic = ? AND partition_key = ? AND message_offset > ? ${order} LIMIT ?`,
            this.tenant,
            topic,
            partitionKey,
            afterOffset,
            maxEntries,
          );
    const entries = rows.map(storedEntryOf);
    return fromEnd ? entries.reverse() : entries;
  }

  /** Entries targeted at another group are read past, not counted: a redrive is the only thing that makes them. */
  count(topic: string, read: CountRead): number {
    const conditions = ["tenant = ?", "topic = ?", "message_offset > ?", "message_offset <= ?"];
    const params: SqlParam[] = [
      this.tenant,
      topic,
      read.afterOffset,
      read.throughOffset ?? Number.MAX_SAFE_INTEGER,
    ];
    if (read.partitionKey !== undefined) {
      conditions.push("partition_key = ?");
      params.push(read.partitionKey);
    }
    if (read.forGroup !== undefined) {
      conditions.push("(target_group IS NULL OR target_group = ?)");
      params.push(read.forGroup);
    }
    const table = read.partitionKey === undefined ? "queue_messages" : BY_PARTITION;
    const query = `SELECT count(*) AS entries FROM (
      SELECT message_offset FROM ${table} WHERE ${conditions.join(" AND ")} ORDER BY message_offset LIMIT ?) AS counted`;
    const [row] = this.sql.all(query, ...params, read.maxCount);
    return row ? number(row, "entries") : 0;
  }

  /** null when the topic holds nothing. */
  highestOffset(topic: string): number | null {
    const query = "SELECT max(message_offset) AS highest FROM queue_messages WHERE tenant = ? AND topic = ?";
    const [row] = this.sql.all(query, this.tenant, topic);
    return row ? numberOrNull(row, "highest") : null;
  }

  /** Offsets in a range, ascending. */
  offsetsIn(topic: string, range: OffsetRange, maxEntries: number): number[] {
    const query = `SELECT message_offset FROM queue_messages
      WHERE tenant = ? AND topic = ? AND message_offset BETWEEN ? AND ? ORDER BY message_offset LIMIT ?`;
    return this.sql
      .all(query, this.tenant, topic, range.first, range.last, maxEntries)
      .map((row) => number(row, "message_offset"));
  }

  /** The offset of the `place`-th entry (from 0) at or below `throughOffset`; null if there are fewer. */
  offsetAt(topic: string, throughOffset: number, place: number): number | null {
    const query = `SELECT message_offset FROM queue_messages
      WHERE tenant = ? AND topic = ? AND message_offset <= ? ORDER BY message_offset LIMIT 1 OFFSET ?`;
    const [row] = this.sql.all(query, this.tenant, topic, throughOffset, place);
    return row ? number(row, "message_offset") : null;
  }

  /** Of these offsets, those that are dead letters of a group that still exists. Ascending. */
  redrivable(topic: string, deadLetterTopic: string, offsets: readonly number[]): number[] {
    const query = `SELECT letter.message_offset FROM json_each(?4) AS pick
      CROSS JOIN queue_messages AS letter
        ON letter.tenant = ?1 AND letter.topic = ?3 AND letter.message_offset = pick.value
      JOIN queue_groups AS owner
        ON owner.tenant = ?1 AND owner.topic = ?2 AND owner.group_name = letter.dead_letter->>'group'
      WHERE owner.deleted_at_ms IS NULL`;
    return this.sql
      .all(query, this.tenant, topic, deadLetterTopic, JSON.stringify(offsets))
      .map((row) => number(row, "message_offset"))
      .sort((a, b) => a - b);
  }

  deleteRange(topic: string, range: OffsetRange): number {
    const query =
      "DELETE FROM queue_messages WHERE tenant = ? AND topic = ? AND message_offset BETWEEN ? AND ?";
    return this.sql.run(query, this.tenant, topic, range.first, range.last);
  }

  deleteByOffset(topic: string, offsets: readonly number[]): number {
    const query = `DELETE FROM queue_messages
      WHERE tenant = ? AND topic = ? AND message_offset IN (SELECT value FROM json_each(?))`;
    return this.sql.run(query, this.tenant, topic, JSON.stringify(offsets));
  }
}
