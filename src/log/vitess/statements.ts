import { GROUPS_TABLE_STATEMENTS } from "./groups-table.ts";
import { MESSAGE_DELETE_STATEMENTS } from "./message-delete.ts";
import { MESSAGE_INSERT_STATEMENTS } from "./message-insert.ts";
import { MESSAGE_SCAN_STATEMENTS } from "./message-scans.ts";
import { MESSAGES_TABLE_STATEMENTS } from "./messages-table.ts";
import { OFFSETS_TABLE_STATEMENTS } from "./offsets-table.ts";
import type { Statement } from "./statement.ts";
import { TOPICS_TABLE_STATEMENTS } from "./topics-table.ts";

/** Every statement that the log can send; those whose text grows with a count, at some sizes from 1. */
export function vitessStatements(): readonly Statement[] {
  return [
    ...MESSAGE_SCAN_STATEMENTS,
    ...MESSAGES_TABLE_STATEMENTS,
    ...MESSAGE_INSERT_STATEMENTS,
    ...MESSAGE_DELETE_STATEMENTS,
    ...TOPICS_TABLE_STATEMENTS,
    ...GROUPS_TABLE_STATEMENTS,
    ...OFFSETS_TABLE_STATEMENTS,
  ];
}
