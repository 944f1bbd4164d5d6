import { fail } from "../../core/failure.ts";
import { MAX_DELETE_RANGE_ENTRIES, type StoredEntry } from "../../log/message-log.ts";
import type {
  BodyView,
  ListMessagesInput,
  MessageRef,
  MessageView,
  Page,
  TopicRef,
} from "../../protocol/tenant-calls.ts";
import { endHolds, endHoldsThrough } from "../end-holds.ts";
import { nextTurn } from "../next-turn.ts";
import type { Tenant } from "../tenant.ts";

/** Chunks of one purge: a million messages. What is left then goes with the next call. */
const MAX_PURGE_CHUNKS = 1000;
/** Rounds of finding what a key and ID name; a round finds up to a hundred redriven copies. */
const MAX_FIND_ROUNDS = 100;

/**
 * A page of what the topic stores, in offset order; `next` is the last offset shown, null at the end. With `last`, the
 * end of the topic: `next` is then the highest offset shown, so that who follows goes on behind it, null if there is
 * nothing.
 */
export async function listMessages(
  tenant: Tenant,
  input: ListMessagesInput,
): Promise<Page<"messages", MessageView>> {
  await tenant.topicOrFail(input.topic);
  const of = input.partitionKey === null ? {} : { partitionKey: input.partitionKey };
  if (input.last !== undefined) {
    const read = { ...of, afterOffset: 0, maxEntries: input.last, fromEnd: true };
    const page = await tenant.log.listMessages(input.topic, read);
    return { messages: page.map(viewOf), next: page.at(-1)?.offset ?? null };
  }
  const found = await tenant.log.listMessages(input.topic, {
    ...of,
    afterOffset: input.after,
    maxEntries: input.limit + 1,
  });
  const page = found.slice(0, input.limit);
  return {
    messages: page.map(viewOf),
    next: found.length > page.length ? (page.at(-1)?.offset ?? null) : null,
  };
}

/**
 * The published message of this ID and key, or a redriven copy where only that is left; with `offset`, the one that
 * lies there.
 */
export async function getMessage(
  tenant: Tenant,
  input: MessageRef & { offset?: number | undefined },
): Promise<MessageView & { body: BodyView["body"] | null }> {
  await tenant.topicOrFail(input.topic);
  const entry = await (input.offset === undefined
    ? firstEntry(tenant, input)
    : entryAt(tenant, input, input.offset));
  if (!entry) return notFound(input);
  if (!tenant.embedded) return { ...viewOf(entry), body: null };
  const [message] = await tenant.log.readMessages(input.topic, [entry.offset]);
  return message ? { ...viewOf(message), body: message.body } : notFound(input);
}

async function firstEntry(tenant: Tenant, input: MessageRef): Promise<StoredEntry | undefined> {
  const [entry] = await tenant.log.findEntries(input.topic, input.id, input.partitionKey);
  return entry;
}

/** Not among `findEntries`: there may be more of the name than it finds. */
async function entryAt(tenant: Tenant, input: MessageRef, offset: number): Promise<StoredEntry | undefined> {
  const { topic, id, partitionKey } = input;
  const read = { partitionKey, afterOffset: offset - 1, maxEntries: 1 };
  const [entry] = await tenant.log.listMessages(topic, read);
  return entry?.offset === offset && entry.id === id ? entry : undefined;
}

/** Removes every row of this ID and key, redriven copies included, for all groups; the ID is forgotten. */
export async function deleteMessage(tenant: Tenant, input: MessageRef): Promise<null> {
  await tenant.topicOrFail(input.topic);
  for (let round = 0; round < MAX_FIND_ROUNDS; round += 1) {
    const found = await tenant.log.findEntries(input.topic, input.id, input.partitionKey);
    if (found.length === 0) {
      if (round === 0) notFound(input);
      return null;
    }
    const ranges = found.map(({ offset }) => ({ first: offset, last: offset }));
    ranges.sort((a, b) => a.first - b.first);
    await tenant.log.deleteRanges(input.topic, ranges);
    tenant.noteShrunk(input.topic);
    await endHolds(tenant, input.topic, found);
  }
  return null;
}

/** Removes what was published before the call, oldest first. */
export async function purgeMessages(tenant: Tenant, input: TopicRef): Promise<{ deleted: number }> {
  await tenant.topicOrFail(input.topic);
  return { deleted: await purgeTopic(tenant, input.topic) };
}

/** A purge that failed half-way goes on when it is called again: holds end last, and all of them. */
export async function purgeTopic(tenant: Tenant, topic: string): Promise<number> {
  const { offset: throughOffset } = await tenant.log.tail(topic);
  let total = 0;
  for (let chunk = 0; chunk < MAX_PURGE_CHUNKS; chunk += 1) {
    const { deleted } = await tenant.log.purge(topic, {
      throughOffset,
      maxEntries: MAX_DELETE_RANGE_ENTRIES,
    });
    total += deleted;
    if (deleted > 0) tenant.noteShrunk(topic);
    if (deleted < MAX_DELETE_RANGE_ENTRIES) {
      await endHoldsThrough(tenant, topic, throughOffset);
      return total;
    }
    await nextTurn(tenant);
  }
  // Cut short: what is left begins with the oldest message.
  const [oldest] = await tenant.log.listMessages(topic, { afterOffset: 0, maxEntries: 1 });
  await endHoldsThrough(tenant, topic, Math.min(throughOffset, (oldest?.offset ?? throughOffset + 1) - 1));
  return total;
}

function notFound(input: MessageRef): never {
  return fail("not-found", `topic ${input.topic} has no message of this ID and partition key`);
}

function viewOf(entry: StoredEntry): MessageView {
  return {
    id: entry.id,
    partitionKey: entry.partitionKey,
    offset: entry.offset,
    publishedAt: entry.publishedAtMs,
    dueAt: entry.dueAtMs,
    bodyBytes: entry.bodyBytes,
    contentType: entry.contentType,
    headers: entry.headers,
    targetGroup: entry.targetGroup,
    deadLetter: entry.deadLetter,
  };
}
