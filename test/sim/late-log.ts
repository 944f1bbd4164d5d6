import { assert } from "../../src/core/assert.ts";
import { HeadersBudget } from "../../src/core/headers-budget.ts";
import { MAX_BATCH_MESSAGES, MAX_EXACT_COUNT } from "../../src/core/limits.ts";
import { deadLetterTopicOf, type TopicSettings } from "../../src/core/settings.ts";
import {
  type AppendOutcome,
  type CountRead,
  type DeadLetterCopy,
  type DuePage,
  type DueRead,
  type GroupRecord,
  type ListRead,
  MAX_CHECKPOINT_BYTES,
  MAX_DELETE_RANGE_ENTRIES,
  MAX_SCAN_ENTRIES,
  MAX_SCAN_HEADERS_BYTES,
  type MessageLog,
  type NewMessage,
  type OffsetRange,
  type PartitionCheckpoint,
  type PartitionPage,
  type PartitionProgress,
  type PartitionRead,
  type PartitionReset,
  type PartitionTail,
  type ScanPage,
  type StoredEntry,
  type StoredMessage,
  type TopicRead,
  type TopicRecord,
} from "../../src/log/message-log.ts";
import { logUnreachable } from "./gated-log.ts";
import type { LateDatabase } from "./late-database.ts";
import {
  compareDue,
  deadLetterOf,
  firstPlaces,
  pageOf,
  published,
  publishedRows,
  redrivenOf,
  storedEntryOf,
} from "./late-rows.ts";
import { byBytes, type LateSettings } from "./late-settings.ts";
import { type ClockReading, type LateTable, offsetAtMs } from "./late-table.ts";

/** A statement that lasted longer may have been read past: its publish is late. Milliseconds. */
const LATE_AFTER_MS = 20;
/** Inserts that meet try again; each meets others. */
const MAX_TRIES = 20;
const MAX_FOUND = 100;

/**
 * A message log outside the object, in memory: offsets are the database's clock when an insert begins, and are
 * seen when it commits, which may be much later and in another order. What a read returns is what was committed
 * when it ran.
 */
export class LateLog implements MessageLog {
  readonly commitHorizonMs: number;
  private readonly tenant: string;
  private readonly database: LateDatabase;
  private readonly settings: LateSettings;

  constructor(tenant: string, database: LateDatabase, options: { commitHorizonMs: number }) {
    this.tenant = tenant;
    this.database = database;
    this.settings = database.settings(tenant);
    this.commitHorizonMs = options.commitHorizonMs;
  }

