import { FairlaneError } from "../core/failure.ts";
import type { StoredMessage } from "../log/message-log.ts";
import { ReceiptMaker } from "../protocol/receipts.ts";
import type { DeliveryView, GrantView, TakeInput } from "../protocol/tenant-calls.ts";
import { copyDeadLetters } from "./dead-letter-pass.ts";
import { giveBackDeliveries, type NamedDelivery } from "./give-back-deliveries.ts";
import type { Granted } from "./grant.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";
import { refuseUnreadable, settleMissing } from "./unread-deliveries.ts";

/** What a take answers: whole deliveries where the object holds the log, else grants whose bodies the edge reads. */
export interface Handed {
  deliveries: DeliveryView[];
  grants: GrantView[];
}

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
): Promise<Handed> {
  const { topic, group: name } = input;
  const receipts = new ReceiptMaker({ tenant: tenant.name, topic, group: name }, group.record.generation);
  const grants = granted.map((one) => grantView(one, receipts));
  if (!tenant.embedded) return { deliveries: [], grants };
  let messages: StoredMessage[];
  let unreadable: Granted[] = [];
  try {
    ({ messages, unreadable } = await readBodies(tenant, topic, granted));
  } catch (error) {
    await giveBackGranted(tenant, group, granted);
    throw error;
  }
  if (unreadable.length > 0) await tellUnreadable(tenant, group, unreadable);
  const byOffset = new Map(messages.map((message) => [message.offset, message]));
  const deliveries: DeliveryView[] = [];
  const missing: Granted[] = [];
  for (const [at, one] of granted.entries()) {
    const message = byOffset.get(one.offset);
    const view = grants[at];
    if (message && view) deliveries.push(deliveryOf(view, message));
    else if (!unreadable.includes(one)) missing.push(one);
  }
  if (missing.length > 0) {
    const current = await sameGroup(tenant, group);
    if (current) settleMissing(tenant, current, missing.map(named));
  }
  return { deliveries, grants: [] };
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

async function tellUnreadable(
  tenant: Tenant,
  stale: GroupState,
  unreadable: readonly Granted[],
): Promise<void> {
  const group = await sameGroup(tenant, stale);
  if (!group) return;
  refuseUnreadable(tenant, group, unreadable.map(named));
  if (group.lanes.hasDying) await copyDeadLetters(tenant, group.key);
}

async function giveBackGranted(
  tenant: Tenant,
  stale: GroupState,
  granted: readonly Granted[],
): Promise<void> {
  const group = await sameGroup(tenant, stale);
  if (group) tenant.change(group, (nowMs) => giveBackDeliveries(group, granted.map(named), nowMs));
}

/** The group as it is now; null when it is gone, or another one has its name. */
async function sameGroup(tenant: Tenant, stale: GroupState): Promise<GroupState | null> {
  const group = await tenant.group(stale.key.topic, stale.key.group);
  return group?.record.generation === stale.record.generation ? group : null;
}

function named({ lane, offset, nonce }: Granted): NamedDelivery {
  return { partitionKey: lane.partitionKey, offset, nonce };
}

function grantView(one: Granted, receipts: ReceiptMaker): GrantView {
  const { partitionKey } = one.lane;
  return {
    receipt: receipts.make(one.offset, one.nonce, partitionKey),
    partitionKey,
    offset: one.offset,
    attempt: one.attempt,
    visibleUntil: one.visibleUntilMs,
    leaseEpoch: one.epoch,
  };
}

function deliveryOf(grant: GrantView, message: StoredMessage): DeliveryView {
  return {
    ...grant,
    id: message.id,
    body: message.body,
    contentType: message.contentType,
    headers: message.headers,
    publishedAt: message.publishedAtMs,
    deadLetter: message.deadLetter,
  };
}
