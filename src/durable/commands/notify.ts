import type { NotifyInput } from "../../protocol/tenant-calls.ts";
import type { Tenant } from "../tenant.ts";

/**
 * A topic of a log outside the object grew. Nothing is stored: what a lost hint would have told is found by the
 * sweep of waiting receives, and below what was read by the confirming read.
 */
export async function notify(tenant: Tenant, { topic, offsets }: NotifyInput): Promise<null> {
  tenant.activity.rose();
  const state = await tenant.topic(topic);
  const nowMs = tenant.nowMs();
  for (const group of state?.groups.values() ?? []) group.noteHint(offsets?.lowest ?? null, nowMs);
  tenant.wake.topicGrew(topic);
  return null;
}
