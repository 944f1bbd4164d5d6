import { HeadersBudget } from "../../core/headers-budget.ts";
import type { Sql } from "../../durable/ports.ts";
import {
  type DuePosition,
  type DueRead,
  MAX_SCAN_HEADERS_BYTES,
  type PartitionRead,
  type TopicRead,
} from "../message-log.ts";
import { BY_PARTITION } from "./message-rows.ts";
import { number } from "./row-values.ts";
import { readPage, type ScannedPage } from "./scan-page.ts";

const BY_DUE = "queue_messages INDEXED BY queue_messages_by_due";

/** The statements that scan messages for dispatch. Other reads are messages-table.ts. */
export class MessageScans {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  topic(topic: string, read: TopicRead): ScannedPage {
    const { afterOffset, throughOffset = Number.MAX_SAFE_INTEGER } = read;
    const readRows = (columns: string, after: { offset: number } | null, maxRows: number) =>
      this.sql.all(
        `SELECT ${columns} FROM queue_messages
         WHERE tenant = ? AND topic = ? AND message_offset > ? AND message_offset <= ?
         ORDER BY message_offset LIMIT ?`,
        this.tenant,
        topic,
        after?.offset ?? afterOffset,
        throughOffset,
        maxRows,
      );
    return readPage(read, new HeadersBudget(MAX_SCAN_HEADERS_BYTES), readRows);
  }

  partitions(topic: string, reads: readonly PartitionRead[]): ScannedPage[] {
    const budget = new HeadersBudget(MAX_SCAN_HEADERS_BYTES);
    return reads.map((read) => this.partition(topic, read, budget));
  }

  private partition(topic: string, read: PartitionRead, budget: HeadersBudget): ScannedPage {
    const { partitionKey, afterOffset, throughOffset } = read;
    const readRows = (columns: string, after: { offset: number } | null, maxRows: number) =>
      this.sql.all(
        `SELECT ${columns} FROM ${BY_PARTITION}
         WHERE tenant = ? AND topic = ? AND partition_key = ? AND message_offset > ? AND message_offset <= ?
         ORDER BY message_offset LIMIT ?`,
        this.tenant,
        topic,
        partitionKey,
        after?.offset ?? afterOffset,
        throughOffset,
        maxRows,
      );
    return readPage(read, budget, readRows);
  }

  /** Delayed entries after `after` that are due by `throughDueMs`. */
  due(topic: string, read: DueRead): ScannedPage {
    const { throughDueMs } = read;
    const readRows = (columns: string, after: DuePosition | null, maxRows: number) =>
      this.sql.all(
        `SELECT ${columns} FROM ${BY_DUE}
         WHERE tenant = ? AND topic = ? AND due_at_ms > published_at_ms
           AND (due_at_ms, message_offset) > (?, ?) AND due_at_ms <= ?
         ORDER BY due_at_ms, message_offset LIMIT ?`,
        this.tenant,
        topic,
        (after ?? read.after).dueAtMs,
        (after ?? read.after).offset,
        throughDueMs,
        maxRows,
      );
    return readPage(read, new HeadersBudget(MAX_SCAN_HEADERS_BYTES), readRows);
  }

  firstDueAfter(topic: string, after: DuePosition): number | null {
    const query = `SELECT due_at_ms FROM ${BY_DUE}
      WHERE tenant = ? AND topic = ? AND due_at_ms > published_at_ms AND (due_at_ms, message_offset) > (?, ?)
      ORDER BY due_at_ms, message_offset LIMIT 1`;
    const [row] = this.sql.all(query, this.tenant, topic, after.dueAtMs, after.offset);
    return row ? number(row, "due_at_ms") : null;
  }
}
