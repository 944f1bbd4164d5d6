import { fail } from "../../core/failure.ts";
import type { DeadLetterInfo, Entry, StoredEntry, StoredMessage } from "../message-log.ts";
import { bytes, number, numberOrNull, type SqlRow, text, textOrNull } from "./result-rows.ts";

export const ENTRY_COLUMNS = [
  "message_offset",
  "partition_key",
  "due_at_ms",
  "delayed_due_at_ms",
  "target_group",
  "body_bytes",
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
