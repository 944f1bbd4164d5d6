import { assert } from "../../core/assert.ts";
import { fail } from "../../core/failure.ts";
import { MAX_BATCH_MESSAGES, MAX_EXACT_COUNT, MAX_GROUPS_PER_TOPIC } from "../../core/limits.ts";
import { deadLetterTopicOf, type TopicSettings } from "../../core/settings.ts";
import { tombstonesToForget } from "../../core/tombstones.ts";
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
import { appendBatch } from "./append-batch.ts";
import type { Database, Operation } from "./database.ts";
import { copyAll, redriveAll } from "./dead-letters.ts";
import { GroupsTable } from "./groups-table.ts";
import { MessageDelete } from "./message-delete.ts";
import { MessageInsert } from "./message-insert.ts";
import { failureOf } from "./message-rows.ts";
import { MessageScans } from "./message-scans.ts";
import { MessagesTable } from "./messages-table.ts";
import { OffsetsTable } from "./offsets-table.ts";
import { TopicsTable } from "./topics-table.ts";

/**
 * The message log in a Vitess-backed database, sharded by tenant. Holds no state but what the database knows of its
 * topics: any number of instances may serve one tenant at a time.
 */
export class VitessLog implements MessageLog {
  readonly commitHorizonMs: number;
  private readonly database: Database;
  private readonly messages: MessagesTable;
  private readonly scans: MessageScans;
  private readonly insert: MessageInsert;
  private readonly remove: MessageDelete;
  private readonly topics: TopicsTable;
  private readonly groups: GroupsTable;
  private readonly offsets: OffsetsTable;

  constructor(tenant: string, database: Database, { commitHorizonMs }: { commitHorizonMs: number }) {
    this.commitHorizonMs = commitHorizonMs;
    this.database = database;
    this.messages = new MessagesTable(tenant);
    this.scans = new MessageScans(tenant);
    this.insert = new MessageInsert(tenant);
    this.remove = new MessageDelete(tenant);
    this.topics = new TopicsTable(tenant);
    this.groups = new GroupsTable(tenant);
    this.offsets = new OffsetsTable(tenant);
  }

  async append(topic: string, messages: readonly NewMessage[]): Promise<AppendOutcome> {
    assert(messages.length <= MAX_BATCH_MESSAGES, "a batch is larger than a publish may be");
    if (messages.length === 0) return { results: [], stored: null, late: false };
    const run = this.begin();
    await this.topics.open(run, topic, "within limits");
    return appendBatch(run, this.insert, { topic, commitHorizonMs: this.commitHorizonMs }, messages);
  }

  async scanTopic(topic: string, read: TopicRead): Promise<ScanPage> {
    assertPage(read.maxEntries);
    const run = this.begin();
    const page = await this.scans.topic(run, topic, read);
    if (page) return page;
    const { nowMs } = await this.messages.tail(run, topic);
    return { entries: [], reachedEnd: true, nowMs };
  }

  async scanPartitions(topic: string, reads: readonly PartitionRead[]): Promise<PartitionPage[]> {
    assert(reads.length <= MAX_SCAN_ENTRIES, "too many partitions in one read");
    for (const { maxEntries } of reads) assertPage(maxEntries);
    return this.scans.partitions(this.begin(), topic, reads);
  }

  async scanDue(topic: string, read: DueRead): Promise<DuePage> {
    assertPage(read.maxEntries);
    return this.scans.due(this.begin(), topic, read);
  }

