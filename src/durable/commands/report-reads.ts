import { parseReceipt } from "../../protocol/receipts.ts";
import type { ReportReadsInput } from "../../protocol/tenant-calls.ts";
import { copyDeadLettersSoon } from "../dead-letter-pass.ts";
import { giveBackDeliveries, type NamedDelivery } from "../give-back-deliveries.ts";
import type { Tenant } from "../tenant.ts";
import { refuseUnreadable, settleMissing } from "../unread-deliveries.ts";

/** What came of reading bodies at the edge. Repeating it changes nothing: each receipt names one delivery. */
export async function reportReads(tenant: Tenant, input: ReportReadsInput): Promise<null> {
  const { topic, group: name, missing, unreadable, unreachable } = input;
  if (unreachable.length > 0) tenant.logHealth.noteFailure();
  const group = await tenant.group(topic, name);
  if (!group) return null;
  const named = (receipts: readonly string[]): NamedDelivery[] =>
    receipts.flatMap((text) => {
      const receipt = parseReceipt(text, group.key);
      return receipt?.generation === group.record.generation ? [receipt] : [];
    });
  if (missing.length > 0) settleMissing(tenant, group, named(missing));
  if (unreadable.length > 0) refuseUnreadable(tenant, group, named(unreadable));
  if (unreachable.length > 0)
    tenant.change(group, (nowMs) => giveBackDeliveries(group, named(unreachable), nowMs));
  if (group.lanes.hasDying) await copyDeadLettersSoon(tenant, group.key);
  tenant.wake.pump(input);
  return null;
}
