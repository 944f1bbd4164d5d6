import type { CountRead, ListRead, PartitionTail, StoredEntry, StoredMessage } from "../message-log.ts";
import { chunksOf } from "./chunks.ts";
import type { Operation } from "./database.ts";
import {
  BY_OFFSET,
  BY_PARTITION,
  MESSAGE_COLUMNS,
  STORED_COLUMNS,
  storedEntryOf,
  storedMessageOf,
} from "./message-rows.ts";
import { number, numberOrNull, text } from "./result-rows.ts";
import type { SqlParam } from "./sql-text.ts";
import { CLOCK, clockMs, readStatement, repeated, type Statement, sized } from "./statement.ts";

const STORED = STORED_COLUMNS.join(", ");
const MESSAGES = MESSAGE_COLUMNS.join(", ");
const OF_TOPIC = "tenant = ? AND topic = ?";
const EVER = Number.MAX_SAFE_INTEGER;
const MAX_FOUND = 100;
/** Partitions looked up by one statement: it stays small for Vitess to plan. */
const MAX_PARTITIONS_PER_READ = 50;
/** Whole messages in one result: what a receive takes. */
const MAX_MESSAGES_PER_READ = 100;

const TAIL = readStatement(
  "tail",
  `SELECT max(message_offset) AS highest, ${CLOCK} AS clock FROM queue_messages WHERE ${OF_TOPIC}`,
);
/** Steps from key to key in the index only while the whole prefix is grouped by and nothing is joined. */
const LIST_PARTITIONS = readStatement(
  "list partitions",
  `SELECT partition_key, max(message_offset) AS latest FROM ${BY_PARTITION}
   WHERE ${OF_TOPIC} AND partition_key > ? GROUP BY tenant, topic, partition_key ORDER BY partition_key LIMIT ?`,
);
const partitionsHeld = sized((keys) =>
  readStatement(
    "partitions held",
    repeated(
      `(SELECT partition_key FROM ${BY_PARTITION} WHERE ${OF_TOPIC} AND partition_key = ? LIMIT 1)`,
      keys,
      " UNION ALL ",
    ),
  ),
);
const readMessages = sized((offsets) =>
  readStatement(
    "read messages",
    `SELECT ${MESSAGES} FROM queue_messages WHERE ${OF_TOPIC} AND message_offset IN (${repeated("?", offsets)})`,
  ),
);
const readDeadLetters = sized((offsets) =>
  readStatement(
    "read dead letters",
    `SELECT message_offset, dead_letter FROM queue_messages
     WHERE ${OF_TOPIC} AND message_offset IN (${repeated("?", offsets)}) AND dead_letter IS NOT NULL`,
  ),
);
/** In order of origin: the published message, whose origin is empty, comes first. */
const FIND_ENTRIES = readStatement(
  "find entries",
  `SELECT ${STORED} FROM queue_messages FORCE INDEX (queue_messages_by_id)
   WHERE ${OF_TOPIC} AND partition_key = ? AND message_id = ? ORDER BY origin LIMIT ${MAX_FOUND}`,
);
/** The statement that lists in one direction, of the topic and of one partition. */
function listStatements(order: "ASC" | "DESC"): { all: Statement; ofPartition: Statement } {
  const messages = order === "ASC" ? "messages" : "last messages";
  return {
    all: readStatement(
      `list ${messages}`,
      `SELECT ${STORED} FROM ${BY_OFFSET}
       WHERE ${OF_TOPIC} AND message_offset > ? ORDER BY message_offset ${order} LIMIT ?`,
    ),
    ofPartition: readStatement(
      `list ${messages} of partition`,
      `SELECT ${STORED} FROM ${BY_PARTITION}
       WHERE ${OF_TOPIC} AND partition_key = ? AND message_offset > ? ORDER BY message_offset ${order} LIMIT ?`,
    ),
  };
}
const LIST_FORWARD = listStatements("ASC");
const LIST_BACKWARD = listStatements("DESC");
const COUNTS: Statement[] = [];
/** By partition, by group, by both, by neither. Entries targeted at another group are read past, not counted. */
function countStatement(ofPartition: boolean, forGroup: boolean): Statement {
  const place = (ofPartition ? 1 : 0) + (forGroup ? 2 : 0);
  const known = COUNTS[place];
  if (known) return known;
  const where = `${OF_TOPIC} AND message_offset > ? AND message_offset <= ?
    ${ofPartition ? "AND partition_key = ?" : ""} ${forGroup ? "AND (target_group IS NULL OR target_group = ?)" : ""}`;
  const made = readStatement(
    `count entries${ofPartition ? " of partition" : ""}${forGroup ? " for group" : ""}`,
    `SELECT count(*) AS entries FROM (SELECT message_offset FROM ${ofPartition ? BY_PARTITION : BY_OFFSET}
     WHERE ${where} ORDER BY message_offset LIMIT ?) AS counted`,
  );
  COUNTS[place] = made;
  return made;
}
export const MESSAGES_TABLE_STATEMENTS: readonly Statement[] = [
  TAIL,
  LIST_PARTITIONS,
  ...[1, 2, 3].map(partitionsHeld),
  ...[1, 2, 3].map(readMessages),
  ...[1, 2, 3].map(readDeadLetters),
  FIND_ENTRIES,
  ...Object.values(LIST_FORWARD),
  ...Object.values(LIST_BACKWARD),
  ...[true, false].flatMap((ofPartition) => [true, false].map((group) => countStatement(ofPartition, group))),
];

