import type { DeadLetterCopy, NewMessage } from "../message-log.ts";
import type { Executed, Inserted, Operation } from "./database.ts";
import { failureText } from "./message-rows.ts";
import { number, text } from "./result-rows.ts";
import type { SqlParam } from "./sql-text.ts";
import {
  CLOCK,
  CLOCK_MS,
  readStatement,
  repeated,
  type Statement,
  sized,
  writeStatement,
} from "./statement.ts";

const COLUMNS =
  "tenant, topic, message_offset, partition_key, message_id, origin, target_group, published_at_ms, due_at_ms, " +
  "delayed_due_at_ms, content_type, headers, dead_letter, body_bytes, body";

/**
 * A message's row; `offset` is how it gets its offset. The usual one is not delayed, and then fewer parameters and
 * clocks are read.
 */
const row = (offset: string, isDelayed: boolean) =>
  `(?, ?, ${offset}, ?, ?, '', NULL, ${CLOCK_MS}, ${
    isDelayed ? `${CLOCK_MS} + ?, ${CLOCK_MS} + ?` : `${CLOCK_MS}, NULL`
  }, ?, ?, NULL, ?, ?)`;

/**
 * The first row tells its offset in the reply. Plain: one statement that stores all or nothing. Sent again, it meets
 * its own rows by their IDs.
 */
function insertStatement(messages: number, isDelayed: boolean): Statement {
  const rows = Array.from({ length: messages }, (_, place) =>
    row(place === 0 ? `last_insert_id(${CLOCK})` : `${CLOCK} + ${place}`, isDelayed),
  );
  return writeStatement(
    isDelayed ? "append delayed" : "append",
    `INSERT INTO queue_messages (${COLUMNS}) VALUES ${rows.join(", ")}`,
    { isIdempotent: true },
  );
}
const insertPlain = sized((messages) => insertStatement(messages, false));
const insertDelayed = sized((messages) => insertStatement(messages, true));

const findStored = sized((messages) =>
  readStatement(
    "find stored",
    `SELECT partition_key, message_id, message_offset, ${CLOCK} AS clock FROM queue_messages
     WHERE tenant = ? AND topic = ? AND origin = '' AND (${repeated(
       "partition_key = ? AND message_id = ?",
       messages,
       " OR ",
     )}) LIMIT ${messages}`,
  ),
);

/** `CASE source.message_offset WHEN … THEN … END` with two parameters for each of `size` rows. */
function chosen(size: number): string {
  return `CASE source.message_offset ${repeated("WHEN ? THEN ?", size, " ")} END`;
}

/** From one topic into another, but for those whose copy is there. No body leaves the database. */
function copyStatement(
  name: string,
  size: number,
  origin: string,
  target: { group: string; deadLetter: string },
): Statement {
  return writeStatement(
    name,
    `INSERT INTO queue_messages (${COLUMNS})
     SELECT source.tenant, ?, ${CLOCK} + ${chosen(size)}, source.partition_key, source.message_id, ${origin},
       ${target.group}, ${CLOCK_MS}, ${CLOCK_MS}, NULL, source.content_type, source.headers, ${target.deadLetter},
       source.body_bytes, source.body
     FROM queue_messages AS source LEFT JOIN queue_messages AS copied FORCE INDEX (queue_messages_by_id)
       ON copied.tenant = source.tenant AND copied.topic = ? AND copied.partition_key = source.partition_key
         AND copied.message_id = source.message_id AND copied.origin = ${origin}
     WHERE source.tenant = ? AND source.topic = ? AND source.message_offset IN (${repeated("?", size)})
       AND copied.tenant IS NULL`,
    { isIdempotent: true },
  );
}
const copyToDeadLetters = sized((size) =>
  copyStatement("copy to dead letters", size, chosen(size), { group: "NULL", deadLetter: chosen(size) }),
);
const redrive = sized((size) =>
  copyStatement("redrive", size, chosen(size), { group: chosen(size), deadLetter: "NULL" }),
);

const SAMPLE_SIZES = [1, 2, 3];
export const MESSAGE_INSERT_STATEMENTS: readonly Statement[] = [
  insertPlain,
  insertDelayed,
  findStored,
  copyToDeadLetters,
  redrive,
].flatMap((build) => SAMPLE_SIZES.map(build));

const utf8 = new TextEncoder();

/** The statements that write messages. */
export class MessageInsert {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  append(run: Operation, topic: string, messages: readonly NewMessage[]): Promise<Inserted> {
    const isDelayed = messages.some(({ delayMs }) => delayMs > 0);
    const params: SqlParam[] = [];
    for (const message of messages) {
      const { body, delayMs } = message;
      params.push(this.tenant, topic, message.partitionKey, message.id);
      // Nothing plus NULL is NULL: not delayed.
      if (isDelayed) params.push(delayMs, delayMs > 0 ? delayMs : null);
      const bodyBytes = typeof body === "string" ? utf8.encode(body).length : body.length;
      params.push(message.contentType, message.headers, bodyBytes, body);
    }
    return run.insert((isDelayed ? insertDelayed : insertPlain)(messages.length), params);
  }

  /** Which of these IDs were published already, and where they lie; `clock` is the database's now, in offsets. */
  async findStored(
    run: Operation,
    topic: string,
    messages: readonly NewMessage[],
  ): Promise<{ partitionKey: string; id: string; offset: number; clock: number }[]> {
    const ids = messages.flatMap(({ partitionKey, id }) => [partitionKey, id]);
    const { rows } = await run.execute(findStored(messages.length), [this.tenant, topic, ...ids]);
    return rows.map((found) => ({
      partitionKey: text(found, "partition_key"),
      id: text(found, "message_id"),
      offset: number(found, "message_offset"),
      clock: number(found, "clock"),
    }));
  }

  /** The offsets of `copies` are distinct. */
  copyToDeadLetters(
    run: Operation,
    from: string,
    to: string,
    copies: readonly DeadLetterCopy[],
  ): Promise<Inserted> {
    const origins = copies.flatMap(({ offset, origin }) => [offset, origin]);
    const failures = copies.flatMap(({ offset, group, failedAtMs, attempts, reason }) => [
      offset,
      failureText({ originalTopic: from, group, failedAtMs, attempts, reason }),
    ]);
    const places = copies.flatMap(({ offset }, place) => [offset, place]);
    const offsets = copies.map(({ offset }) => offset);
    return run.insert(copyToDeadLetters(copies.length), [
      ...[to, ...places, ...origins, ...failures],
      ...[to, ...origins],
      ...[this.tenant, from, ...offsets],
    ]);
  }

  /** Puts dead letters at the tail of `to` in the order given, each for its group. Their offsets are distinct. */
  redrive(
    run: Operation,
    from: string,
    to: string,
    letters: readonly { offset: number; group: string }[],
  ): Promise<Inserted> {
    const origins = letters.flatMap(({ offset }) => [offset, `redrive:${offset}`]);
    const groups = letters.flatMap(({ offset, group }) => [offset, group]);
    const places = letters.flatMap(({ offset }, place) => [offset, place]);
    const offsets = letters.map(({ offset }) => offset);
    return run.insert(redrive(letters.length), [
      ...[to, ...places, ...origins, ...groups],
      ...[to, ...origins],
      ...[this.tenant, from, ...offsets],
    ]);
  }
}

/** Where a batch that was stored lies; null when the database did not tell. */
export function storedRange(
  executed: Executed,
  count: number,
): { lowestOffset: number; highestOffset: number } | null {
  if (executed.insertId === 0) return null;
  return { lowestOffset: executed.insertId, highestOffset: executed.insertId + count - 1 };
}
