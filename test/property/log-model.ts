import type { Entry, NewMessage, StoredEntry } from "../../src/log/message-log.ts";

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
