import { fail } from "../../core/failure.ts";
import type { GroupRecord } from "../message-log.ts";
import type { Operation } from "./database.ts";
import { number, numberOrNull, type SqlRow, text } from "./result-rows.ts";
import {
  CLOCK,
  clockMs,
  readStatement,
  repeated,
  type Statement,
  sized,
  writeStatement,
} from "./statement.ts";

const COLUMNS = [
  "generation",
  "visibility_timeout_ms",
  "lease_duration_ms",
  "max_in_flight_per_partition",
  "max_attempts",
  "initial_backoff_ms",
  "backoff_multiplier",
  "max_backoff_ms",
  "dead_letters",
  "start_from",
  "paused",
  "created_by",
  "start_offset",
  "deleted_at_ms",
];
/** A topic's groups with its tombstones. Only the young of those are not bounded; so many cannot be made in their minute. */
const MAX_LISTED = 10_000;
const PAGE = 5000;
/** A thousand topics with twice a hundred groups are forty. */
const MAX_PAGES = 1000;

const LIST = readStatement(
  "list groups",
  `SELECT group_name, ${COLUMNS.join(", ")}, ${CLOCK} AS clock FROM queue_groups
   WHERE tenant = ? AND topic = ? ORDER BY group_name LIMIT ${MAX_LISTED}`,
);
const LIST_ALL = readStatement(
  "list all groups",
  `SELECT topic, group_name, ${COLUMNS.join(", ")} FROM queue_groups
   WHERE tenant = ? AND topic >= ? AND (topic > ? OR group_name > ?) ORDER BY topic, group_name LIMIT ${PAGE}`,
);
const LIVE_GENERATION = readStatement(
  "live generation",
  `SELECT generation FROM queue_groups
   WHERE tenant = ? AND topic = ? AND group_name = ? AND deleted_at_ms IS NULL`,
);
const SAVE = writeStatement(
  "save group",
  `INSERT INTO queue_groups (tenant, topic, group_name, ${COLUMNS.join(", ")})
   VALUES (${repeated("?", COLUMNS.length + 3)})
   ON DUPLICATE KEY UPDATE ${COLUMNS.map((column) => `${column} = VALUES(${column})`).join(", ")}`,
  { isIdempotent: true },
);
const forget = sized((groups) =>
  writeStatement(
    "forget groups",
    `DELETE FROM queue_groups WHERE tenant = ? AND topic = ? AND group_name IN (${repeated("?", groups)})
     AND deleted_at_ms IS NOT NULL`,
    { isIdempotent: true },
  ),
);

export const GROUPS_TABLE_STATEMENTS: readonly Statement[] = [
  LIST,
  LIST_ALL,
  LIVE_GENERATION,
  SAVE,
  ...[1, 2, 3].map(forget),
];

/** Consumer groups and their settings, tombstones included. */
export class GroupsTable {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** `nowMs` is null when there are none. */
  async list(run: Operation, topic: string): Promise<{ records: GroupRecord[]; nowMs: number | null }> {
    const { rows } = await run.execute(LIST, [this.tenant, topic]);
    const nowMs = rows[0] ? clockMs(number(rows[0], "clock")) : null;
    return { records: rows.map(recordOf), nowMs };
  }

  async listAll(run: Operation): Promise<{ topic: string; record: GroupRecord }[]> {
    const found: { topic: string; record: GroupRecord }[] = [];
    for (let page = 0; page < MAX_PAGES; page++) {
      const last = found.at(-1);
      const after = [last?.topic ?? "", last?.topic ?? "", last?.record.group ?? ""];
      const { rows } = await run.execute(LIST_ALL, [this.tenant, ...after]);
      for (const row of rows) found.push({ topic: text(row, "topic"), record: recordOf(row) });
      if (rows.length < PAGE) return found;
    }
    return fail("internal", "a tenant has more groups than can be");
  }

  /** Of the group as it is now; null when it was deleted or never made. */
  async liveGeneration(run: Operation, topic: string, group: string): Promise<number | null> {
    const { rows } = await run.execute(LIVE_GENERATION, [this.tenant, topic, group]);
    return rows[0] ? number(rows[0], "generation") : null;
  }

  async save(run: Operation, topic: string, record: GroupRecord): Promise<void> {
    const { settings } = record;
    await run.execute(SAVE, [
      this.tenant,
      topic,
      record.group,
      record.generation,
      settings.visibilityTimeoutMs,
      settings.leaseDurationMs,
      settings.maxInFlightPerPartition,
      settings.maxAttempts,
      settings.retry.initialBackoffMs,
      // The one number that is no integer: its shortest text is read back as the same number.
      String(settings.retry.multiplier),
      settings.retry.maxBackoffMs,
      settings.deadLetters ? 1 : 0,
      settings.startFrom,
      settings.paused ? 1 : 0,
      record.createdBy,
      record.startOffset,
      record.deletedAtMs,
    ]);
  }

  /** Removes tombstones; a group that lives again meanwhile stays. */
  async forget(run: Operation, topic: string, groups: readonly string[]): Promise<void> {
    if (groups.length > 0) await run.execute(forget(groups.length), [this.tenant, topic, ...groups]);
  }
}

function recordOf(row: SqlRow): GroupRecord {
  return {
    group: text(row, "group_name"),
    generation: number(row, "generation"),
    settings: {
      visibilityTimeoutMs: number(row, "visibility_timeout_ms"),
      leaseDurationMs: number(row, "lease_duration_ms"),
      maxInFlightPerPartition: number(row, "max_in_flight_per_partition"),
      maxAttempts: number(row, "max_attempts"),
      retry: {
        initialBackoffMs: number(row, "initial_backoff_ms"),
        multiplier: number(row, "backoff_multiplier"),
        maxBackoffMs: number(row, "max_backoff_ms"),
      },
      deadLetters: number(row, "dead_letters") === 1,
      startFrom: text(row, "start_from") === "latest" ? "latest" : "earliest",
      paused: number(row, "paused") === 1,
    },
    createdBy: text(row, "created_by") === "receive" ? "receive" : "admin",
    startOffset: number(row, "start_offset"),
    deletedAtMs: numberOrNull(row, "deleted_at_ms"),
  };
}
