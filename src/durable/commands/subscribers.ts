import { fail } from "../../core/failure.ts";
import { MAX_SUBSCRIBERS_PER_GROUP } from "../../core/limits.ts";
import { parseReceipt } from "../../protocol/receipts.ts";
import type { GiveBackInput, SubscriberRef } from "../../protocol/tenant-calls.ts";
import { beat, removeSubscriber } from "../care.ts";
import { giveBackDeliveries, type NamedDelivery } from "../give-back-deliveries.ts";
import type { GroupState } from "../group-state.ts";
import { heldPartitions } from "../held-partitions.ts";
import type { Tenant } from "../tenant.ts";

/** Keeps the subscriber's lanes for another lease duration. */
export async function heartbeat(
  tenant: Tenant,
  input: SubscriberRef,
): Promise<{ partitions: string[]; expiresAt: number }> {
  const group = await tenant.groupOrFail(input.topic, input.group);
  if (!group.subscribers.has(input.subscriber) && group.subscribers.size >= MAX_SUBSCRIBERS_PER_GROUP) {
    fail("rate-limited", `a group has at most ${MAX_SUBSCRIBERS_PER_GROUP} live subscribers`, {
      retryAfterMs: 1000,
    });
  }
  return tenant.change(group, (nowMs) => {
    beat(group, input.subscriber, nowMs);
    const { partitions } = heldPartitions(group, input.subscriber);
    return { partitions, expiresAt: nowMs + group.record.settings.leaseDurationMs };
  });
}

/** Frees the subscriber's lanes and ends its deliveries; leaving twice, or unknown, is fine. */
export async function leave(tenant: Tenant, input: SubscriberRef): Promise<null> {
  const group = await tenant.groupOrFail(input.topic, input.group);
  // Whatever a receive under way would be granted after this, nobody may be there to get.
  tenant.waiters.callOff(input, ({ subscriber }) => subscriber === input.subscriber);
  tenant.change(group, (nowMs) => {
    giveBackDeliveries(group, deliveriesOf(group, input.subscriber), nowMs);
    if (group.subscribers.has(input.subscriber)) removeSubscriber(group, input.subscriber, nowMs);
  });
  tenant.wake.pump(input);
  return null;
}

/** Every delivery of the subscriber that nothing has ended, lapsed ones included. */
function deliveriesOf(group: GroupState, subscriber: string): NamedDelivery[] {
  const named: NamedDelivery[] = [];
  for (const { partitionKey, runs, exceptions } of group.lanes.lanes()) {
    for (const run of runs) {
      if (run.subscriber !== subscriber) continue;
      for (const { offset } of run.messages) named.push({ partitionKey, offset, nonce: run.nonce });
    }
    for (const { state, subscriber: holder, offset, nonce } of exceptions) {
      if (state === "inFlight" && holder === subscriber) named.push({ partitionKey, offset, nonce });
    }
  }
  return named;
}

/** Ends a take, and deliveries whose reply certainly did not leave the edge. */
export async function giveBack(tenant: Tenant, input: GiveBackInput): Promise<null> {
  tenant.waiters.callOff(input, ({ takeId }) => takeId === input.takeId);
  const group = await tenant.group(input.topic, input.group);
  if (!group || input.receipts.length === 0) return null;
  const named = input.receipts.flatMap((text) => {
    const receipt = parseReceipt(text, group.key);
    return receipt?.generation === group.record.generation ? [receipt] : [];
  });
  tenant.change(group, (nowMs) => giveBackDeliveries(group, named, nowMs));
  tenant.wake.pump(input);
  return null;
}
