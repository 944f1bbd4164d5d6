import { decideFailed, expire } from "./care.ts";
import { giveBackDeliveries, type NamedDelivery } from "./give-back-deliveries.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

const MAX_UNREADABLE_READS = 10;
const UNREADABLE_REASON = "the message cannot be read";

/** Messages that cannot be read while others can: given back, and the tenth time dead letters without body. */
export function refuseUnreadable(
  tenant: Tenant,
  group: GroupState,
  unreadable: readonly NamedDelivery[],
): void {
  tenant.change(group, (nowMs) => {
    for (const { partitionKey, offset, nonce } of unreadable) {
      const lane = group.lanes.holding(partitionKey, offset);
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
      giveBackDeliveries(group, [{ partitionKey, offset, nonce }], nowMs);
    }
  });
}

/** The log no longer has them: settled as expired. */
export function settleMissing(tenant: Tenant, group: GroupState, missing: readonly NamedDelivery[]): void {
  tenant.change(group, (nowMs) => {
    for (const { partitionKey, offset, nonce } of missing) {
      const lane = group.lanes.holding(partitionKey, offset);
      if (!lane || lane.holderOf(offset)?.nonce !== nonce) continue;
      expire(group, lane, offset);
      group.touch(lane, nowMs);
    }
  });
}
