import type { HeadersBudget } from "../../src/core/headers-budget.ts";
import type {
  DeadLetterCopy,
  DuePosition,
  Entry,
  NewMessage,
  StoredEntry,
  StoredMessage,
} from "../../src/log/message-log.ts";
import type { ClockReading } from "./late-table.ts";

/** Places of a batch without those that repeat an earlier one. */
export function firstPlaces(messages: readonly NewMessage[]): Set<number> {
  const names = new Map<string, number>();
  for (const [place, { partitionKey, id }] of messages.entries()) {
    const name = JSON.stringify([partitionKey, id]);
    if (!names.has(name)) names.set(name, place);
  }
  return new Set(names.values());
}

export function published({ id, partitionKey }: NewMessage): {
  id: string;
  partitionKey: string;
  origin: string;
} {
  return { id, partitionKey, origin: "" };
}

export function publishedRows(
  messages: readonly NewMessage[],
  places: readonly number[],
  at: ClockReading,
): StoredMessage[] {
  return places.map((place, index) => {
    const message = messages[place] as NewMessage;
    const body = typeof message.body === "string" ? message.body : message.body.slice();
    return {
      ...published(message),
      offset: at.micros + index,
      publishedAtMs: at.nowMs,
      dueAtMs: at.nowMs + message.delayMs,
      delayed: message.delayMs > 0,
      targetGroup: null,
      contentType: message.contentType,
      headers: message.headers,
      deadLetter: null,
      body,
      bodyBytes: typeof body === "string" ? Buffer.byteLength(body) : body.byteLength,
    };
  });
}

export function deadLetterOf(
  topic: string,
  row: StoredMessage,
  copy: DeadLetterCopy,
  at: ClockReading,
  place: number,
): StoredMessage {
  const { origin, group, failedAtMs, attempts, reason } = copy;
  const deadLetter = { originalTopic: topic, originalId: row.id, group, failedAtMs, attempts, reason };
  return { ...movedOf(row, at, place), origin, targetGroup: null, deadLetter };
}

export function redrivenOf(letter: StoredMessage, at: ClockReading, place: number): StoredMessage {
  const targetGroup = letter.deadLetter?.group ?? null;
  return { ...movedOf(letter, at, place), origin: `redrive:${letter.offset}`, targetGroup, deadLetter: null };
}

function movedOf(row: StoredMessage, at: ClockReading, place: number): StoredMessage {
  const { nowMs } = at;
  return { ...row, offset: at.micros + place, publishedAtMs: nowMs, dueAtMs: nowMs, delayed: false };
}

function entryOf(row: StoredMessage): Entry {
  const { offset, partitionKey, dueAtMs, delayed, targetGroup, bodyBytes } = row;
  return { offset, partitionKey, dueAtMs, delayed, targetGroup, bodyBytes };
}

/** `found` is all that there is for the page. */
export function pageOf(
  found: readonly StoredMessage[],
  { maxEntries, withHeaders }: { maxEntries: number; withHeaders?: boolean },
  budget: HeadersBudget,
): { entries: Entry[]; reachedEnd: boolean } {
  const entries: Entry[] = [];
  for (const row of found) {
    const isFull = entries.length === maxEntries;
    if (isFull || (withHeaders && !budget.takes(Buffer.byteLength(row.headers), entries.length === 0))) {
      return { entries, reachedEnd: false };
    }
    entries.push(withHeaders ? { ...entryOf(row), headers: row.headers } : entryOf(row));
  }
  return { entries, reachedEnd: true };
}

export function storedEntryOf({ body: _body, ...entry }: StoredMessage): StoredEntry {
  return structuredClone(entry);
}

export function compareDue(a: DuePosition, b: DuePosition): number {
  return a.dueAtMs - b.dueAtMs || a.offset - b.offset;
}
