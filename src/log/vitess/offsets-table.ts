import { fail } from "../../core/failure.ts";
import type { PartitionCheckpoint, PartitionProgress, PartitionReset } from "../message-log.ts";
import { chunksOf } from "./chunks.ts";
import type { Operation } from "./database.ts";
import { UNAVAILABLE_RETRY_MS } from "./database-failure.ts";
import { number, numberOrNull, type SqlRow, text } from "./result-rows.ts";
import { readStatement, repeated, type Statement, sized, writeStatement } from "./statement.ts";

const OF_GROUP = "tenant = ? AND topic = ? AND group_name = ?";
const PROGRESS =
  "generation, reset_epoch, acked_offset, unsettled, acked_above, due_at_ms, due_offset, reset_offset";
const COLUMNS = `tenant, topic, group_name, partition_key, ${PROGRESS}`;
/** With the largest checkpoints a statement stays at about a megabyte. */
const MAX_ROWS_PER_SAVE = 250;
const MAX_KEYS_PER_STATEMENT = 250;
const MAX_ROWS_PER_DELETE = 5000;
const MAX_DELETE_ROUNDS = 1000;

/** The row that is saved is of the stored generation and reset and not behind it, or of a later one. */
const IS_NOT_BEHIND = `VALUES(generation) > generation OR (VALUES(generation) = generation AND
  (VALUES(reset_epoch) > reset_epoch OR (VALUES(reset_epoch) = reset_epoch AND VALUES(acked_offset) >= acked_offset)))`;
const IS_LATER_RESET = `VALUES(generation) > generation OR
  (VALUES(generation) = generation AND VALUES(reset_epoch) > reset_epoch)`;

/**
 * Assignments see the columns assigned before them, so those that a fence compares come last, from the least to the
 * most significant one: each leaves the fence's answer for the next as it was.
 */
function assigned(fence: string): string {
  const columns = ["unsettled", "acked_above", "due_at_ms", "due_offset", "acked_offset", "reset_epoch"];
  return [...columns, "generation"]
    .map((name) => `${name} = IF(${fence}, VALUES(${name}), ${name})`)
    .join(", ");
}

/** A group name made anew never inherits a reset: a new group begins where it begins. */
const save = sized((rows) =>
  writeStatement(
    "save progress",
    `INSERT INTO queue_offsets (${COLUMNS}) VALUES ${repeated(`(${repeated("?", 11)}, 0)`, rows)}
     ON DUPLICATE KEY UPDATE reset_offset = IF(VALUES(generation) > generation, 0, reset_offset),
       ${assigned(IS_NOT_BEHIND)}`,
    { isIdempotent: true },
  ),
);
const SAVE_RESET = writeStatement(
  "save reset",
  `INSERT INTO queue_offsets (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, '', '', 0, 0, ?)
   ON DUPLICATE KEY UPDATE reset_offset = IF(${IS_LATER_RESET}, VALUES(reset_offset), reset_offset),
     ${assigned(IS_LATER_RESET)}`,
  { isIdempotent: true },
);
const load = sized((keys) =>
  readStatement(
    "load progress",
    `SELECT partition_key, ${PROGRESS} FROM queue_offsets
     WHERE ${OF_GROUP} AND partition_key IN (${repeated("?", keys)})`,
  ),
);
const HIGHEST_RESET_EPOCH = readStatement(
  "highest reset epoch",
  `SELECT max(reset_epoch) AS highest FROM queue_offsets FORCE INDEX (queue_offsets_by_epoch)
   WHERE ${OF_GROUP} AND generation = ?`,
);
const LIST_KEYS = readStatement(
  "list progress keys",
  `SELECT partition_key FROM queue_offsets FORCE INDEX (\`PRIMARY\`)
   WHERE ${OF_GROUP} AND partition_key > ? ORDER BY partition_key LIMIT ?`,
);
const remove = sized((keys) =>
  writeStatement(
    "delete progress",
    `DELETE FROM queue_offsets WHERE ${OF_GROUP} AND partition_key IN (${repeated("?", keys)})`,
    { isIdempotent: true },
  ),
);
const REMOVE_GROUP = writeStatement(
  "delete progress of group",
  `DELETE FROM queue_offsets WHERE ${OF_GROUP} LIMIT ${MAX_ROWS_PER_DELETE}`,
  { isIdempotent: true },
);

