import { BODY, BODY_BYTES } from "../load/messages.ts";
import { TENANT } from "../server.ts";
import type { VitessPlace } from "./place.ts";

/** Rows put into the tables by statements of the database's own, as the product would have left them. */
export interface Fill {
  topic: string;
  /** Number of the first message; the others follow it. */
  first: number;
  count: number;
  /** Messages take turns: number n has key `${prefix}-${n % partitions}`. */
  partitions: number;
  prefix: string;
  /** How long ago the last one was published. */
  ageMs: number;
}

const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);
/** Between two messages; a thousand a second. */
const SPACING_MICROS = 1000;
/** Rows of one statement, and of one commit. */
const CHUNK_ROWS = 50_000;

/** An SQL expression for the offset of the message at the place `seq`, counted from 0. */
export function offsetSql({ count, ageMs }: Fill, nowMs: number): string {
  const last = (nowMs - ageMs - OFFSET_EPOCH_MS) * 1000;
  return `${last - (count - 1) * SPACING_MICROS} + seq * ${SPACING_MICROS}`;
}

/** Statements that make the messages, none of them larger than a chunk. */
export function messagesSql(fill: Fill, nowMs: number): string[] {
  const { topic, first, partitions, prefix } = fill;
  const offset = offsetSql(fill, nowMs);
  const publishedMs = `${OFFSET_EPOCH_MS} + (${offset}) DIV 1000`;
  return chunks(fill.count).map(
    (range) => `INSERT INTO queue_messages (tenant, topic, message_offset, partition_key, message_id, origin,
       target_group, published_at_ms, due_at_ms, delayed_due_at_ms, content_type, headers, dead_letter, body_bytes, body)
     SELECT '${TENANT}', '${topic}', ${offset}, concat('${prefix}-', (${first} + seq) MOD ${partitions}),
       concat('m-', lpad(${first} + seq, 9, '0')), '', NULL, ${publishedMs}, ${publishedMs}, NULL, NULL, '', NULL,
       ${BODY_BYTES}, '${BODY}'
     FROM ${range}`,
  );
}

/** Statements that make a checkpoint for each message, which says that the group settled it. */
export function settledSql(fill: Fill, group: string, generation: string, nowMs: number): string[] {
  const { topic, first, partitions, prefix } = fill;
  const offset = offsetSql(fill, nowMs);
  return chunks(fill.count).map(
    (range) => `INSERT INTO queue_offsets (tenant, topic, group_name, partition_key, generation, reset_epoch,
       acked_offset, unsettled, acked_above, due_at_ms, due_offset, reset_offset)
     SELECT '${TENANT}', '${topic}', '${group}', concat('${prefix}-', (${first} + seq) MOD ${partitions}),
       ${generation}, 0, ${offset}, '', '', 0, 0, 0
     FROM ${range}`,
  );
}

function chunks(count: number): string[] {
  const ranges: string[] = [];
  for (let from = 0; from < count; from += CHUNK_ROWS) {
    ranges.push(`seq_${from}_to_${Math.min(count, from + CHUNK_ROWS) - 1}`);
  }
  return ranges;
}

/** Published long ago, and delivered to nobody. */
export async function fillMessages({ mariaDb, database }: VitessPlace, fill: Fill): Promise<void> {
  for (const sql of messagesSql(fill, Date.now())) await mariaDb.runSql(sql, database);
}

/** The same, settled by the group; each message must be of a partition of its own. */
export async function fillSettled(
  { mariaDb, database }: VitessPlace,
  fill: Fill,
  group: string,
): Promise<void> {
  if (fill.partitions < fill.count) throw new RangeError("a checkpoint is of one message here");
  const [row] = await mariaDb.runSql(
    `SELECT generation FROM queue_groups
     WHERE tenant = '${TENANT}' AND topic = '${fill.topic}' AND group_name = '${group}'`,
    database,
  );
  if (row === undefined) throw new Error(`there is no group ${group}`);
  const nowMs = Date.now();
  for (const sql of messagesSql(fill, nowMs)) await mariaDb.runSql(sql, database);
  for (const sql of settledSql(fill, group, String(row.generation), nowMs)) {
    await mariaDb.runSql(sql, database);
  }
}
