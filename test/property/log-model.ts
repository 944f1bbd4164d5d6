import type {
  Entry,
  NewMessage,
  PartitionCheckpoint,
  PartitionProgress,
  PartitionReset,
  StoredEntry,
} from "../../src/log/message-log.ts";

/** A message log as simple as it can be: a list per topic. What the real one answers is compared with it. */
export class LogModel {
  private readonly topics = new Map<string, ModelEntry[]>();
  private readonly tails = new Map<string, number>();

  entries(topic: string): ModelEntry[] {
    return this.topics.get(topic) ?? [];
  }

  /** The highest offset ever stored. */
  tail(topic: string): number {
    return this.tails.get(topic) ?? 0;
  }

  isStored(topic: string, id: string, partitionKey: string, origin: string): boolean {
    return this.entries(topic).some(
      (entry) => entry.id === id && entry.partitionKey === partitionKey && entry.origin === origin,
    );
  }

  /** Which of the batch are duplicates. */
  duplicates(topic: string, batch: readonly NewMessage[]): boolean[] {
    const seen = new Set<string>();
    return batch.map(({ id, partitionKey }) => {
      const name = JSON.stringify([id, partitionKey]);
      const duplicate = seen.has(name) || this.isStored(topic, id, partitionKey, "");
      seen.add(name);
      return duplicate;
    });
  }

  store(topic: string, entry: ModelEntry): void {
    this.topics.set(topic, [...this.entries(topic), entry]);
    this.tails.set(topic, Math.max(this.tail(topic), entry.offset));
  }

  /** Removes what `gone` says and returns how many that were. */
  remove(topic: string, gone: (entry: ModelEntry, place: number) => boolean): number {
    const before = this.entries(topic);
    const after = before.filter((entry, place) => !gone(entry, place));
    this.topics.set(topic, after);
    return before.length - after.length;
  }
}

/** One group's progress in one topic, as simple as it can be: a row per partition, and the live generation. */
export class ProgressModel {
  private readonly rows = new Map<string, PartitionProgress>();
  generation = 1;

  /** By partition key. */
  all(): PartitionProgress[] {
    return [...this.rows.values()].sort((a, b) => (a.partitionKey < b.partitionKey ? -1 : 1));
  }

  save(saved: PartitionCheckpoint): void {
    if (saved.generation !== this.generation) return;
    const kept = this.ofLiveGeneration(saved.partitionKey);
    const isOfEarlierEpoch = kept !== null && saved.resetEpoch < kept.resetEpoch;
    const goesBack = saved.resetEpoch === kept?.resetEpoch && saved.ackedOffset < kept.ackedOffset;
    if (isOfEarlierEpoch || goesBack) return;
    this.rows.set(saved.partitionKey, { ...saved, resetOffset: kept?.resetOffset ?? 0 });
  }

  reset({ offset, ...fenced }: PartitionReset): void {
    if (fenced.generation !== this.generation) return;
    const kept = this.ofLiveGeneration(fenced.partitionKey);
    if (kept !== null && fenced.resetEpoch <= kept.resetEpoch) return;
    const nothing = { unsettled: "", ackedAbove: "", due: { dueAtMs: 0, offset: 0 } };
    this.rows.set(fenced.partitionKey, { ...fenced, ...nothing, ackedOffset: offset, resetOffset: offset });
  }

  forget(partitionKeys: readonly string[] | null): void {
    for (const key of partitionKeys ?? [...this.rows.keys()]) this.rows.delete(key);
  }

  highestResetEpoch(generation: number): number {
    const epochs = this.all().flatMap((row) => (row.generation === generation ? [row.resetEpoch] : []));
    return Math.max(0, ...epochs);
  }

  private ofLiveGeneration(partitionKey: string): PartitionProgress | null {
    const row = this.rows.get(partitionKey);
    return row?.generation === this.generation ? row : null;
  }
}

export interface ModelEntry {
  offset: number;
  id: string;
  partitionKey: string;
  origin: string;
  targetGroup: string | null;
  body: string | Uint8Array;
  delayMs: number;
}

/** The same view of an entry of the log, whose body the caller read. */
export function modelEntryOf(entry: StoredEntry, body: string | Uint8Array): ModelEntry {
  const { offset, id, partitionKey, origin, targetGroup } = entry;
  return {
    offset,
    id,
    partitionKey,
    origin,
    targetGroup,
    body,
    delayMs: entry.dueAtMs - entry.publishedAtMs,
  };
}

export function byDue(a: Entry, b: Entry): number {
  return a.dueAtMs - b.dueAtMs || a.offset - b.offset;
}
