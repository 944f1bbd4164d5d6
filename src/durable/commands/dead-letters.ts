import { MAX_BATCH_MESSAGES, MAX_REPLY_BYTES } from "../../core/limits.ts";
import { deadLetterTopicOf } from "../../core/settings.ts";
import { MAX_SCAN_ENTRIES, type StoredEntry } from "../../log/message-log.ts";
import type { DeadLetterView, Page, RedriveInput, TopicRef } from "../../protocol/tenant-calls.ts";
import { endHolds } from "../end-holds.ts";
import { nextTurn } from "../next-turn.ts";
import type { Tenant, TopicState } from "../tenant.ts";
import { purgeTopic } from "./messages.ts";
import { refuseDeadLetterTopic } from "./topics.ts";

const DEFAULT_REDRIVE = 100;
const MAX_REDRIVE = 1000;
/** Pages looked through for what a redrive wants: a hundred thousand dead letters. */
const MAX_SEARCH_PAGES = 100;

/** A page of the topic's dead letters, in the order in which they failed. */
export async function deadLetters(
  tenant: Tenant,
  input: TopicRef & { after: number; limit: number },
): Promise<Page<"deadLetters", DeadLetterView>> {
  await originalTopic(tenant, input.topic);
  const read = { afterOffset: input.after, maxEntries: input.limit + 1 };
  const found = await tenant.log.listMessages(deadLetterTopicOf(input.topic), read);
  const page = found.slice(0, input.limit);
  return {
    deadLetters: page.flatMap(viewOf),
    next: found.length > page.length ? (page.at(-1)?.offset ?? null) : null,
  };
}

/**
 * Puts dead letters back for the groups that failed them, at most MAX_REDRIVE a call. Those whose group no longer
 * exists stay and are not counted. Repeating it after any failure is safe: the log inserts before it removes.
 */
export async function redrive(tenant: Tenant, input: RedriveInput): Promise<{ redriven: number }> {
  const state = await originalTopic(tenant, input.topic);
  const limit = Math.min(input.limit ?? (input.ids ? MAX_REDRIVE : DEFAULT_REDRIVE), MAX_REDRIVE);
  const wants = (entry: StoredEntry): boolean => {
    const group = entry.deadLetter?.group;
    if (group === undefined || !state.groups.has(group)) return false;
    return input.group === null || input.group === group;
  };
  const chosen = input.ids
    ? await findByIds(tenant, input.topic, input.ids, wants, limit)
    : await findAny(tenant, input.topic, wants, limit);
  let redriven = 0;
  for (const chunk of chunksOf(chosen)) {
    redriven += await redriveChunk(tenant, input.topic, chunk);
    await nextTurn(tenant);
  }
  return { redriven };
}

/** Deletes the topic's dead letters. */
export async function purgeDeadLetters(tenant: Tenant, input: TopicRef): Promise<{ deleted: number }> {
  await originalTopic(tenant, input.topic);
  return { deleted: await purgeTopic(tenant, deadLetterTopicOf(input.topic)) };
}

function originalTopic(tenant: Tenant, topic: string): Promise<TopicState> {
  refuseDeadLetterTopic(topic);
  return tenant.topicOrFail(topic);
}

async function findByIds(
  tenant: Tenant,
  topic: string,
  ids: readonly { id: string; partitionKey: string }[],
  wants: (entry: StoredEntry) => boolean,
  limit: number,
): Promise<StoredEntry[]> {
  const chosen = new Map<number, StoredEntry>();
  for (const { id, partitionKey } of ids) {
    const found = await tenant.log.findEntries(deadLetterTopicOf(topic), id, partitionKey);
    for (const entry of found) {
      if (chosen.size < limit && wants(entry)) chosen.set(entry.offset, entry);
    }
  }
  return [...chosen.values()].sort((a, b) => a.offset - b.offset);
}

async function findAny(
  tenant: Tenant,
  topic: string,
  wants: (entry: StoredEntry) => boolean,
  limit: number,
): Promise<StoredEntry[]> {
  const chosen: StoredEntry[] = [];
  let afterOffset = 0;
  for (let page = 0; page < MAX_SEARCH_PAGES; page += 1) {
    const maxEntries = page === 0 ? limit : MAX_SCAN_ENTRIES;
    const found = await tenant.log.listMessages(deadLetterTopicOf(topic), { afterOffset, maxEntries });
    for (const entry of found) if (chosen.length < limit && wants(entry)) chosen.push(entry);
    if (chosen.length >= limit || found.length < maxEntries) break;
    afterOffset = found.at(-1)?.offset ?? afterOffset;
    await nextTurn(tenant);
  }
  return chosen;
}

/** Bodies move inside the log: a chunk is no more than a publish, in messages, and a reply, in bytes. */
function* chunksOf(entries: readonly StoredEntry[]): Generator<StoredEntry[]> {
  let chunk: StoredEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const full = chunk.length >= MAX_BATCH_MESSAGES || bytes + entry.bodyBytes > MAX_REPLY_BYTES;
    if (full && chunk.length > 0) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(entry);
    bytes += entry.bodyBytes;
  }
  if (chunk.length > 0) yield chunk;
}

async function redriveChunk(tenant: Tenant, topic: string, chunk: readonly StoredEntry[]): Promise<number> {
  const { redriven } = await tenant.log.redrive(
    topic,
    chunk.map(({ offset }) => offset),
  );
  tenant.wake.topicGrew(topic);
  // Fewer: a group was deleted meanwhile, or another call was first. What is gone anyway ends when it is due.
  if (redriven === chunk.length) await endHolds(tenant, deadLetterTopicOf(topic), chunk);
  return redriven;
}

function viewOf(entry: StoredEntry): DeadLetterView[] {
  const { deadLetter, partitionKey, offset } = entry;
  if (!deadLetter) return [];
  const { originalId, group, reason, attempts, failedAtMs } = deadLetter;
  return [{ id: originalId, partitionKey, group, reason, attempts, failedAt: failedAtMs, offset }];
}
