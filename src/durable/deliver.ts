import type { StoredMessage } from "../log/message-log.ts";
import { ReceiptMaker } from "../protocol/receipts.ts";
import type { DeliveryView, TakeInput } from "../protocol/tenant-calls.ts";
import { expire } from "./care.ts";
import { giveBackDeliveries } from "./give-back-deliveries.ts";
import type { Granted } from "./grant.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Reads the bodies of what was granted. When they cannot be read the grants are given back: no attempt, and
 * first of their lanes. What the log no longer has is settled as expired.
 */
export async function deliver(
  tenant: Tenant,
  group: GroupState,
  input: TakeInput,
  granted: readonly Granted[],
): Promise<DeliveryView[]> {
  const { topic, group: name } = input;
  let messages: StoredMessage[];
  try {
    messages = await tenant.logHealth.read(() =>
      tenant.log.readMessages(
        topic,
        granted.map((g) => g.offset),
      ),
    );
  } catch (error) {
    await giveBackGranted(tenant, group, granted);
    throw error;
  }
  const byOffset = new Map(messages.map((message) => [message.offset, message]));
  const receipts = new ReceiptMaker({ tenant: tenant.name, topic, group: name }, group.record.generation);
  const deliveries: DeliveryView[] = [];
  const missing: Granted[] = [];
  for (const one of granted) {
    const message = byOffset.get(one.offset);
    if (message) deliveries.push(view(one, message, receipts));
    else missing.push(one);
  }
  if (missing.length > 0) await settleMissing(tenant, group, missing);
  return deliveries;
}

function view(one: Granted, message: StoredMessage, receipts: ReceiptMaker): DeliveryView {
  return {
    receipt: receipts.make(one.offset, one.nonce, message.partitionKey),
    id: message.id,
    partitionKey: message.partitionKey,
    offset: one.offset,
    attempt: one.attempt,
    body: message.body,
    contentType: message.contentType,
    headers: message.headers,
    publishedAt: message.publishedAtMs,
    visibleUntil: one.visibleUntilMs,
    leaseEpoch: one.epoch,
    deadLetter: message.deadLetter,
  };
}

async function giveBackGranted(
  tenant: Tenant,
  stale: GroupState,
  granted: readonly Granted[],
): Promise<void> {
  const group = await tenant.group(stale.key.topic, stale.key.group);
  if (!group || group.record.generation !== stale.record.generation) return;
  tenant.change(group, (nowMs) => {
    giveBackDeliveries(
      group,
      granted.map(({ lane, offset, nonce }) => ({ partitionKey: lane.partitionKey, offset, nonce })),
      nowMs,
    );
  });
}

async function settleMissing(tenant: Tenant, stale: GroupState, missing: readonly Granted[]): Promise<void> {
  const group = await tenant.group(stale.key.topic, stale.key.group);
  if (!group || group.record.generation !== stale.record.generation) return;
  tenant.change(group, (nowMs) => {
    for (const { lane: known, offset, nonce } of missing) {
      const lane = group.lane(known.partitionKey);
      if (!lane || lane.holderOf(offset)?.nonce !== nonce) continue;
      expire(group, lane, offset);
      group.touch(lane, nowMs);
    }
  });
}