  async listPartitions(
    topic: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<PartitionTail[]> {
    assertPage(read.maxPartitions);
    return this.messages.listPartitions(this.begin(), topic, read.afterKey, read.maxPartitions);
  }

  async readMessages(topic: string, offsets: readonly number[]): Promise<StoredMessage[]> {
    assert(offsets.length <= MAX_SCAN_ENTRIES, "too many offsets in one read");
    return this.messages.readMessages(this.begin(), topic, [...new Set(offsets)]);
  }

  async findEntries(topic: string, id: string, partitionKey: string): Promise<StoredEntry[]> {
    return this.messages.findEntries(this.begin(), topic, id, partitionKey);
  }

  async copyToDeadLetters(topic: string, copies: readonly DeadLetterCopy[]): Promise<{ copied: number }> {
    assert(copies.length <= MAX_SCAN_ENTRIES, "too many copies in one call");
    if (copies.length === 0) return { copied: 0 };
    const deadLetterTopic = deadLetterTopicOf(topic);
    await this.topics.open(this.begin(), deadLetterTopic, "always");
    return { copied: await copyAll(() => this.begin(), this.insert, topic, deadLetterTopic, copies) };
  }

  /** Dead letters whose group no longer exists stay where they are. */
  async redrive(topic: string, deadLetterOffsets: readonly number[]): Promise<{ redriven: number }> {
    assert(deadLetterOffsets.length <= MAX_SCAN_ENTRIES, "too many dead letters in one call");
    const deadLetterTopic = deadLetterTopicOf(topic);
    const offsets = [...new Set(deadLetterOffsets)].sort((a, b) => a - b);
    if (offsets.length === 0) return { redriven: 0 };
    const run = this.begin();
    const { records } = await this.groups.list(run, topic);
    const live = new Set(records.flatMap(({ group, deletedAtMs }) => (deletedAtMs === null ? [group] : [])));
    const letters = await this.messages.deadLetters(run, deadLetterTopic, offsets);
    const leaving = letters.flatMap(({ offset, deadLetter }) => {
      const { group } = failureOf(deadLetter);
      return live.has(group) ? [{ offset, group }] : [];
    });
    if (leaving.length === 0) return { redriven: 0 };
    await this.topics.open(run, topic, "always");
    leaving.sort((a, b) => a.offset - b.offset);
    const tables = { insert: this.insert, remove: this.remove };
    return { redriven: await redriveAll(() => this.begin(), tables, deadLetterTopic, topic, leaving) };
  }

  async listMessages(topic: string, read: ListRead): Promise<StoredEntry[]> {
    assertPage(read.maxEntries);
    return this.messages.list(this.begin(), topic, read);
  }

  async deleteRanges(topic: string, ranges: readonly OffsetRange[]): Promise<{ deleted: number }> {
    assert(ranges.length <= MAX_SCAN_ENTRIES, "too many ranges in one call");
    return { deleted: await this.remove.deleteRanges(() => this.begin(), topic, ranges) };
  }

  async purge(
    topic: string,
    purge: { throughOffset: number; maxEntries: number },
  ): Promise<{ deleted: number }> {
    const { throughOffset, maxEntries } = purge;
    assert(maxEntries >= 1 && maxEntries <= MAX_DELETE_RANGE_ENTRIES, "purge out of bounds");
    return { deleted: await this.remove.purge(this.begin(), topic, throughOffset, maxEntries) };
  }

  async countEntries(topic: string, read: CountRead): Promise<number> {
    assert(read.maxCount >= 0 && read.maxCount <= 10 * MAX_EXACT_COUNT, "count out of bounds");
    return this.messages.count(this.begin(), topic, read);
  }

  async tail(topic: string): Promise<{ offset: number; nowMs: number }> {
    const { highest, nowMs } = await this.messages.tail(this.begin(), topic);
    return { offset: highest ?? 0, nowMs };
  }

  async loadTopics(): Promise<TopicRecord[]> {
    return this.topics.list(this.begin());
  }

  async loadTopic(topic: string): Promise<TopicRecord | null> {
    return this.topics.find(this.begin(), topic);
  }

  async saveTopic(topic: string, settings: TopicSettings): Promise<void> {
    const run = this.begin();
    await this.topics.open(run, topic, "within limits");
    await this.topics.save(run, topic, settings);
  }

  async loadGroups(topic: string): Promise<GroupRecord[]> {
    return (await this.groups.list(this.begin(), topic)).records;
  }

  async loadAllGroups(): Promise<{ topic: string; record: GroupRecord }[]> {
    return this.groups.listAll(this.begin());
  }

  async saveGroup(topic: string, record: GroupRecord): Promise<void> {
    const run = this.begin();
    const { records, nowMs } = await this.groups.list(run, topic);
    const others = records.filter(({ group }) => group !== record.group);
    if (record.deletedAtMs === null) {
      const live = others.filter(({ deletedAtMs }) => deletedAtMs === null).length;
      if (live >= MAX_GROUPS_PER_TOPIC) {
        fail("rate-limited", `topic ${topic} has ${MAX_GROUPS_PER_TOPIC} groups, the most it may have`);
      }
    }
    await this.groups.save(run, topic, record);
    if (nowMs !== null) await this.groups.forget(run, topic, tombstonesToForget(others, nowMs));
  }

  async saveProgress(topic: string, group: string, progress: readonly PartitionCheckpoint[]): Promise<void> {
    assert(progress.length <= MAX_SCAN_ENTRIES, "too many partitions in one save");
    if (progress.length === 0) return;
    for (const { unsettled, ackedAbove } of progress) {
      assert(unsettled.length + ackedAbove.length <= MAX_CHECKPOINT_BYTES, "a checkpoint is too long");
    }
    const run = this.begin();
    // Between this read and the save another group of the name may be made: its rows are of a higher generation, and
    // the statement leaves those as they are; a row that it has not made yet is of no use to it, nor in its way.
    const generation = await this.groups.liveGeneration(run, topic, group);
    const applying = progress.filter((checkpoint) => checkpoint.generation === generation);
    await this.offsets.save(run, topic, group, applying);
  }

  async saveReset(topic: string, group: string, reset: PartitionReset): Promise<void> {
    const run = this.begin();
    const generation = await this.groups.liveGeneration(run, topic, group);
    if (reset.generation === generation) await this.offsets.saveReset(run, topic, group, reset);
  }

  async loadProgress(
    topic: string,
    group: string,
    partitionKeys: readonly string[],
  ): Promise<PartitionProgress[]> {
    assert(partitionKeys.length <= MAX_SCAN_ENTRIES, "too many partitions in one load");
    return this.offsets.load(this.begin(), topic, group, [...new Set(partitionKeys)]);
  }

  async highestResetEpoch(topic: string, group: string, generation: number): Promise<number> {
    return this.offsets.highestResetEpoch(this.begin(), topic, group, generation);
  }

  async listEmptyPartitions(
    topic: string,
    group: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<{ emptyKeys: string[]; resumeAfterKey: string | null }> {
    assertPage(read.maxPartitions);
    const run = this.begin();
    const keys = await this.offsets.listKeys(run, topic, group, read);
    const held = await this.messages.partitionsHeld(run, topic, keys);
    const isLastPage = keys.length < read.maxPartitions;
    return {
      emptyKeys: keys.filter((key) => !held.has(key)),
      resumeAfterKey: isLastPage ? null : (keys.at(-1) ?? null),
    };
  }

  async deleteProgress(topic: string, group: string, partitionKeys: readonly string[] | null): Promise<void> {
    if (partitionKeys === null) return this.offsets.removeGroup(() => this.begin(), topic, group);
    assert(partitionKeys.length <= MAX_SCAN_ENTRIES, "too many partitions in one call");
    await this.offsets.remove(this.begin(), topic, group, partitionKeys);
  }

  private begin(): Operation {
    return this.database.operation();
  }
}

function assertPage(maxEntries: number): void {
  assert(maxEntries >= 1 && maxEntries <= MAX_SCAN_ENTRIES, "page size out of bounds");
}
