import { fail } from "../../core/failure.ts";
import { MAX_TOPICS_PER_TENANT } from "../../core/limits.ts";
import { defaultTopicSettings, isDeadLetterTopic, type TopicSettings } from "../../core/settings.ts";
import type { PutTopicInput } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";

/** Creates the topic or changes its settings: written to the log first, then adopted. */
export function putTopic(tenant: Tenant, input: PutTopicInput): Promise<TopicSettings> {
  return tenant.changeSettings(() => putInTurn(tenant, input));
}

async function putInTurn(tenant: Tenant, input: PutTopicInput): Promise<TopicSettings> {
  if (!(await tenant.topic(input.topic)) && (await tenant.refreshTopics()).length >= MAX_TOPICS_PER_TENANT) {
    fail("rate-limited", `a tenant has at most ${MAX_TOPICS_PER_TENANT} topics`, { retryAfterMs: 60_000 });
  }
  const before = (await tenant.topic(input.topic))?.settings ?? defaultTopicSettings(input.topic);
  const settings = {
    retentionMs: input.settings.retentionMs ?? before.retentionMs,
    maxRetentionMs: input.settings.maxRetentionMs ?? before.maxRetentionMs,
  };
  if (settings.maxRetentionMs < settings.retentionMs) {
    const message = "must not be smaller than retentionMs";
    const path = input.settings.maxRetentionMs === undefined ? "retentionMs" : "maxRetentionMs";
    fail("invalid-request", `maxRetentionMs ${message}`, {
      issues: [{ path, message: `maxRetentionMs ${message}` }],
    });
  }
  const state = await tenant.ensureTopic(input.topic);
  await tenant.log.saveTopic(input.topic, settings);
  state.settings = settings;
  for (const group of state.groups.values()) {
    if (group.gone) continue;
    group.topicSettings = settings;
    tenant.change(group, (nowMs) => group.placeAll(nowMs));
  }
  return settings;
}

/** Names of the tenant's topics, in order; dead-letter topics included. */
export async function listTopics(tenant: Tenant): Promise<{ topics: string[] }> {
  const topics = (await tenant.refreshTopics()).map(({ topic }) => topic);
  return { topics: topics.sort() };
}

/** The topic that holds the dead letters of `topic`: itself must not be one. */
export function refuseDeadLetterTopic(topic: string): void {
  if (!isDeadLetterTopic(topic)) return;
  const message = "name the original topic, not its dead-letter topic";
  fail("invalid-request", message, { issues: [{ path: "topic", message }] });
}
