import { fail } from "../../core/failure.ts";
import {
  type DeadLetterInfo,
  type Entry,
  MAX_SCAN_ENTRIES,
  MAX_SCAN_HEADERS_BYTES,
  type StoredEntry,
  type StoredMessage,
} from "../message-log.ts";
import { bytes, number, numberOrNull, type SqlRow, text, textOrNull } from "./result-rows.ts";

/**
 * Without hints the planner may walk the whole topic to find one partition's entries in offset order, or sort what
 * another index finds. Quoted: not every Vitess reads the bare word.
 */
export const BY_OFFSET = "queue_messages FORCE INDEX (`PRIMARY`)";
export const BY_PARTITION = "queue_messages FORCE INDEX (queue_messages_by_partition)";

export const ENTRY_COLUMNS = [
  "message_offset",
  "partition_key",
  "due_at_ms",
  "delayed_due_at_ms",
  "target_group",
  "body_bytes",
];
/** Longer ones do not come with a scan's row: a full page, read in one statement, is bounded like any other. */
const MAX_ROW_HEADERS_BYTES = Math.floor(MAX_SCAN_HEADERS_BYTES / MAX_SCAN_ENTRIES);
export const HEADED_COLUMNS = [
  ...ENTRY_COLUMNS,
  "length(headers) AS headers_bytes",
  `CASE WHEN length(headers) <= ${MAX_ROW_HEADERS_BYTES} THEN headers END AS headers`,
];
export const STORED_COLUMNS = [
  ...ENTRY_COLUMNS,
  "message_id",
  "origin",
  "published_at_ms",
  "content_type",
  "headers",
  "dead_letter",
];
export const MESSAGE_COLUMNS = [...STORED_COLUMNS, "body"];

export function entryOf(row: SqlRow): Entry {
  return {
    offset: number(row, "message_offset"),
    partitionKey: text(row, "partition_key"),
    dueAtMs: number(row, "due_at_ms"),
    delayed: numberOrNull(row, "delayed_due_at_ms") !== null,
    targetGroup: textOrNull(row, "target_group"),
    bodyBytes: number(row, "body_bytes"),
  };
}

/** What its headers take in UTF-8; 0 where the scan was not asked for them. */
export interface HeadedEntry {
  entry: Entry;
  headersBytes: number;
}

/** Of a scan with headers or without. Headers that are too long for the row are absent; their size is not. */
export function scannedOf(row: SqlRow): HeadedEntry {
  const entry = entryOf(row);
  if (row.headers_bytes === undefined) return { entry, headersBytes: 0 };
  const headers = textOrNull(row, "headers");
  if (headers !== null) entry.headers = headers;
  return { entry, headersBytes: number(row, "headers_bytes") };
}

export function storedEntryOf(row: SqlRow): StoredEntry {
  const id = text(row, "message_id");
  const deadLetter = textOrNull(row, "dead_letter");
  return {
    ...entryOf(row),
    id,
    origin: text(row, "origin"),
    publishedAtMs: number(row, "published_at_ms"),
    contentType: textOrNull(row, "content_type"),
    headers: text(row, "headers"),
    deadLetter: deadLetter === null ? null : { ...failureOf(deadLetter), originalId: id },
  };
}

export function storedMessageOf(row: SqlRow): StoredMessage {
  const entry = storedEntryOf(row);
  const body = entry.contentType === null ? text(row, "body") : bytes(row, "body");
  return { ...entry, body };
}

/** What the column holds: a dead letter keeps its message's ID, so that is not said twice. */
export type StoredFailure = Omit<DeadLetterInfo, "originalId">;

export function failureText(failure: StoredFailure): string {
  return JSON.stringify(failure);
}

/** Written by this log alone, so it has that shape. */
export function failureOf(deadLetter: string): StoredFailure {
  try {
    return JSON.parse(deadLetter) as StoredFailure;
  } catch {
    return fail("internal", "a dead letter in the database is not JSON");
  }
}
