import type { Sql } from "../../durable/ports.ts";
import type { DeadLetterCopy, NewMessage } from "../message-log.ts";
import type { SqlParam } from "./row-values.ts";

/** Where rows go: the topic, the offset of the first one, and the log's clock. */
export interface Placement {
  topic: string;
  firstOffset: number;
  nowMs: number;
}

const COLUMNS =
  "tenant, topic, message_offset, partition_key, message_id, origin, target_group, published_at_ms, due_at_ms, " +
  "content_type, headers, dead_letter, body_bytes, body";

// The conflict target is spelled out: a collision of offsets must throw, never pass for a duplicate.
const UNLESS_STORED = "ON CONFLICT (tenant, topic, partition_key, message_id, origin) DO NOTHING";

/** ?1 tenant, ?2 topic, ?3 now, ?4 first offset: bound once, so that more rows fit into 100 parameters. */
const SHARED_PARAMS = 4;

/** A shape of a multi-row INSERT: how a row reads its own parameters, the first of which is `?p`. */
interface RowShape {
  params: number;
  /** Rows per statement, at most: what 100 parameters hold. */
  maxRows: number;
  /** By number of rows. Few enough that the platform's statement cache holds them all. */
  texts: Map<number, string>;
  row(place: number, p: number): string;
  bind(message: NewMessage, params: SqlParam[]): void;
}

/** The usual message: JSON, no headers, no delay. A third of the parameters, so a third of the statements. */
const PLAIN: RowShape = {
  params: 3,
  maxRows: 32,
  texts: new Map(),
  row: (place, p) =>
    `(?1,?2,?4+${place},?${p},?${p + 1},'',NULL,?3,?3,NULL,'',NULL,octet_length(?${p + 2}),?${p + 2})`,
  bind: (message, params) => params.push(message.partitionKey, message.id, message.body),
};

/**
 * Many usual messages: one statement whatever their number, its rows [key, ID, body] in ?5, a JSON array. A third
 * cheaper for a batch of a hundred than statements with a parameter for each value.
 */
const INSERT_LIST = `
  INSERT INTO queue_messages (${COLUMNS})
  SELECT ?1, ?2, ?4 + listed.key, listed.value->>0, listed.value->>1, '', NULL, ?3, ?3, NULL, '', NULL,
    octet_length(listed.value->>2), listed.value->>2
  FROM json_each(?5) AS listed WHERE true ${UNLESS_STORED}`;
const MIN_LIST_MESSAGES = 4;
/** Characters of a list: a parameter holds 2 MB, a character is up to three bytes, and escapes double some. */
const MAX_LIST_CHARS = 256 * 1024;

const GENERAL: RowShape = {
  params: 6,
  maxRows: 16,
  texts: new Map(),
  row: (place, p) =>
    `(?1,?2,?4+${place},?${p},?${p + 1},'',NULL,?3,?3+?${p + 2},?${p + 3},?${p + 4},NULL,` +
    `octet_length(?${p + 5}),?${p + 5})`,
  bind: (message, params) =>
    params.push(
      message.partitionKey,
      message.id,
      message.delayMs,
      message.contentType,
      message.headers,
      message.body,
    ),
};

function insertText(shape: RowShape, rows: number): string {
  const known = shape.texts.get(rows);
  if (known !== undefined) return known;
  const values = Array.from({ length: rows }, (_, place) =>
    shape.row(place, SHARED_PARAMS + 1 + place * shape.params),
  );
  const text = `INSERT INTO queue_messages (${COLUMNS}) VALUES ${values.join(",")} ${UNLESS_STORED}`;
  shape.texts.set(rows, text);
  return text;
}

