import type { SqlRow } from "../../durable/ports.ts";
import type { DeadLetterInfo, Entry, StoredEntry, StoredMessage } from "../message-log.ts";
import { number, text, textOrBytes, textOrNull } from "./row-values.ts";

export const ENTRY_COLUMNS =
  "message_offset, partition_key, due_at_ms, published_at_ms, target_group, body_bytes";
export const STORED_COLUMNS = `${ENTRY_COLUMNS}, message_id, origin, content_type, headers, dead_letter`;
export const MESSAGE_COLUMNS = `${STORED_COLUMNS}, body`;

export function entryOf(row: SqlRow): Entry {
  const dueAtMs = number(row, "due_at_ms");
  return {
    offset: number(row, "message_offset"),
    partitionKey: text(row, "partition_key"),
    dueAtMs,
    delayed: dueAtMs > number(row, "published_at_ms"),
    targetGroup: textOrNull(row, "target_group"),
    bodyBytes: number(row, "body_bytes"),
  };
}

export function storedEntryOf(row: SqlRow): StoredEntry {
  const deadLetter = textOrNull(row, "dead_letter");
  const dueAtMs = number(row, "due_at_ms");
  const publishedAtMs = number(row, "published_at_ms");
  return {
    offset: number(row, "message_offset"),
    partitionKey: text(row, "partition_key"),
    dueAtMs,
    delayed: dueAtMs > publishedAtMs,
    targetGroup: textOrNull(row, "target_group"),
    bodyBytes: number(row, "body_bytes"),
    id: text(row, "message_id"),
    origin: text(row, "origin"),
    publishedAtMs,
    contentType: textOrNull(row, "content_type"),
    headers: text(row, "headers"),
    // Written by this log alone (message-insert.ts), so it has that shape.
    deadLetter: deadLetter === null ? null : (JSON.parse(deadLetter) as DeadLetterInfo),
  };
}

export function storedMessageOf(row: SqlRow): StoredMessage {
  // A batch of them is the hot path of a receive: one object, not a chain of copies.
  return Object.assign(storedEntryOf(row), { body: textOrBytes(row, "body") });
}
