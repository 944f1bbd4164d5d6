import { MAX_EXACT_COUNT } from "../../core/limits.ts";
import { MAX_SCAN_ENTRIES } from "../../log/message-log.ts";
import type { TopicRef, TopicView } from "../../protocol/tenant-calls.ts";
import { firstUnsettled } from "../first-unsettled.ts";
import type { Tenant } from "../tenant.ts";
import { countTopic, snapshotOf } from "../unsettled-count.ts";

/** What a topic holds and how far its groups are. Every count is exact to MAX_EXACT_COUNT. */
export async function getTopic(tenant: Tenant, input: TopicRef): Promise<TopicView> {
  const { topic } = input;
  const { settings, groups } = await tenant.topicOrFail(topic);
  const messages = await tenant.log.countEntries(topic, { afterOffset: 0, maxCount: MAX_EXACT_COUNT + 1 });
  const [oldest] = await tenant.log.listMessages(topic, { afterOffset: 0, maxEntries: 1 });
  const views: TopicView["groups"] = [];
  for (const group of [...groups.keys()].sort()) {
    const view = await groupView(tenant, { topic, group });
    if (view) views.push(view);
  }
  return {
    topic,
    messages: Math.min(messages, MAX_EXACT_COUNT),
    ...(messages > MAX_EXACT_COUNT ? { atLeast: true } : {}),
    partitions: await countPartitions(tenant, topic),
    oldestPublishedAt: oldest?.publishedAtMs ?? null,
    retentionMs: settings.retentionMs,
    maxRetentionMs: settings.maxRetentionMs,
    groups: views,
  };
}

/** null: it was deleted meanwhile. */
async function groupView(
  tenant: Tenant,
  ref: { topic: string; group: string },
): Promise<TopicView["groups"][number] | null> {
  if (!(await tenant.group(ref.topic, ref.group))) return null;
  const snapshot = await snapshotOf(tenant, ref);
  const { count, atLeast } = await countTopic(tenant, snapshot);
  const first = count > 0 ? await firstUnsettled(tenant, snapshot) : null;
  const group = await tenant.group(ref.topic, ref.group);
  if (!group) return null;
  return {
    group: ref.group,
    backlog: count,
    ...(atLeast ? { atLeast } : {}),
    inFlight: snapshot.inFlight,
    subscribers: group.subscribers.size,
    oldestUnsettledAt: first === null ? null : await publishedAtMs(tenant, ref.topic, first),
    expired: group.progress.expired,
    dropped: group.progress.dropped,
  };
}

async function publishedAtMs(tenant: Tenant, topic: string, offset: number): Promise<number | null> {
  const [entry] = await tenant.log.listMessages(topic, { afterOffset: offset - 1, maxEntries: 1 });
  return entry?.offset === offset ? entry.publishedAtMs : null;
}

/** Where the count is cut there are more messages than are counted, too, which the reply says. */
async function countPartitions(tenant: Tenant, topic: string): Promise<number> {
  let count = 0;
  let afterKey: string | null = null;
  while (count < MAX_EXACT_COUNT) {
    const page: { partitionKey: string }[] = await tenant.log.listPartitions(topic, {
      afterKey,
      maxPartitions: Math.min(MAX_SCAN_ENTRIES, MAX_EXACT_COUNT - count),
    });
    count += page.length;
    if (page.length < MAX_SCAN_ENTRIES) break;
    afterKey = page.at(-1)?.partitionKey ?? null;
  }
  return count;
}
