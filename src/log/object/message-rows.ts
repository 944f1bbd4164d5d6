import type { SqlRow } from "../../durable/ports.ts";
import type { DeadLetterInfo, Entry, StoredEntry, StoredMessage } from "../message-log.ts";
import { number, text, textOrBytes, textOrNull } from "./row-values.ts";

/** Without a hint the planner may walk the whole topic to find one partition's entries in offset order. */
export const BY_PARTITION = "queue_messages INDEXED BY queue_messages_by_partition";

export const ENTRY_COLUMNS =
  "message_offset, partition_key, due_at_ms, published_at_ms, target_group, body_bytes";
/** Casting it counts bytes; the length of a text is in code points. */
export const HEADED_COLUMNS = `${ENTRY_COLUMNS}, headers, length(CAST(headers AS BLOB)) AS headers_bytes`;
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

/** With headers, and what those take in UTF-8. */
export interface HeadedEntry {
  entry: Entry;
  headersBytes: number;
}

export function headedEntryOf(row: SqlRow): HeadedEntry {
  const entry = Object.assign(entryOf(row), { headers: text(row, "headers") });
  return { entry, headersBytes: number(row, "headers_bytes") };
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
