import type { NotifyInput } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";

/**
 * A topic of a log outside the object grew. Nothing is stored: what a lost hint would have told is found by the
 * sweep of waiting receives, and below what was read by the confirming read.
 */
export async function notify(tenant: Tenant, { topic, offsets }: NotifyInput): Promise<null> {
  tenant.activity.rose();
  // Takes note of a topic that a publish has made.
  await tenant.topic(topic);
  tenant.wake.topicGrew(topic, offsets?.lowest ?? null);
  return null;
}