/** The statements that read messages, but for the scans (message-scans.ts). Writing them is message-insert.ts. */
export class MessagesTable {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** `highest` is null when the topic holds nothing. */
  async tail(run: Operation, topic: string): Promise<{ highest: number | null; nowMs: number }> {
    const { rows } = await run.execute(TAIL, [this.tenant, topic]);
    const row = rows[0] ?? {};
    return { highest: numberOrNull(row, "highest"), nowMs: clockMs(number(row, "clock")) };
  }

  async listPartitions(
    run: Operation,
    topic: string,
    afterKey: string | null,
    maxPartitions: number,
  ): Promise<PartitionTail[]> {
    // No key is empty, so every key is above "".
    const params = [this.tenant, topic, afterKey ?? "", maxPartitions];
    const { rows } = await run.execute(LIST_PARTITIONS, params);
    return rows.map((row) => ({
      partitionKey: text(row, "partition_key"),
      latestOffset: number(row, "latest"),
    }));
  }

  /** Which of these partitions hold a message. One seek in the index for each. */
  async partitionsHeld(run: Operation, topic: string, keys: readonly string[]): Promise<Set<string>> {
    const held = new Set<string>();
    for (const { items } of chunksOf(keys, MAX_PARTITIONS_PER_READ)) {
      const params = items.flatMap((key) => [this.tenant, topic, key]);
      const { rows } = await run.execute(partitionsHeld(items.length), params);
      for (const row of rows) held.add(text(row, "partition_key"));
    }
    return held;
  }

  /** `offsets` are distinct. */
  async readMessages(run: Operation, topic: string, offsets: readonly number[]): Promise<StoredMessage[]> {
    const found: StoredMessage[] = [];
    for (const { items } of chunksOf(offsets, MAX_MESSAGES_PER_READ)) {
      const { rows } = await run.execute(readMessages(items.length), [this.tenant, topic, ...items]);
      found.push(...rows.map(storedMessageOf));
    }
    return found;
  }

  /** Of these offsets, those that are dead letters, with what the column says. `offsets` are distinct, at most 1,000. */
  async deadLetters(
    run: Operation,
    topic: string,
    offsets: readonly number[],
  ): Promise<{ offset: number; deadLetter: string }[]> {
    const { rows } = await run.execute(readDeadLetters(offsets.length), [this.tenant, topic, ...offsets]);
    return rows.map((row) => ({
      offset: number(row, "message_offset"),
      deadLetter: text(row, "dead_letter"),
    }));
  }

  async findEntries(run: Operation, topic: string, id: string, partitionKey: string): Promise<StoredEntry[]> {
    const { rows } = await run.execute(FIND_ENTRIES, [this.tenant, topic, partitionKey, id]);
    return rows.map(storedEntryOf);
  }

  async list(run: Operation, topic: string, read: ListRead): Promise<StoredEntry[]> {
    const { afterOffset, maxEntries, partitionKey, fromEnd } = read;
    const { all, ofPartition } = fromEnd ? LIST_BACKWARD : LIST_FORWARD;
    const { rows } =
      partitionKey === undefined
        ? await run.execute(all, [this.tenant, topic, afterOffset, maxEntries])
        : await run.execute(ofPartition, [this.tenant, topic, partitionKey, afterOffset, maxEntries]);
    const entries = rows.map(storedEntryOf);
    return fromEnd ? entries.reverse() : entries;
  }

  async count(run: Operation, topic: string, read: CountRead): Promise<number> {
    const { partitionKey, forGroup, afterOffset, throughOffset = EVER, maxCount } = read;
    const params: SqlParam[] = [this.tenant, topic, afterOffset, throughOffset];
    if (partitionKey !== undefined) params.push(partitionKey);
    if (forGroup !== undefined) params.push(forGroup);
    const statement = countStatement(partitionKey !== undefined, forGroup !== undefined);
    const { rows } = await run.execute(statement, [...params, maxCount]);
    return number(rows[0] ?? {}, "entries");
  }
}
