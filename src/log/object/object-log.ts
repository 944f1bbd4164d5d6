import { assert } from "../../core/assert.ts";
import { fail } from "../../core/failure.ts";
import {
  MAX_BATCH_MESSAGES,
  MAX_EMBEDDED_BYTES,
  MAX_EXACT_COUNT,
  MAX_GROUPS_PER_TOPIC,
} from "../../core/limits.ts";
import { deadLetterTopicOf, type TopicSettings } from "../../core/settings.ts";
import { tombstonesToForget } from "../../core/tombstones.ts";
import type { Clock, Sql } from "../../durable/ports.ts";
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
} from "../message-log.ts";
import { GroupsTable } from "./groups-table.ts";
import { MessageInsert } from "./message-insert.ts";
import { MessageScans } from "./message-scans.ts";
import { MessagesTable } from "./messages-table.ts";
import { OffsetsTable } from "./offsets-table.ts";
import { classifySqliteFailure } from "./sqlite-failure.ts";
import { StorageGauge } from "./storage-gauge.ts";
import { TopicTails } from "./topic-tails.ts";
import { TopicsTable } from "./topics-table.ts";

/**
 * The message log inside the tenant object's own SQLite: no message passes between deciding and writing,
 * so a batch is one synchronous transaction. One instance at a time per tenant and database.
 */
export class ObjectLog implements MessageLog {
  /** Offsets are given and committed in one synchronous transaction. */
  readonly commitHorizonMs = 0;
  private readonly sql: Sql;
  private readonly clock: Clock;
  private readonly messages: MessagesTable;
  private readonly scans: MessageScans;
  private readonly insert: MessageInsert;
  private readonly topics: TopicsTable;
  private readonly groups: GroupsTable;
  private readonly offsets: OffsetsTable;
  private readonly tails: TopicTails;
  private readonly gauge: StorageGauge;

  constructor(tenant: string, sql: Sql, clock: Clock, limits: { maxBytes?: number } = {}) {
    this.sql = sql;
    this.clock = clock;
    this.messages = new MessagesTable(tenant, sql);
    this.scans = new MessageScans(tenant, sql);
    this.insert = new MessageInsert(tenant, sql);
    this.topics = new TopicsTable(tenant, sql);
    this.groups = new GroupsTable(tenant, sql);
    this.offsets = new OffsetsTable(tenant, sql);
    this.tails = new TopicTails(this.topics, this.messages);
    this.gauge = new StorageGauge(sql, limits.maxBytes ?? MAX_EMBEDDED_BYTES);
  }

  async append(topic: string, messages: readonly NewMessage[]): Promise<AppendOutcome> {
    assert(messages.length <= MAX_BATCH_MESSAGES, "a batch is larger than a publish may be");
    return this.write(() => this.appendBatch(topic, messages));
  }

  /**
   * `append` without a transaction of its own: the caller holds one, and rolls it back when this throws.
   * It may join publishes to one topic into one call; results come in the same order.
   */
  appendBatch(topic: string, messages: readonly NewMessage[]): AppendOutcome {
    assert(messages.length <= MAX_SCAN_ENTRIES, "too many messages for one append");
    if (messages.length === 0) return { results: [], stored: null, late: false };
    return this.classified(() => {
      this.gauge.admit(messages);
      const nowMs = this.clock.nowMs();
      this.tails.open(topic, "within limits");
      const firstOffset = this.tails.give(topic, messages.length, nowMs);
      const stored = this.insert.append({ topic, firstOffset, nowMs }, messages);
      if (stored === messages.length) {
        return {
          results: messages.map(() => ({ duplicate: false })),
          stored: { lowestOffset: firstOffset, highestOffset: firstOffset + messages.length - 1 },
          late: false,
        };
      }
      return this.outcomeWithDuplicates(topic, firstOffset, messages.length);
    });
  }

  async scanTopic(topic: string, read: TopicRead): Promise<ScanPage> {
    assertPage(read.maxEntries);
    return this.classified(() => {
      const { entries, reachedEnd } = this.scans.topic(topic, read);
      return { entries, reachedEnd, nowMs: this.clock.nowMs() };
    });
  }

  async scanPartitions(topic: string, reads: readonly PartitionRead[]): Promise<PartitionPage[]> {
    assert(reads.length <= MAX_SCAN_ENTRIES, "too many partitions in one read");
    for (const { maxEntries } of reads) assertPage(maxEntries);
    return this.classified(() =>
      this.scans.partitions(topic, reads).map(({ entries, reachedEnd }) => ({ entries, reachedEnd })),
    );
  }

