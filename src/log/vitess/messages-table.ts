import type {
  CountRead,
  DuePosition,
  Entry,
  ListRead,
  PartitionRead,
  PartitionTail,
  StoredEntry,
  StoredMessage,
  TopicRead,
} from "../message-log.ts";
import { chunksOf } from "./chunks.ts";
import type { Operation } from "./database.ts";
import {
  ENTRY_COLUMNS,
  entryOf,
  MESSAGE_COLUMNS,
  STORED_COLUMNS,
  storedEntryOf,
  storedMessageOf,
} from "./message-rows.ts";
import { number, numberOrNull, type SqlRow, text } from "./result-rows.ts";
import type { SqlParam } from "./sql-text.ts";
import { CLOCK, clockMs, readStatement, repeated, type Statement, sized } from "./statement.ts";

const ENTRIES = ENTRY_COLUMNS.join(", ");
const STORED = STORED_COLUMNS.join(", ");
const MESSAGES = MESSAGE_COLUMNS.join(", ");
const OF_TOPIC = "tenant = ? AND topic = ?";
/**
 * Without hints the planner may walk the whole topic to find one partition's entries in offset order, or sort what
 * another index finds. Quoted: not every Vitess reads the bare word.
 */
const BY_OFFSET = "queue_messages FORCE INDEX (`PRIMARY`)";
const BY_PARTITION = "queue_messages FORCE INDEX (queue_messages_by_partition)";
const BY_DUE = "queue_messages FORCE INDEX (queue_messages_by_due)";
const EVER = Number.MAX_SAFE_INTEGER;
const MAX_FOUND = 100;
/** Partitions read by one statement: it stays small for Vitess to plan. */
const MAX_PARTITIONS_PER_READ = 50;
/** A Vitess as it comes refuses results of more; PlanetScale allows ten times as many. */
const MAX_ROWS_PER_READ = 10_000;
/** Whole messages in one result: what a receive takes. */
const MAX_MESSAGES_PER_READ = 100;

/**
 * The topic's row gives the clock where no entry does. Not a join: the planner would read all entries to the end and
 * sort them.
 */
const SCAN_TOPIC = readStatement(
  "scan topic",
  `(SELECT ${CLOCK} AS clock, ${ENTRIES} FROM ${BY_OFFSET}
    WHERE ${OF_TOPIC} AND message_offset > ? AND message_offset <= ? ORDER BY message_offset LIMIT ?)
   UNION ALL
   (SELECT ${CLOCK} AS clock, ${ENTRY_COLUMNS.map(() => "NULL").join(", ")} FROM queue_topics
    WHERE ${OF_TOPIC} LIMIT 1)`,
);
const TAIL = readStatement(
  "tail",
  `SELECT max(message_offset) AS highest, ${CLOCK} AS clock FROM queue_messages WHERE ${OF_TOPIC}`,
);
const scanPartitions = sized((reads) =>
  readStatement(
    "scan partitions",
    repeated(
      `(SELECT ? AS place, ${ENTRIES} FROM ${BY_PARTITION}
        WHERE ${OF_TOPIC} AND partition_key = ? AND message_offset > ? AND message_offset <= ?
        ORDER BY message_offset LIMIT ?)`,
      reads,
      " UNION ALL ",
    ),
  ),
);
const AFTER_DUE = "delayed_due_at_ms >= ? AND (delayed_due_at_ms > ? OR message_offset > ?)";
/** What is due, and the first one that is not. */
const SCAN_DUE = readStatement(
  "scan due",
  `(SELECT 1 AS is_due, ${ENTRIES} FROM ${BY_DUE}
    WHERE ${OF_TOPIC} AND ${AFTER_DUE} AND delayed_due_at_ms <= ?
    ORDER BY delayed_due_at_ms, message_offset LIMIT ?)
   UNION ALL
   (SELECT 0 AS is_due, ${ENTRIES} FROM ${BY_DUE}
    WHERE ${OF_TOPIC} AND ${AFTER_DUE} ORDER BY delayed_due_at_ms, message_offset LIMIT 1)`,
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
  SCAN_TOPIC,
  TAIL,
  ...[1, 2, 3].map(scanPartitions),
  SCAN_DUE,
  LIST_PARTITIONS,
  ...[1, 2, 3].map(partitionsHeld),
  ...[1, 2, 3].map(readMessages),
  ...[1, 2, 3].map(readDeadLetters),
  FIND_ENTRIES,
  ...Object.values(LIST_FORWARD),
  ...Object.values(LIST_BACKWARD),
  ...[true, false].flatMap((ofPartition) => [true, false].map((group) => countStatement(ofPartition, group))),
];

