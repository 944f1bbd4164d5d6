import type { OffsetRange } from "../message-log.ts";
import { chunksOf } from "./chunks.ts";
import type { Executed, Operation } from "./database.ts";
import { repeated, type Statement, sized, writeStatement } from "./statement.ts";

const OF_TOPIC = "tenant = ? AND topic = ?";
const MAX_RANGES_PER_DELETE = 100;
/** Rows deleted by one statement: its locks and its replication stay short. */
const MAX_ROWS_PER_DELETE = 5000;
/** Of one set of ranges; they are as long as their caller read them, so fewer are enough. */
const MAX_DELETE_ROUNDS = 200;

const deleteRanges = sized((ranges) =>
  writeStatement(
    "delete ranges",
    `DELETE FROM queue_messages WHERE ${OF_TOPIC}
     AND (${repeated("message_offset BETWEEN ? AND ?", ranges, " OR ")}) LIMIT ${MAX_ROWS_PER_DELETE}`,
    { isIdempotent: true },
  ),
);
/** Not sent twice: it would take further messages. */
const PURGE = writeStatement(
  "purge",
  `DELETE FROM queue_messages WHERE ${OF_TOPIC} AND message_offset <= ? ORDER BY message_offset LIMIT ?`,
  { isIdempotent: false },
);

const deleteOffsets = sized((offsets) =>
  writeStatement(
    "delete offsets",
    `DELETE FROM queue_messages WHERE ${OF_TOPIC} AND message_offset IN (${repeated("?", offsets)})`,
    { isIdempotent: true },
  ),
);

export const MESSAGE_DELETE_STATEMENTS: readonly Statement[] = [
  ...[1, 2, 3].map(deleteRanges),
  ...[1, 2, 3].map(deleteOffsets),
  PURGE,
];

/** The statements that delete messages. None deletes without a bound. */
export class MessageDelete {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** At most a chunk of offsets. */
  deleteOffsets(run: Operation, topic: string, offsets: readonly number[]): Promise<Executed> {
    return run.execute(deleteOffsets(offsets.length), [this.tenant, topic, ...offsets]);
  }

  /** Each statement has a budget of its own: there may be many ranges, and what was deleted stays deleted. */
  async deleteRanges(begin: () => Operation, topic: string, ranges: readonly OffsetRange[]): Promise<number> {
    let deleted = 0;
    for (const { items } of chunksOf(ranges, MAX_RANGES_PER_DELETE)) {
      const params = [this.tenant, topic, ...items.flatMap(({ first, last }) => [first, last])];
      for (let round = 0; round < MAX_DELETE_ROUNDS; round++) {
        const { rowsAffected } = await begin().execute(deleteRanges(items.length), params);
        deleted += rowsAffected;
        if (rowsAffected < MAX_ROWS_PER_DELETE) break;
      }
    }
    return deleted;
  }

  async purge(run: Operation, topic: string, throughOffset: number, maxEntries: number): Promise<number> {
    const { rowsAffected } = await run.execute(PURGE, [this.tenant, topic, throughOffset, maxEntries]);
    return rowsAffected;
  }
}
