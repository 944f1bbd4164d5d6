import { auditCollection } from "./audit-collection.ts";
import { auditDeadLetters } from "./audit-dead-letters.ts";
import { auditDeliveries } from "./audit-deliveries.ts";
import { AuditModel } from "./audit-model.ts";
import { auditOrder } from "./audit-order.ts";
import { auditOwners } from "./audit-owners.ts";
import { auditParties } from "./audit-parties.ts";
import { auditPublishes } from "./audit-publishes.ts";
import { auditReceipts } from "./audit-receipts.ts";
import type { History } from "./history.ts";
import type { Profile } from "./profile.ts";

/**
 * Judges one tenant's run after its end, by what callers were told and what the log held. It shares no code with
 * the product. What is uncertain (a call whose object went, a grant that no reply told of) counts for the
 * product: a violation is one whichever way it went.
 */
export function audit(history: History, profile: Profile): void {
  const model = new AuditModel(history, profile);
  auditFailures(history);
  auditPublishes(history);
  for (const group of model.groups) {
    auditDeliveries(model, group);
    auditParties(model, group);
    if (group.loose) continue;
    auditReceipts(model, group);
    auditOrder(model, group);
    auditOwners(model, group);
    auditDeadLetters(model, group);
  }
  auditCollection(model);
}

/** An answer of `internal` is a defect unless the storage was made to fail during the call. */
function auditFailures(history: History): void {
  for (const { name, outcome, startSeq, endSeq } of history.calls) {
    if (!outcome || outcome.ok || outcome.error.code !== "internal") continue;
    if (/not there yet/.test(outcome.error.detail)) continue;
    const failed = history.storageFailureSeqs.some((seq) => seq >= startSeq && seq <= (endSeq ?? seq));
    if (!failed) history.violate("G11", `${name} was answered internal: ${outcome.error.detail}`);
  }
}