/** The statements that read messages. Writing them is message-insert.ts, deleting them message-delete.ts. */
export class MessagesTable {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** null when there is no such topic. */
  async scanTopic(
    run: Operation,
    topic: string,
    read: TopicRead,
  ): Promise<{ entries: Entry[]; nowMs: number } | null> {
    const { afterOffset, throughOffset = EVER, maxEntries } = read;
    const of = [this.tenant, topic];
    const { rows } = await run.execute(SCAN_TOPIC, [...of, afterOffset, throughOffset, maxEntries, ...of]);
    if (rows.length === 0) return null;
    // One value, as long as the union is one statement of one server; else the earliest is the safe one.
    const nowMs = clockMs(Math.min(...rows.map((row) => number(row, "clock"))));
    const entries = rows.filter((row) => numberOrNull(row, "message_offset") !== null).map(entryOf);
    // The parts of a union come in any order that the database likes.
    return { entries: entries.sort((a, b) => a.offset - b.offset), nowMs };
  }

  /** `highest` is null when the topic holds nothing. */
  async tail(run: Operation, topic: string): Promise<{ highest: number | null; nowMs: number }> {
    const { rows } = await run.execute(TAIL, [this.tenant, topic]);
    const row = rows[0] ?? {};
    return { highest: numberOrNull(row, "highest"), nowMs: clockMs(number(row, "clock")) };
  }

  /** Entries of each read, in the order of the reads, at most `maxEntries` of each. */
  async scanPartitions(run: Operation, topic: string, reads: readonly PartitionRead[]): Promise<Entry[][]> {
    const found: Entry[][] = reads.map(() => []);
    let next = 0;
    while (next < reads.length) {
      const first = next;
      const items = reads.slice(first, first + countOfNextReads(reads, first));
      next += items.length;
      const params = items.flatMap((read, place): SqlParam[] => [
        first + place,
        this.tenant,
        topic,
        read.partitionKey,
        read.afterOffset,
        read.throughOffset,
        read.maxEntries,
      ]);
      const { rows } = await run.execute(scanPartitions(items.length), params);
      for (const row of rows) found[number(row, "place")]?.push(entryOf(row));
    }
    for (const entries of found) entries.sort((a, b) => a.offset - b.offset);
    return found;
  }

  /** Delayed entries after `after` that are due by `throughDueMs`, and when the first one after those is. */
  async scanDue(
    run: Operation,
    topic: string,
    read: { after: DuePosition; throughDueMs: number; maxEntries: number },
  ): Promise<{ entries: Entry[]; laterDueAtMs: number | null }> {
    const { after, throughDueMs, maxEntries } = read;
    const later = after.dueAtMs > throughDueMs ? after : { dueAtMs: throughDueMs, offset: EVER };
    const { rows } = await run.execute(SCAN_DUE, [
      ...[this.tenant, topic, after.dueAtMs, after.dueAtMs, after.offset, throughDueMs, maxEntries],
      ...[this.tenant, topic, later.dueAtMs, later.dueAtMs, later.offset],
    ]);
    const isDue = (row: SqlRow) => number(row, "is_due") === 1;
    const entries = rows.filter(isDue).map(entryOf);
    entries.sort((a, b) => a.dueAtMs - b.dueAtMs || a.offset - b.offset);
    const first = rows.find((row) => !isDue(row));
    return { entries, laterDueAtMs: first ? number(first, "due_at_ms") : null };
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

/** How many reads from `first` on fit into one statement; at least one. */
function countOfNextReads(reads: readonly PartitionRead[], first: number): number {
  let rows = 0;
  let count = 0;
  for (const { maxEntries } of reads.slice(first, first + MAX_PARTITIONS_PER_READ)) {
    rows += maxEntries;
    if (count > 0 && rows > MAX_ROWS_PER_READ) break;
    count++;
  }
  return count;
}
