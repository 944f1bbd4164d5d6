import { MAX_EXACT_COUNT } from "../../core/limits.ts";
import { MAX_SCAN_ENTRIES } from "../../log/message-log.ts";
import type { TopicRef, TopicView } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";
import { countStored, figuresOf, type GroupFigures, oldestPublishedAtMs } from "../topic-figures.ts";

/** What a topic holds and how far its groups are. Every count is exact to MAX_EXACT_COUNT. */
export async function getTopic(tenant: Tenant, input: TopicRef): Promise<TopicView> {
  const { topic } = input;
  const { settings, groups } = await tenant.topicOrFail(topic);
  const stored = await countStored(tenant, topic, MAX_EXACT_COUNT);
  const oldestPublishedAt = await oldestPublishedAtMs(tenant, topic);
  const views: TopicView["groups"] = [];
  for (const group of [...groups.keys()].sort()) {
    const figures = await figuresOf(tenant, { topic, group });
    if (figures) views.push(groupView(figures));
  }
  return {
    topic,
    messages: stored.count,
    ...(stored.atLeast ? { atLeast: true } : {}),
    partitions: await countPartitions(tenant, topic),
    oldestPublishedAt,
    retentionMs: settings.retentionMs,
    maxRetentionMs: settings.maxRetentionMs,
    groups: views,
  };
}

function groupView(figures: GroupFigures): TopicView["groups"][number] {
  const { group, backlog, inFlight, subscribers, expired, dropped } = figures;
  return {
    group,
    backlog: backlog.count,
    ...(backlog.atLeast ? { atLeast: true } : {}),
    inFlight,
    subscribers,
    oldestUnsettledAt: figures.oldestUnsettledAtMs,
    expired,
    dropped,
  };
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
