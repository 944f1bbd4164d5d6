import { FairlaneError } from "../core/failure.ts";
import type { StoredMessage } from "../log/message-log.ts";
import { ReceiptMaker } from "../protocol/receipts.ts";
import type { DeliveryView, TakeInput } from "../protocol/tenant-calls.ts";
import { decideFailed, expire } from "./care.ts";
import { copyDeadLetters } from "./dead-letter-pass.ts";
import { giveBackDeliveries } from "./give-back-deliveries.ts";
import type { Granted } from "./grant.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Reads the bodies of what was granted. When the log cannot be reached the grants are given back: no attempt, and
 * first of their lanes. What the log no longer has is settled as expired. A message that alone cannot be read does not
 * hold up the others: it is given back, and the tenth time it becomes a dead letter.
 */
export async function deliver(
  tenant: Tenant,
  group: GroupState,
  input: TakeInput,
  granted: readonly Granted[],
): Promise<DeliveryView[]> {
  const { topic, group: name } = input;
  let messages: StoredMessage[];
  let unreadable: Granted[] = [];
  try {
    ({ messages, unreadable } = await readBodies(tenant, topic, granted));
  } catch (error) {
    await giveBackGranted(tenant, group, granted);
    throw error;
  }
  if (unreadable.length > 0) await refuseUnreadable(tenant, group, unreadable);
  const byOffset = new Map(messages.map((message) => [message.offset, message]));
  const receipts = new ReceiptMaker({ tenant: tenant.name, topic, group: name }, group.record.generation);
  const deliveries: DeliveryView[] = [];
  const missing: Granted[] = [];
  for (const one of granted) {
    const message = byOffset.get(one.offset);
    if (message) deliveries.push(view(one, message, receipts));
    else if (!unreadable.includes(one)) missing.push(one);
  }
  if (missing.length > 0) await settleMissing(tenant, group, missing);
  return deliveries;
}

/** All at once, or one by one when one of them spoils the read. Throws `store-unavailable`, which says nothing of any. */
async function readBodies(
  tenant: Tenant,
  topic: string,
  granted: readonly Granted[],
): Promise<{ messages: StoredMessage[]; unreadable: Granted[] }> {
  const read = (some: readonly Granted[]) =>
    tenant.logHealth.read(() =>
      tenant.log.readMessages(
        topic,
        some.map(({ offset }) => offset),
      ),
    );
  try {
    return { messages: await read(granted), unreadable: [] };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    tenant.ports.report("read", error);
  }
  const messages: StoredMessage[] = [];
  const unreadable: Granted[] = [];
  for (const single of granted) {
    try {
      messages.push(...(await read([single])));
    } catch (error) {
      if (isUnavailable(error)) throw error;
      unreadable.push(single);
    }
  }
  return { messages, unreadable };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof FairlaneError && error.failure.code === "store-unavailable";
}

const MAX_UNREADABLE_READS = 10;
const UNREADABLE_REASON = "the message cannot be read";

async function refuseUnreadable(
  tenant: Tenant,
  stale: GroupState,
  unreadable: readonly Granted[],
): Promise<void> {
  const { topic, group: name } = stale.key;
  const group = await tenant.group(topic, name);
  if (!group || group.record.generation !== stale.record.generation) return;
  tenant.change(group, (nowMs) => {
    for (const { lane: known, offset, nonce } of unreadable) {
      const lane = group.lane(known.partitionKey);
      const holder = lane?.holderOf(offset);
      if (!lane || holder?.nonce !== nonce) continue;
      const reads = (group.unreadableReads.get(offset) ?? 0) + 1;
      if (reads >= MAX_UNREADABLE_READS) {
        group.unreadableReads.delete(offset);
        decideFailed(group, lane, { offset, ...holder }, UNREADABLE_REASON, nowMs);
        group.touch(lane, nowMs);
        continue;
      }
      group.noteUnreadable(offset, reads);
      giveBackDeliveries(group, [{ partitionKey: lane.partitionKey, offset, nonce }], nowMs);
    }
  });
  if (group.index.dying.size > 0) await copyDeadLetters(tenant, group.key);
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