  async scanDue(topic: string, read: DueRead): Promise<DuePage> {
    assertPage(read.maxEntries);
    return this.classified(() => {
      const { entries, reachedEnd, next } = this.scans.due(topic, read);
      if (next) return { entries, reachedEnd, nextDueAtMs: next.dueAtMs };
      const last = entries.at(-1) ?? read.after;
      return { entries, reachedEnd, nextDueAtMs: this.scans.firstDueAfter(topic, last) };
    });
  }

  async listPartitions(
    topic: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<PartitionTail[]> {
    assertPage(read.maxPartitions);
    return this.classified(() => this.messages.listPartitions(topic, read.afterKey, read.maxPartitions));
  }

  async readMessages(topic: string, offsets: readonly number[]): Promise<StoredMessage[]> {
    assert(offsets.length <= MAX_SCAN_ENTRIES, "too many offsets in one read");
    return this.classified(() => this.messages.readByOffset(topic, [...new Set(offsets)]));
  }

  async findEntries(topic: string, id: string, partitionKey: string): Promise<StoredEntry[]> {
    return this.classified(() => this.messages.findById(topic, id, partitionKey));
  }

  async copyToDeadLetters(topic: string, copies: readonly DeadLetterCopy[]): Promise<{ copied: number }> {
    assert(copies.length <= MAX_SCAN_ENTRIES, "too many copies in one call");
    if (copies.length === 0) return { copied: 0 };
    return this.write(() => {
      const nowMs = this.clock.nowMs();
      const deadLetterTopic = deadLetterTopicOf(topic);
      this.tails.open(deadLetterTopic, "always");
      const firstOffset = this.tails.give(deadLetterTopic, copies.length, nowMs);
      const at = { topic: deadLetterTopic, firstOffset, nowMs };
      return { copied: this.insert.copyToDeadLetters(topic, at, copies) };
    });
  }

  /** Dead letters whose group no longer exists stay where they are. */
  async redrive(topic: string, deadLetterOffsets: readonly number[]): Promise<{ redriven: number }> {
    assert(deadLetterOffsets.length <= MAX_SCAN_ENTRIES, "too many dead letters in one call");
    return this.write(() => {
      const deadLetterTopic = deadLetterTopicOf(topic);
      const leaving = this.messages.redrivable(topic, deadLetterTopic, [...new Set(deadLetterOffsets)]);
      if (leaving.length === 0) return { redriven: 0 };
      const nowMs = this.clock.nowMs();
      this.tails.open(topic, "always");
      const firstOffset = this.tails.give(topic, leaving.length, nowMs);
      this.insert.redrive(deadLetterTopic, { topic, firstOffset, nowMs }, leaving);
      const redriven = this.messages.deleteByOffset(deadLetterTopic, leaving);
      this.topics.raiseCollected(deadLetterTopic, leaving.at(-1) ?? 0);
      return { redriven };
    });
  }

  async listMessages(topic: string, read: ListRead): Promise<StoredEntry[]> {
    assertPage(read.maxEntries);
    return this.classified(() => this.messages.list(topic, read));
  }

  async deleteRanges(topic: string, ranges: readonly OffsetRange[]): Promise<{ deleted: number }> {
    assert(ranges.length <= MAX_SCAN_ENTRIES, "too many ranges in one call");
    return this.write(() => ({ deleted: this.remove(topic, ranges) }));
  }

  async purge(
    topic: string,
    purge: { throughOffset: number; maxEntries: number },
  ): Promise<{ deleted: number }> {
    assert(purge.maxEntries >= 1 && purge.maxEntries <= MAX_DELETE_RANGE_ENTRIES, "purge out of bounds");
    return this.write(() => {
      const last = this.messages.offsetAt(topic, purge.throughOffset, purge.maxEntries - 1);
      return { deleted: this.remove(topic, [{ first: 0, last: last ?? purge.throughOffset }]) };
    });
  }

  async countEntries(topic: string, read: CountRead): Promise<number> {
    assert(read.maxCount >= 0 && read.maxCount <= 10 * MAX_EXACT_COUNT, "count out of bounds");
    return this.classified(() => this.messages.count(topic, read));
  }

  async tail(topic: string): Promise<{ offset: number; nowMs: number }> {
    return this.classified(() => ({ offset: this.tails.highestGiven(topic), nowMs: this.clock.nowMs() }));
  }

  async loadTopics(): Promise<TopicRecord[]> {
    return this.classified(() => this.topics.list());
  }

  async loadTopic(topic: string): Promise<TopicRecord | null> {
    return this.classified(() => this.topics.load(topic));
  }

  async saveTopic(topic: string, settings: TopicSettings): Promise<void> {
    this.write(() => {
      this.tails.open(topic, "within limits");
      this.topics.save(topic, settings);
    });
  }

  async loadGroups(topic: string): Promise<GroupRecord[]> {
    return this.classified(() => this.groups.list(topic));
  }

  async loadAllGroups(): Promise<{ topic: string; record: GroupRecord }[]> {
    return this.classified(() => this.groups.listAll());
  }

  async saveGroup(topic: string, record: GroupRecord): Promise<void> {
    this.write(() => {
      const others = this.groups.list(topic).filter(({ group }) => group !== record.group);
      if (record.deletedAtMs === null) {
        const live = others.filter(({ deletedAtMs }) => deletedAtMs === null).length;
        if (live >= MAX_GROUPS_PER_TOPIC) {
          fail("rate-limited", `topic ${topic} has ${MAX_GROUPS_PER_TOPIC} groups, the most it may have`);
        }
      }
      this.groups.save(topic, record);
      for (const group of tombstonesToForget(others, this.clock.nowMs())) this.groups.remove(topic, group);
    });
  }

  async saveProgress(topic: string, group: string, progress: readonly PartitionCheckpoint[]): Promise<void> {
    assert(progress.length <= MAX_SCAN_ENTRIES, "too many partitions in one save");
    for (const { unsettled, ackedAbove } of progress) {
      assert(unsettled.length + ackedAbove.length <= MAX_CHECKPOINT_BYTES, "a checkpoint is too large");
    }
    this.write(() => {
      const generation = this.groups.liveGeneration(topic, group);
      for (const one of progress) {
        if (one.generation === generation) this.offsets.save(topic, group, one);
      }
    });
  }

  async saveReset(topic: string, group: string, reset: PartitionReset): Promise<void> {
    this.write(() => {
      if (reset.generation === this.groups.liveGeneration(topic, group)) {
        this.offsets.saveReset(topic, group, reset);
      }
    });
  }

  async loadProgress(
    topic: string,
    group: string,
    partitionKeys: readonly string[],
  ): Promise<PartitionProgress[]> {
    assert(partitionKeys.length <= MAX_SCAN_ENTRIES, "too many partitions in one load");
    return this.classified(() => this.offsets.load(topic, group, [...new Set(partitionKeys)]));
  }

  async highestResetEpoch(topic: string, group: string, generation: number): Promise<number> {
    return this.classified(() => this.offsets.highestResetEpoch(topic, group, generation));
  }

  async listEmptyPartitions(
    topic: string,
    group: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<{ emptyKeys: string[]; resumeAfterKey: string | null }> {
    assertPage(read.maxPartitions);
    return this.classified(() => {
      const page = this.offsets.listKeys(topic, group, read);
      const empty = page.filter(({ holdsMessages }) => !holdsMessages);
      const isFull = page.length === read.maxPartitions;
      return {
        emptyKeys: empty.map(({ partitionKey }) => partitionKey),
        resumeAfterKey: isFull ? (page.at(-1)?.partitionKey ?? null) : null,
      };
    });
  }

  async deleteProgress(topic: string, group: string, partitionKeys: readonly string[] | null): Promise<void> {
    this.write(() => {
      if (partitionKeys === null) this.offsets.removeGroup(topic, group);
      else this.offsets.remove(topic, group, partitionKeys);
    });
  }

  /** Which of the batch are stored is what stands at its offsets: nobody else was given them. */
  private outcomeWithDuplicates(topic: string, firstOffset: number, count: number): AppendOutcome {
    const range = { first: firstOffset, last: firstOffset + count - 1 };
    const stored = this.messages.offsetsIn(topic, range, count);
    const kept = new Set(stored);
    const results = Array.from({ length: count }, (_, place) => ({
      duplicate: !kept.has(firstOffset + place),
    }));
    const [lowestOffset, highestOffset] = [stored[0], stored.at(-1)];
    if (lowestOffset === undefined || highestOffset === undefined) {
      return { results, stored: null, late: false };
    }
    return { results, stored: { lowestOffset, highestOffset }, late: false };
  }

  private remove(topic: string, ranges: readonly OffsetRange[]): number {
    const highest = this.messages.highestOffset(topic);
    if (highest === null) return 0;
    let deleted = 0;
    let last = 0;
    for (const range of ranges) {
      deleted += this.messages.deleteRange(topic, range);
      last = Math.max(last, range.last);
    }
    if (deleted > 0) this.topics.raiseCollected(topic, Math.min(last, highest));
    return deleted;
  }

  private write<T>(run: () => T): T {
    return this.classified(() => this.sql.transaction(run));
  }

  private classified<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw classifySqliteFailure(error);
    }
  }
}

function assertPage(maxEntries: number): void {
  assert(maxEntries >= 1 && maxEntries <= MAX_SCAN_ENTRIES, "page size out of bounds");
}
