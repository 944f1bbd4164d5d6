import type { Holder, Lane } from "../../core/lane.ts";
import { MAX_REASON_CHARS, MAX_SUBSCRIBERS_PER_GROUP } from "../../core/limits.ts";
import { backoffMs, LAPSED_REASON } from "../../core/retry.ts";
import { isInLane } from "../../core/unsettled.ts";
import { parseReceipt, type Receipt } from "../../protocol/receipts.ts";
import type { SettleInput, Settlement, SettleResult } from "../../protocol/tenant-calls.ts";
import { beat, decideFailed } from "../care.ts";
import { copyDeadLettersSoon } from "../dead-letter-pass.ts";
import type { GroupState } from "../group-state.ts";
import type { Tenant } from "../tenant.ts";

/**
 * Settles deliveries by their receipts, all in one transaction; one item's fate does not touch another's.
 *
 * A receipt works while the nonce of its delivery stands in the rows, also after its visibility ended. The copy
 * of a dead letter follows the decision: with the embedded log before the reply, else after it, and by the alarm if that
 * fails.
 */
export async function settle(tenant: Tenant, input: SettleInput): Promise<SettleResult[]> {
  const group = await tenant.group(input.topic, input.group);
  if (!group) return input.settlements.map(({ receipt }) => ({ receipt, status: "invalid" }));
  const results = tenant.change(group, (nowMs) => {
    const known = input.subscriber !== null && group.subscribers.has(input.subscriber);
    // A settlement is never refused for want of room for its heartbeat.
    if (input.subscriber !== null && (known || group.subscribers.size < MAX_SUBSCRIBERS_PER_GROUP)) {
      beat(group, input.subscriber, nowMs);
    }
    const touched = new Set<Lane>();
    const settled = input.settlements.map((settlement) => settleOne(group, settlement, nowMs, touched));
    for (const lane of touched) group.touch(lane, nowMs);
    return settled;
  });
  if (group.lanes.hasDying && results.some(({ deadLettered }) => deadLettered)) {
    await copyDeadLettersSoon(tenant, input);
  }
  tenant.wake.pump(input);
  return results;
}

function settleOne(
  group: GroupState,
  settlement: Settlement,
  nowMs: number,
  touched: Set<Lane>,
): SettleResult {
  const { receipt } = settlement;
  const parsed = parseReceipt(receipt, group.key);
  if (!parsed) return { receipt, status: "invalid" };
  if (parsed.generation !== group.record.generation) return { receipt, status: "stale" };
  const lane = group.lanes.holding(parsed.partitionKey, parsed.offset);
  const holder = lane?.holderOf(parsed.offset);
  if (!lane || !holder || holder.nonce !== parsed.nonce)
    return { receipt, status: endedAs(group, lane, parsed) };
  touched.add(lane);
  group.routes.renew(lane.routeId, nowMs);
  const deadLettered = applySettlement(group, lane, parsed.offset, holder, settlement, nowMs);
  return deadLettered ? { receipt, status: "ok", deadLettered: true } : { receipt, status: "ok" };
}

/** What became of a delivery that is no more. */
function endedAs(group: GroupState, lane: Lane | undefined, receipt: Receipt): "stale" | "settled" {
  const { scanOffset, recoverThrough } = group.progress;
  // What is not known may come yet, and so may what was there before this object: it cannot have been settled here.
  if (receipt.offset > scanOffset || receipt.offset <= recoverThrough) return "stale";
  if (!group.known.has(receipt.offset)) return "stale";
  const lanes = group.lanes.lanesOf(receipt.partitionKey);
  // Another lane of the partition may have walked further: whose the message was is not known any more.
  if (lanes.length > 1) return lanes.some((one) => isInLane(one, receipt.offset)) ? "stale" : "settled";
  if (!lane) return "settled";
  if (receipt.offset > lane.walkedOffset) return "stale";
  return lane.isSettledBelow(receipt.offset) ? "settled" : "stale";
}

/** Returns whether a dead letter follows. */
function applySettlement(
  group: GroupState,
  lane: Lane,
  offset: number,
  holder: Holder,
  settlement: Settlement,
  nowMs: number,
): boolean {
  const { settings } = group.record;
  const { bodyBytes, dueAtMs } = holder;
  const { sortedBy } = holder;
  const waiting = { offset, bodyBytes, dueAtMs, nonce: "", subscriber: "", epoch: 0, sortedBy };
  switch (settlement.action) {
    case "ack":
      lane.settle(offset);
      return false;
    case "nack": {
      const reason = cut(settlement.reason) || holder.reason;
      const { maxAttempts } = group.activeRules(nowMs, lane.routeId);
      if (maxAttempts !== null && holder.attempt >= maxAttempts) {
        return decideFailed(group, lane, { offset, ...holder }, reason || LAPSED_REASON, nowMs);
      }
      const delayMs = settlement.delayMs ?? backoffMs(settings.retry, holder.attempt);
      lane.except({
        ...waiting,
        state: "backingOff",
        attempt: holder.attempt,
        atMs: nowMs + delayMs,
        reason,
      });
      return false;
    }
    case "reject":
      return decideFailed(group, lane, { offset, ...holder }, cut(settlement.reason) || "rejected", nowMs);
    case "postpone":
      lane.except({
        ...waiting,
        state: "postponed",
        attempt: 0,
        atMs: nowMs + settlement.delayMs,
        reason: holder.reason,
      });
      return false;
    case "extend": {
      const { attempt, nonce, subscriber, epoch, reason, deliveredAtMs } = holder;
      const atMs = nowMs + settlement.visibilityTimeoutMs;
      lane.except({
        offset,
        bodyBytes,
        dueAtMs,
        state: "inFlight",
        attempt,
        atMs,
        nonce,
        subscriber,
        epoch,
        reason,
        deliveredAtMs,
        sortedBy,
      });
      return false;
    }
  }
}

/** Cut by code points, so that no character is halved. */
function cut(reason: string | undefined): string {
  if (reason === undefined || reason.length <= MAX_REASON_CHARS) return reason ?? "";
  return [...reason].slice(0, MAX_REASON_CHARS).join("");
}
