import { defaultTopicSettings } from "../../core/settings.ts";
import type { AppendOutcome } from "../../log/message-log.ts";
import type { PublishInput } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";

/** Stores a batch in the log that this object holds; with a log elsewhere Workers write to it directly. */
export async function publish(tenant: Tenant, input: PublishInput): Promise<AppendOutcome> {
  const outcome = await tenant.publishQueue.push(input);
  if (outcome.stored) tenant.activity.rose();
  if (!(await tenant.topic(input.topic)))
    tenant.rememberTopic(input.topic, defaultTopicSettings(input.topic));
  return outcome;
}