export const OFFSETS_TABLE_STATEMENTS: readonly Statement[] = [
  ...[1, 2, 3].map(save),
  SAVE_RESET,
  ...[1, 2, 3].map(load),
  HIGHEST_RESET_EPOCH,
  LIST_KEYS,
  ...[1, 2, 3].map(remove),
  REMOVE_GROUP,
];

/** Checkpointed progress of groups. */
export class OffsetsTable {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  async save(
    run: Operation,
    topic: string,
    group: string,
    checkpoints: readonly PartitionCheckpoint[],
  ): Promise<void> {
    for (const { items } of chunksOf(checkpoints, MAX_ROWS_PER_SAVE)) {
      const params = items.flatMap((checkpoint) => [
        this.tenant,
        topic,
        group,
        checkpoint.partitionKey,
        checkpoint.generation,
        checkpoint.resetEpoch,
        checkpoint.ackedOffset,
        checkpoint.unsettled,
        checkpoint.ackedAbove,
        checkpoint.due.dueAtMs,
        checkpoint.due.offset,
      ]);
      await run.execute(save(items.length), params);
    }
  }

  async saveReset(run: Operation, topic: string, group: string, reset: PartitionReset): Promise<void> {
    const { partitionKey, generation, resetEpoch, offset } = reset;
    const params = [this.tenant, topic, group, partitionKey, generation, resetEpoch, offset, offset];
    await run.execute(SAVE_RESET, params);
  }

  /** `keys` are distinct. */
  async load(
    run: Operation,
    topic: string,
    group: string,
    keys: readonly string[],
  ): Promise<PartitionProgress[]> {
    const found: PartitionProgress[] = [];
    for (const { items } of chunksOf(keys, MAX_KEYS_PER_STATEMENT)) {
      const { rows } = await run.execute(load(items.length), [this.tenant, topic, group, ...items]);
      found.push(...rows.map(progressOf));
    }
    return found;
  }

  async highestResetEpoch(run: Operation, topic: string, group: string, generation: number): Promise<number> {
    const { rows } = await run.execute(HIGHEST_RESET_EPOCH, [this.tenant, topic, group, generation]);
    return numberOrNull(rows[0] ?? {}, "highest") ?? 0;
  }

  async listKeys(
    run: Operation,
    topic: string,
    group: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<string[]> {
    // No key is empty, so every key is above "".
    const params = [this.tenant, topic, group, read.afterKey ?? "", read.maxPartitions];
    const { rows } = await run.execute(LIST_KEYS, params);
    return rows.map((row) => text(row, "partition_key"));
  }

  async remove(run: Operation, topic: string, group: string, keys: readonly string[]): Promise<void> {
    for (const { items } of chunksOf(keys, MAX_KEYS_PER_STATEMENT)) {
      await run.execute(remove(items.length), [this.tenant, topic, group, ...items]);
    }
  }

  /** Each round has a budget of its own: a group may have had very many partitions. */
  async removeGroup(begin: () => Operation, topic: string, group: string): Promise<void> {
    for (let round = 0; round < MAX_DELETE_ROUNDS; round++) {
      const { rowsAffected } = await begin().execute(REMOVE_GROUP, [this.tenant, topic, group]);
      if (rowsAffected < MAX_ROWS_PER_DELETE) return;
    }
    const detail = "the group had very many partitions: not all of its progress is removed yet";
    fail("store-unavailable", detail, { retryAfterMs: UNAVAILABLE_RETRY_MS });
  }
}

function progressOf(row: SqlRow): PartitionProgress {
  return {
    partitionKey: text(row, "partition_key"),
    generation: number(row, "generation"),
    resetEpoch: number(row, "reset_epoch"),
    ackedOffset: number(row, "acked_offset"),
    unsettled: text(row, "unsettled"),
    ackedAbove: text(row, "acked_above"),
    due: { dueAtMs: number(row, "due_at_ms"), offset: number(row, "due_offset") },
    resetOffset: number(row, "reset_offset"),
  };
}
