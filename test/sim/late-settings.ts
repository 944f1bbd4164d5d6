import { fail } from "../../src/core/failure.ts";
import { GROUP_TOMBSTONE_MS, MAX_GROUPS_PER_TOPIC, MAX_TOPICS_PER_TENANT } from "../../src/core/limits.ts";
import { defaultTopicSettings, isDeadLetterTopic, type TopicSettings } from "../../src/core/settings.ts";
import type {
  GroupRecord,
  PartitionCheckpoint,
  PartitionProgress,
  PartitionReset,
  TopicRecord,
} from "../../src/log/message-log.ts";

/** One tenant's rows about topics and groups, and what groups have settled. */
export class LateSettings {
  private readonly topics = new Map<string, TopicSettings>();
  private readonly groups = new Map<string, Map<string, GroupRecord>>();
  private readonly progress = new Map<string, Map<string, PartitionProgress>>();

  /** Makes the topic if it is not there. */
  openTopic(topic: string, making: "within limits" | "always"): void {
    if (this.topics.has(topic)) return;
    const deadLetters = isDeadLetterTopic(topic);
    const alike = [...this.topics.keys()].filter((name) => isDeadLetterTopic(name) === deadLetters);
    if (making === "within limits" && alike.length >= MAX_TOPICS_PER_TENANT)
      fail("rate-limited", `the tenant has ${MAX_TOPICS_PER_TENANT} topics, the most it may have`);
    this.topics.set(topic, { ...defaultTopicSettings(topic) });
  }

  saveTopic(topic: string, settings: TopicSettings): void {
    this.openTopic(topic, "within limits");
    this.topics.set(topic, { ...settings });
  }

  topic(topic: string): TopicRecord | null {
    const settings = this.topics.get(topic);
    return settings ? { topic, settings: { ...settings } } : null;
  }

  allTopics(): TopicRecord[] {
    const names = [...this.topics.keys()].sort(byBytes);
    return names.flatMap((name) => this.topic(name) ?? []);
  }

  groupsOf(topic: string): GroupRecord[] {
    const records = [...(this.groups.get(topic)?.values() ?? [])];
    return records.sort((a, b) => byBytes(a.group, b.group)).map((record) => structuredClone(record));
  }

  allGroups(): { topic: string; record: GroupRecord }[] {
    const topics = [...this.groups.keys()].sort(byBytes);
    return topics.flatMap((topic) => this.groupsOf(topic).map((record) => ({ topic, record })));
  }

  isLive(topic: string, group: string): boolean {
    return this.liveGeneration(topic, group) !== null;
  }

  saveGroup(topic: string, record: GroupRecord, nowMs: number): void {
    const known = this.groups.get(topic) ?? new Map<string, GroupRecord>();
    this.groups.set(topic, known);
    const others = [...known.values()].filter(({ group }) => group !== record.group);
    const live = others.filter(({ deletedAtMs }) => deletedAtMs === null);
    if (record.deletedAtMs === null && live.length >= MAX_GROUPS_PER_TOPIC)
      fail("rate-limited", `topic ${topic} has ${MAX_GROUPS_PER_TOPIC} groups, the most it may have`);
    known.set(record.group, structuredClone(record));
    const tombstones = others.filter(({ deletedAtMs }) => deletedAtMs !== null);
    tombstones.sort((a, b) => b.generation - a.generation);
    for (const { group, deletedAtMs } of tombstones.slice(MAX_GROUPS_PER_TOPIC))
      if ((deletedAtMs ?? nowMs) + GROUP_TOMBSTONE_MS <= nowMs) known.delete(group);
  }

  /** Returns whether the row was written. */
  saveProgress(topic: string, group: string, one: PartitionCheckpoint): boolean {
    if (one.generation !== this.liveGeneration(topic, group)) return false;
    const rows = this.rowsOf(topic, group);
    const kept = rows.get(one.partitionKey);
    if (kept && isBehind(one, kept)) return false;
    // A reset of an earlier group of the name says nothing of this one.
    const resetOffset = kept?.generation === one.generation ? kept.resetOffset : 0;
    rows.set(one.partitionKey, { ...structuredClone(one), resetOffset });
    return true;
  }

  saveReset(topic: string, group: string, reset: PartitionReset): void {
    if (reset.generation !== this.liveGeneration(topic, group)) return;
    const rows = this.rowsOf(topic, group);
    const kept = rows.get(reset.partitionKey);
    if (kept?.generation === reset.generation && kept.resetEpoch >= reset.resetEpoch) return;
    rows.set(reset.partitionKey, {
      partitionKey: reset.partitionKey,
      generation: reset.generation,
      resetEpoch: reset.resetEpoch,
      ackedOffset: reset.offset,
      unsettled: "",
      ackedAbove: "",
      due: { dueAtMs: 0, offset: 0 },
      resetOffset: reset.offset,
    });
  }

  progressOf(topic: string, group: string, keys: readonly string[]): PartitionProgress[] {
    const rows = this.progress.get(groupName(topic, group));
    const found = [...new Set(keys)].flatMap((key) => rows?.get(key) ?? []);
    return found.map((row) => structuredClone(row));
  }

  highestResetEpoch(topic: string, group: string, generation: number): number {
    let highest = 0;
    for (const row of this.progress.get(groupName(topic, group))?.values() ?? [])
      if (row.generation === generation) highest = Math.max(highest, row.resetEpoch);
    return highest;
  }

  /** Keys of progress rows above `afterKey`, in byte order, at most `maxKeys`. */
  progressKeys(topic: string, group: string, afterKey: string | null, maxKeys: number): string[] {
    const keys = [...(this.progress.get(groupName(topic, group))?.keys() ?? [])].sort(byBytes);
    return keys.filter((key) => afterKey === null || byBytes(key, afterKey) > 0).slice(0, maxKeys);
  }

  deleteProgress(topic: string, group: string, keys: readonly string[] | null): void {
    const rows = this.progress.get(groupName(topic, group));
    for (const key of keys ?? [...(rows?.keys() ?? [])]) rows?.delete(key);
  }

  private liveGeneration(topic: string, group: string): number | null {
    const record = this.groups.get(topic)?.get(group);
    return record && record.deletedAtMs === null ? record.generation : null;
  }

  private rowsOf(topic: string, group: string): Map<string, PartitionProgress> {
    const name = groupName(topic, group);
    const rows = this.progress.get(name) ?? new Map<string, PartitionProgress>();
    this.progress.set(name, rows);
    return rows;
  }
}

function isBehind(one: PartitionCheckpoint, kept: PartitionProgress): boolean {
  if (one.generation !== kept.generation) return one.generation < kept.generation;
  if (one.resetEpoch !== kept.resetEpoch) return one.resetEpoch < kept.resetEpoch;
  return one.ackedOffset < kept.ackedOffset;
}

function groupName(topic: string, group: string): string {
  return `${topic}\n${group}`;
}

/** As the databases compare: by the bytes of UTF-8, not by UTF-16 units. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
