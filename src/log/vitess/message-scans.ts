import { HeadersBudget } from "../../core/headers-budget.ts";
import {
  type DuePage,
  type DueRead,
  MAX_SCAN_ENTRIES,
  MAX_SCAN_HEADERS_BYTES,
  type PartitionPage,
  type PartitionRead,
  type ScanPage,
  type TopicRead,
} from "../message-log.ts";
import type { Operation } from "./database.ts";
import {
  BY_OFFSET,
  BY_PARTITION,
  ENTRY_COLUMNS,
  HEADED_COLUMNS,
  type HeadedEntry,
  scannedOf,
} from "./message-rows.ts";
import { number, numberOrNull, type SqlRow, text } from "./result-rows.ts";
import { cutPage, type FoundPage, missingHeaders, pageWith } from "./scan-page.ts";
import type { SqlParam } from "./sql-text.ts";
import { CLOCK, clockMs, readStatement, repeated, type Statement, sized } from "./statement.ts";

const OF_TOPIC = "tenant = ? AND topic = ?";
const BY_DUE = "queue_messages FORCE INDEX (queue_messages_by_due)";
const AFTER_DUE = "delayed_due_at_ms >= ? AND (delayed_due_at_ms > ? OR message_offset > ?)";
const EVER = Number.MAX_SAFE_INTEGER;
/** Partitions read by one statement: it stays small for Vitess to plan. */
const MAX_PARTITIONS_PER_READ = 50;
/** A Vitess as it comes refuses results of more; PlanetScale allows ten times as many. */
const MAX_ROWS_PER_READ = 10_000;
/** With headers: no more than one page may have, so that no result is larger than one page. */
const MAX_HEADED_ROWS_PER_READ = MAX_SCAN_ENTRIES;

interface ScanStatements {
  topic: Statement;
  partitions: (reads: number) => Statement;
  due: Statement;
}

/** `suffix` tells the statements with other columns from the plain ones. */
function scanStatements(columns: readonly string[], suffix: string): ScanStatements {
  const selected = columns.join(", ");
  return {
    // The topic's row gives the clock where no entry does. Not a join: the planner would read all entries to the end
    // and sort them.
    topic: readStatement(
      `scan topic${suffix}`,
      `(SELECT ${CLOCK} AS clock, ${selected} FROM ${BY_OFFSET}
        WHERE ${OF_TOPIC} AND message_offset > ? AND message_offset <= ? ORDER BY message_offset LIMIT ?)
       UNION ALL
       (SELECT ${CLOCK} AS clock, ${columns.map(() => "NULL").join(", ")} FROM queue_topics
        WHERE ${OF_TOPIC} LIMIT 1)`,
    ),
    partitions: sized((reads) =>
      readStatement(
        `scan partitions${suffix}`,
        repeated(
          `(SELECT ? AS place, ${selected} FROM ${BY_PARTITION}
            WHERE ${OF_TOPIC} AND partition_key = ? AND message_offset > ? AND message_offset <= ?
            ORDER BY message_offset LIMIT ?)`,
          reads,
          " UNION ALL ",
        ),
      ),
    ),
    // What is due, and the first one that is not.
    due: readStatement(
      `scan due${suffix}`,
      `(SELECT 1 AS is_due, ${selected} FROM ${BY_DUE}
        WHERE ${OF_TOPIC} AND ${AFTER_DUE} AND delayed_due_at_ms <= ?
        ORDER BY delayed_due_at_ms, message_offset LIMIT ?)
       UNION ALL
       (SELECT 0 AS is_due, ${selected} FROM ${BY_DUE}
        WHERE ${OF_TOPIC} AND ${AFTER_DUE} ORDER BY delayed_due_at_ms, message_offset LIMIT 1)`,
    ),
  };
}
const PLAIN = scanStatements(ENTRY_COLUMNS, "");
const HEADED = scanStatements(HEADED_COLUMNS, " with headers");
/** Of entries whose headers did not come with a scan. */
const readHeaders = sized((offsets) =>
  readStatement(
    "read headers",
    `SELECT message_offset, headers FROM queue_messages
     WHERE ${OF_TOPIC} AND message_offset IN (${repeated("?", offsets)})`,
  ),
);
export const MESSAGE_SCAN_STATEMENTS: readonly Statement[] = [
  ...[PLAIN, HEADED].flatMap(({ topic, partitions, due }) => [topic, ...[1, 2, 3].map(partitions), due]),
  ...[1, 2, 3].map(readHeaders),
];

/**
 * The statements that scan messages for dispatch. A page is what one statement shows, at one instant. With headers its
 * rows carry those of usual size; longer ones are read by offset once it is known how far the page goes.
 */