/** Copies whose place is their index in ?6, a JSON array of {offset, group, attempts, failedAtMs, reason, origin}. */
const COPY_TO_DEAD_LETTERS = `
  INSERT INTO queue_messages (${COLUMNS})
  SELECT ?1, ?3, ?5 + copy.key, source.partition_key, source.message_id, copy.value->>'origin', NULL, ?4, ?4,
    source.content_type, source.headers,
    json_object('originalTopic', source.topic, 'originalId', source.message_id, 'group', copy.value->>'group',
      'failedAtMs', copy.value->>'failedAtMs', 'attempts', copy.value->>'attempts',
      'reason', copy.value->>'reason'),
    source.body_bytes, source.body
  FROM json_each(?6) AS copy
  CROSS JOIN queue_messages AS source
    ON source.tenant = ?1 AND source.topic = ?2 AND source.message_offset = copy.value->>'offset'
  WHERE true ${UNLESS_STORED}`;

/** Dead letters by offset (?6, a JSON array), back at the tail of the topic they came from. */
const REDRIVE = `
  INSERT INTO queue_messages (${COLUMNS})
  SELECT ?1, ?2, ?5 + pick.key, letter.partition_key, letter.message_id, 'redrive:' || letter.message_offset,
    letter.dead_letter->>'group', ?4, ?4, letter.content_type, letter.headers, NULL, letter.body_bytes, letter.body
  FROM json_each(?6) AS pick
  CROSS JOIN queue_messages AS letter
    ON letter.tenant = ?1 AND letter.topic = ?3 AND letter.message_offset = pick.value
  WHERE true ${UNLESS_STORED}`;

/** The statements that write messages. Each returns how many rows it stored; those stored already are left. */
export class MessageInsert {
  private readonly tenant: string;
  private readonly sql: Sql;

  constructor(tenant: string, sql: Sql) {
    this.tenant = tenant;
    this.sql = sql;
  }

  /** Message `i` gets the offset `firstOffset + i`. */
  append(at: Placement, messages: readonly NewMessage[]): number {
    const isAllPlain = messages.every(isPlain);
    if (isAllPlain && messages.length >= MIN_LIST_MESSAGES && fitList(messages)) {
      const list = JSON.stringify(messages.map(({ partitionKey, id, body }) => [partitionKey, id, body]));
      return this.sql.run(INSERT_LIST, this.tenant, at.topic, at.nowMs, at.firstOffset, list);
    }
    const shape = isAllPlain ? PLAIN : GENERAL;
    let stored = 0;
    for (let next = 0; next < messages.length; next += shape.maxRows) {
      const rows = messages.slice(next, next + shape.maxRows);
      const params: SqlParam[] = [this.tenant, at.topic, at.nowMs, at.firstOffset + next];
      for (const message of rows) shape.bind(message, params);
      stored += this.sql.run(insertText(shape, rows.length), ...params);
    }
    return stored;
  }

  /** From `topic` into the dead-letter topic of the placement. */
  copyToDeadLetters(topic: string, at: Placement, copies: readonly DeadLetterCopy[]): number {
    const list = JSON.stringify(copies);
    return this.sql.run(COPY_TO_DEAD_LETTERS, this.tenant, topic, at.topic, at.nowMs, at.firstOffset, list);
  }

  /** From `deadLetterTopic` into the topic of the placement. */
  redrive(deadLetterTopic: string, at: Placement, offsets: readonly number[]): number {
    const list = JSON.stringify(offsets);
    return this.sql.run(REDRIVE, this.tenant, at.topic, deadLetterTopic, at.nowMs, at.firstOffset, list);
  }
}

/** A lone surrogate would come out of the list changed; as a parameter it is refused. */
function fitList(messages: readonly NewMessage[]): boolean {
  let chars = 0;
  for (const { partitionKey, id, body } of messages) {
    if (typeof body !== "string") return false;
    chars += partitionKey.length + id.length + body.length;
    if (!body.isWellFormed() || !id.isWellFormed() || !partitionKey.isWellFormed()) return false;
  }
  return chars <= MAX_LIST_CHARS;
}

function isPlain(message: NewMessage): boolean {
  return message.contentType === null && message.headers === "" && message.delayMs === 0;
}