  async append(topic: string, messages: readonly NewMessage[]): Promise<AppendOutcome> {
    assert(messages.length <= MAX_BATCH_MESSAGES, "a batch is larger than a publish may be");
    if (messages.length === 0) return { results: [], stored: null, late: false };
    this.settings.openTopic(topic, "within limits");
    const table = this.table(topic);
    const first = firstPlaces(messages);
    const known = new Map<number, StoredMessage>();
    let late = false;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const fresh = [...first].filter((place) => !known.has(place));
      if (fresh.length === 0) return this.outcome(messages.length, [], known, late);
      const inserted = await table.insert((at) => publishedRows(messages, fresh, at));
      if (inserted.kind === "stored") {
        return this.outcome(
          messages.length,
          fresh,
          known,
          late || inserted.tookMs > LATE_AFTER_MS,
          inserted.rows,
        );
      }
      if (inserted.kind !== "collision") await this.database.world.betweenStatements();
      if (inserted.kind === "deadlock") late = true;
      if (inserted.kind !== "duplicate") continue;
      for (const place of first) {
        const row = table.find(published(messages[place] as NewMessage));
        if (row) known.set(place, row);
      }
    }
    throw logUnreachable();
  }

  private outcome(
    count: number,
    fresh: readonly number[],
    known: ReadonlyMap<number, StoredMessage>,
    late: boolean,
    rows: readonly StoredMessage[] = [],
  ): AppendOutcome {
    const isFresh = new Set(fresh);
    const youngAfter = offsetAtMs(this.database.clock.read().nowMs - this.commitHorizonMs);
    const young = [...known.values()].map(({ offset }) => offset).filter((offset) => offset > youngAfter);
    const offsets = [...rows.map(({ offset }) => offset), ...young];
    // The reply of an insert does not always tell its offsets.
    const told = rows.length === 0 || this.database.tellsOffsets;
    return {
      results: Array.from({ length: count }, (_, place) => ({ duplicate: !isFresh.has(place) })),
      stored:
        offsets.length > 0 && told
          ? { lowestOffset: Math.min(...offsets), highestOffset: Math.max(...offsets) }
          : null,
      late: late || young.length > 0,
    };
  }

  async scanTopic(topic: string, read: TopicRead): Promise<ScanPage> {
    assertPage(read.maxEntries);
    const { nowMs } = this.database.clock.read();
    const found = this.table(topic).between(read.afterOffset, read.throughOffset ?? Number.MAX_SAFE_INTEGER);
    return { ...pageOf(found, read, new HeadersBudget(MAX_SCAN_HEADERS_BYTES)), nowMs };
  }

  async scanPartitions(topic: string, reads: readonly PartitionRead[]): Promise<PartitionPage[]> {
    assert(reads.length <= MAX_SCAN_ENTRIES, "too many partitions in one read");
    const budget = new HeadersBudget(MAX_SCAN_HEADERS_BYTES);
    return reads.map((read) => {
      assertPage(read.maxEntries);
      const found = this.table(topic).between(read.afterOffset, read.throughOffset);
      const own = found.filter(({ partitionKey }) => partitionKey === read.partitionKey);
      return pageOf(own, read, budget);
    });
  }

  async scanDue(topic: string, read: DueRead): Promise<DuePage> {
    assertPage(read.maxEntries);
    const waiting = this.table(topic)
      .rows.filter((row) => row.delayed && compareDue(row, read.after) > 0)
      .sort(compareDue);
    const due = waiting.filter(({ dueAtMs }) => dueAtMs <= read.throughDueMs);
    const page = pageOf(due, read, new HeadersBudget(MAX_SCAN_HEADERS_BYTES));
    return { ...page, nextDueAtMs: waiting[page.entries.length]?.dueAtMs ?? null };
  }

  async listPartitions(
    topic: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<PartitionTail[]> {
    assertPage(read.maxPartitions);
    // In the order of offsets, so that the last one stays.
    const latest = new Map(this.table(topic).rows.map(({ partitionKey, offset }) => [partitionKey, offset]));
    return [...latest]
      .filter(([key]) => read.afterKey === null || byBytes(key, read.afterKey) > 0)
      .sort(([a], [b]) => byBytes(a, b))
      .slice(0, read.maxPartitions)
      .map(([partitionKey, latestOffset]) => ({ partitionKey, latestOffset }));
  }

  async readMessages(topic: string, offsets: readonly number[]): Promise<StoredMessage[]> {
    assert(offsets.length <= MAX_SCAN_ENTRIES, "too many offsets in one read");
    const table = this.table(topic);
    return [...new Set(offsets)].flatMap((offset) => structuredClone(table.at(offset)) ?? []);
  }

  async findEntries(topic: string, id: string, partitionKey: string): Promise<StoredEntry[]> {
    return this.table(topic)
      .rows.filter((row) => row.id === id && row.partitionKey === partitionKey)
      .sort((a, b) => byBytes(a.origin, b.origin))
      .slice(0, MAX_FOUND)
      .map(storedEntryOf);
  }

  async copyToDeadLetters(topic: string, copies: readonly DeadLetterCopy[]): Promise<{ copied: number }> {
    assert(copies.length <= MAX_SCAN_ENTRIES, "too many copies in one call");
    if (copies.length === 0) return { copied: 0 };
    const deadLetterTopic = deadLetterTopicOf(topic);
    this.settings.openTopic(deadLetterTopic, "always");
    const source = this.table(topic);
    const target = this.table(deadLetterTopic);
    const copied = await this.insertNew(target, (at) =>
      copies.flatMap((copy, place) => {
        const row = source.at(copy.offset);
        if (!row || target.find({ ...row, origin: copy.origin })) return [];
        return [deadLetterOf(topic, row, copy, at, place)];
      }),
    );
    return { copied };
  }

  async redrive(topic: string, deadLetterOffsets: readonly number[]): Promise<{ redriven: number }> {
    assert(deadLetterOffsets.length <= MAX_SCAN_ENTRIES, "too many dead letters in one call");
    const letters = this.table(deadLetterTopicOf(topic));
    const target = this.table(topic);
    const leaving = [...new Set(deadLetterOffsets)]
      .sort((a, b) => a - b)
      .flatMap((offset) => letters.at(offset) ?? [])
      .filter(({ deadLetter }) => deadLetter !== null && this.settings.isLive(topic, deadLetter.group));
    if (leaving.length === 0) return { redriven: 0 };
    this.settings.openTopic(topic, "always");
    await this.insertNew(target, (at) =>
      leaving
        .map((letter, place) => redrivenOf(letter, at, place))
        .filter((row) => target.find(row) === undefined),
    );
    await this.database.world.betweenStatements();
    let redriven = 0;
    for (const { offset } of leaving) redriven += letters.remove(offset, offset);
    return { redriven };
  }

  /** Rows that exist already are left out by `rowsAt`; those that others are just making are waited for. */
  private async insertNew(table: LateTable, rowsAt: (at: ClockReading) => StoredMessage[]): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const inserted = await table.insert(rowsAt);
      if (inserted.kind === "stored") return inserted.rows.length;
    }
    throw logUnreachable();
  }

  async listMessages(topic: string, read: ListRead): Promise<StoredEntry[]> {
    assertPage(read.maxEntries);
    const found = this.table(topic)
      .between(read.afterOffset, Number.MAX_SAFE_INTEGER)
      .filter(({ partitionKey }) => read.partitionKey === undefined || partitionKey === read.partitionKey);
    const page = read.fromEnd ? found.slice(-read.maxEntries) : found.slice(0, read.maxEntries);
    return page.map(storedEntryOf);
  }

  async deleteRanges(topic: string, ranges: readonly OffsetRange[]): Promise<{ deleted: number }> {
    assert(ranges.length <= MAX_SCAN_ENTRIES, "too many ranges in one call");
    let deleted = 0;
    for (const { first, last } of ranges) deleted += this.table(topic).remove(first, last);
    return { deleted };
  }

  async purge(
    topic: string,
    purge: { throughOffset: number; maxEntries: number },
  ): Promise<{ deleted: number }> {
    assert(purge.maxEntries >= 1 && purge.maxEntries <= MAX_DELETE_RANGE_ENTRIES, "purge out of bounds");
    const table = this.table(topic);
    const oldest = table.between(0, purge.throughOffset).slice(0, purge.maxEntries);
    const last = oldest.at(-1);
    return { deleted: last ? table.remove(0, last.offset) : 0 };
  }

  async countEntries(topic: string, read: CountRead): Promise<number> {
    assert(read.maxCount >= 0 && read.maxCount <= 10 * MAX_EXACT_COUNT, "count out of bounds");
    const { partitionKey, forGroup } = read;
    const found = this.table(topic)
      .between(read.afterOffset, read.throughOffset ?? Number.MAX_SAFE_INTEGER)
      .filter((row) => partitionKey === undefined || row.partitionKey === partitionKey)
      .filter(
        ({ targetGroup }) => forGroup === undefined || targetGroup === null || targetGroup === forGroup,
      );
    return Math.min(found.length, read.maxCount);
  }

  async tail(topic: string): Promise<{ offset: number; nowMs: number }> {
    const { nowMs } = this.database.clock.read();
    return { offset: this.table(topic).rows.at(-1)?.offset ?? 0, nowMs };
  }

  async loadTopics(): Promise<TopicRecord[]> {
    return this.settings.allTopics();
  }

  async loadTopic(topic: string): Promise<TopicRecord | null> {
    return this.settings.topic(topic);
  }

  async saveTopic(topic: string, settings: TopicSettings): Promise<void> {
    this.settings.saveTopic(topic, settings);
  }

  async loadGroups(topic: string): Promise<GroupRecord[]> {
    return this.settings.groupsOf(topic);
  }

  async loadAllGroups(): Promise<{ topic: string; record: GroupRecord }[]> {
    return this.settings.allGroups();
  }

  async saveGroup(topic: string, record: GroupRecord): Promise<void> {
    this.settings.saveGroup(topic, record, this.database.clock.read().nowMs);
  }

  async saveProgress(topic: string, group: string, progress: readonly PartitionCheckpoint[]): Promise<void> {
    assert(progress.length <= MAX_SCAN_ENTRIES, "too many partitions in one save");
    for (const one of progress) {
      const bytes = one.unsettled.length + one.ackedAbove.length;
      assert(bytes <= MAX_CHECKPOINT_BYTES, "a checkpoint is larger than its column");
      this.settings.saveProgress(topic, group, one);
    }
  }

  async saveReset(topic: string, group: string, reset: PartitionReset): Promise<void> {
    this.settings.saveReset(topic, group, reset);
  }

  async loadProgress(
    topic: string,
    group: string,
    partitionKeys: readonly string[],
  ): Promise<PartitionProgress[]> {
    assert(partitionKeys.length <= MAX_SCAN_ENTRIES, "too many partitions in one load");
    return this.settings.progressOf(topic, group, partitionKeys);
  }

  async highestResetEpoch(topic: string, group: string, generation: number): Promise<number> {
    return this.settings.highestResetEpoch(topic, group, generation);
  }

  async listEmptyPartitions(
    topic: string,
    group: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<{ emptyKeys: string[]; resumeAfterKey: string | null }> {
    assertPage(read.maxPartitions);
    const keys = this.settings.progressKeys(topic, group, read.afterKey, read.maxPartitions + 1);
    const page = keys.slice(0, read.maxPartitions);
    const held = new Set(this.table(topic).rows.map(({ partitionKey }) => partitionKey));
    return {
      emptyKeys: page.filter((key) => !held.has(key)),
      resumeAfterKey: keys.length > page.length ? (page.at(-1) ?? null) : null,
    };
  }

  async deleteProgress(topic: string, group: string, partitionKeys: readonly string[] | null): Promise<void> {
    this.settings.deleteProgress(topic, group, partitionKeys);
  }

  private table(topic: string): LateTable {
    return this.database.table(this.tenant, topic);
  }
}

function assertPage(maxEntries: number): void {
  assert(maxEntries >= 1 && maxEntries <= MAX_SCAN_ENTRIES, "page size out of bounds");
}