export class MessageScans {
  private readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  /** null when there is no such topic. */
  async topic(run: Operation, topic: string, read: TopicRead): Promise<ScanPage | null> {
    const { afterOffset, throughOffset = EVER, maxEntries } = read;
    const of = [this.tenant, topic];
    const { rows } = await run.execute(statementsFor(read).topic, [
      ...[...of, afterOffset, throughOffset, maxEntries + 1],
      ...of,
    ]);
    if (rows.length === 0) return null;
    // One value, as long as the union is one statement of one server; else the earliest is the safe one.
    const nowMs = clockMs(Math.min(...rows.map((row) => number(row, "clock"))));
    const found = rows.filter((row) => numberOrNull(row, "message_offset") !== null).map(scannedOf);
    // The parts of a union come in any order that the database likes.
    found.sort((a, b) => a.entry.offset - b.entry.offset);
    const page = await this.whole(
      run,
      topic,
      cutPage(found, read, new HeadersBudget(MAX_SCAN_HEADERS_BYTES)),
    );
    return { ...page, nowMs };
  }

  async partitions(run: Operation, topic: string, reads: readonly PartitionRead[]): Promise<PartitionPage[]> {
    const budget = new HeadersBudget(MAX_SCAN_HEADERS_BYTES);
    const pages: FoundPage[] = [];
    while (pages.length < reads.length) {
      const items = nextReads(reads, pages.length, budget);
      pages.push(...(await this.foundPages(run, topic, items, budget)));
    }
    const headers = await this.readHeaders(run, topic, pages);
    return pages.map((page) => pageWith(page, headers));
  }

  /** The pages of reads that fit into one statement. */
  private async foundPages(
    run: Operation,
    topic: string,
    reads: readonly PartitionRead[],
    budget: HeadersBudget,
  ): Promise<FoundPage[]> {
    const params = reads.flatMap((read, place): SqlParam[] => [
      ...[place, this.tenant, topic, read.partitionKey],
      ...[read.afterOffset, read.throughOffset, read.maxEntries + 1],
    ]);
    const statement = statementsFor(reads[0]).partitions(reads.length);
    const { rows } = await run.execute(statement, params);
    const found = reads.map((): HeadedEntry[] => []);
    for (const row of rows) found[number(row, "place")]?.push(scannedOf(row));
    return reads.map((read, place) => {
      const ofRead = found[place] ?? [];
      ofRead.sort((a, b) => a.entry.offset - b.entry.offset);
      return cutPage(ofRead, read, budget);
    });
  }

  /** Delayed entries after `after` that are due by `throughDueMs`. */
  async due(run: Operation, topic: string, read: DueRead): Promise<DuePage> {
    const { after, throughDueMs, maxEntries } = read;
    const later = after.dueAtMs > throughDueMs ? after : { dueAtMs: throughDueMs, offset: EVER };
    const { rows } = await run.execute(statementsFor(read).due, [
      ...[this.tenant, topic, after.dueAtMs, after.dueAtMs, after.offset, throughDueMs, maxEntries + 1],
      ...[this.tenant, topic, later.dueAtMs, later.dueAtMs, later.offset],
    ]);
    const isDue = (row: SqlRow) => number(row, "is_due") === 1;
    const found = rows.filter(isDue).map(scannedOf);
    found.sort((a, b) => a.entry.dueAtMs - b.entry.dueAtMs || a.entry.offset - b.entry.offset);
    const page = cutPage(found, read, new HeadersBudget(MAX_SCAN_HEADERS_BYTES));
    const first = rows.find((row) => !isDue(row));
    const laterDueAtMs = first ? number(first, "due_at_ms") : null;
    return {
      ...(await this.whole(run, topic, page)),
      nextDueAtMs: found[page.found.length]?.entry.dueAtMs ?? laterDueAtMs,
    };
  }

  private async whole(run: Operation, topic: string, page: FoundPage): Promise<PartitionPage> {
    return pageWith(page, await this.readHeaders(run, topic, [page]));
  }

  /** The headers that did not come with their rows, by offset. */
  private async readHeaders(
    run: Operation,
    topic: string,
    pages: readonly FoundPage[],
  ): Promise<Map<number, string>> {
    const headers = new Map<number, string>();
    for (const offsets of missingHeaders(pages)) {
      const { rows } = await run.execute(readHeaders(offsets.length), [this.tenant, topic, ...offsets]);
      for (const row of rows) headers.set(number(row, "message_offset"), text(row, "headers"));
    }
    return headers;
  }
}

function statementsFor(read: { withHeaders?: boolean } | undefined): ScanStatements {
  return read?.withHeaders ? HEADED : PLAIN;
}

/** The reads from `first` on that fit into one statement; at least one. */
function nextReads(reads: readonly PartitionRead[], first: number, budget: HeadersBudget): PartitionRead[] {
  const withHeaders = reads[first]?.withHeaders ?? false;
  const maxRows = withHeaders ? MAX_HEADED_ROWS_PER_READ : MAX_ROWS_PER_READ;
  const next: PartitionRead[] = [];
  let rows = 0;
  for (const read of reads.slice(first, first + MAX_PARTITIONS_PER_READ)) {
    if ((read.withHeaders ?? false) !== withHeaders) break;
    const maxEntries = withHeaders && budget.isSpent ? 1 : read.maxEntries;
    rows += maxEntries + 1;
    if (next.length > 0 && rows > maxRows) break;
    next.push({ ...read, maxEntries });
  }
  return next;
}
