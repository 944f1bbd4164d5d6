import { wasLostBetween } from "./audit-losses.ts";
import { type AuditModel, type Delivery, ENDLESS, type GroupAudit, type Settled } from "./audit-model.ts";
import type { Call } from "./history.ts";

/** Calls that end deliveries. */
const ENDING = ["leave", "giveBack", "resetOffset"] as const;

/** G5: a receipt works until its delivery ended, and never after. */
export function auditReceipts(model: AuditModel, group: GroupAudit): void {
  for (const deliveries of group.deliveries.values()) {
    for (const [at, delivery] of deliveries.entries()) {
      const settled = model.settlements(delivery.view.receipt);
      for (const one of settled) {
        if (one.status === "ok") auditAccepted(model, group, delivery, deliveries[at + 1], one, settled);
        else if (one.status !== null) auditRefused(model, group, delivery, deliveries[at + 1], one, settled);
      }
    }
  }
}

function auditAccepted(
  model: AuditModel,
  group: GroupAudit,
  delivery: Delivery,
  next: Delivery | undefined,
  one: Settled,
  all: readonly Settled[],
): void {
  const { history } = model;
  const what = `${one.settlement.action} of ${model.describe(group, delivery.row)}, attempt ${delivery.view.attempt},`;
  const { startSeq } = one.call;
  if (next && next.seq < startSeq) history.violate("G5", `${what} was accepted after the next delivery`);
  if (wasLostBetween(history, delivery.seq, startSeq))
    history.violate("G5", `${what} was accepted although the object was lost since`);
  if (surelyExpired(model, group, delivery, startSeq))
    history.violate("G5", `${what} was accepted although its route had expired and given it back`);
  const other = all.find(
    ({ call, status, settlement }) =>
      call !== one.call &&
      status === "ok" &&
      settlement.action !== "extend" &&
      (call.endSeq ?? ENDLESS) < startSeq,
  );
  if (other)
    history.violate(
      "G5",
      `${what} was accepted after a confirmed ${other.settlement.action} by the same receipt`,
    );
  for (const call of ENDING.flatMap((name) => history.of(name) as unknown as Call[])) {
    if (!call.outcome?.ok || call.startSeq <= delivery.seq || (call.endSeq ?? ENDLESS) >= startSeq) continue;
    const ended = endedBy(call, group, delivery);
    if (ended) history.violate("G5", `${what} was accepted after ${ended}`);
  }
  auditFlag(model, group, delivery, one, what);
}

/** Did its route expire while it was under way? */
function surelyExpired(model: AuditModel, group: GroupAudit, delivery: Delivery, beforeSeq: number): boolean {
  const { parties } = group;
  const end = parties.endOf(delivery, beforeSeq);
  if (end?.byExpiry !== "surely") return false;
  const seq = parties.seqOf(end);
  // What was lapsed then stays as it was.
  return model.history.highestClockMs(seq, parties.clockOf(end)) < model.visibleUntilMs(delivery, seq);
}

/** What the call, answered well, certainly did to the delivery. */
function endedBy(call: Call, group: GroupAudit, delivery: Delivery): string | null {
  const input = call.input as {
    topic?: string;
    group?: string;
    subscriber?: string;
    receipts?: string[];
    partitionKey?: string;
  };
  if (input.topic !== group.topic || input.group !== group.group) return null;
  if (call.name === "leave" && input.subscriber === delivery.subscriber) return "its subscriber left";
  if (call.name === "giveBack" && input.receipts?.includes(delivery.view.receipt)) return "it was given back";
  if (call.name === "resetOffset" && input.partitionKey === delivery.row.partitionKey)
    return "an offset reset";
  return null;
}

function auditFlag(
  model: AuditModel,
  group: GroupAudit,
  delivery: Delivery,
  one: Settled,
  what: string,
): void {
  const { deadLetters, maxAttempts } = group.settings;
  const last = one.settlement.action === "nack" && delivery.view.attempt >= maxAttempts;
  const expected = deadLetters && (one.settlement.action === "reject" || last);
  if (one.deadLettered !== expected) {
    model.history.violate(
      "G2",
      `${what} of at most ${maxAttempts} was answered deadLettered ${one.deadLettered}`,
    );
  }
}

function auditRefused(
  model: AuditModel,
  group: GroupAudit,
  delivery: Delivery,
  next: Delivery | undefined,
  one: Settled,
  all: readonly Settled[],
): void {
  const { history } = model;
  const { row, seq } = delivery;
  const endSeq = one.call.endSeq ?? ENDLESS;
  const endMs = one.call.endClockMs;
  const endedBySettling = all.some(
    (other) =>
      other.call.startSeq < endSeq &&
      other.settlement.action !== "extend" &&
      other !== one &&
      (other.status === "ok" || other.status === null),
  );
  const ended =
    (next && next.seq < endSeq) ||
    wasLostBetween(history, seq, endSeq) ||
    endedBySettling ||
    model.givenBack(group, delivery, endSeq) ||
    model.interfered(group, row, seq, endSeq) ||
    model.mayHaveBeenInFlight(group, seq, endSeq) ||
    (row.vanishedNotBeforeSeq !== null && row.vanishedNotBeforeSeq < endSeq) ||
    model.mayHaveExpired(row, endSeq, endMs) ||
    (delivery.view.attempt >= group.settings.maxAttempts &&
      history.highestClockMs(endSeq, endMs) >= model.visibleUntilMs(delivery, endSeq));
  if (ended && one.status !== "invalid") return;
  const what = `${one.settlement.action} of ${model.describe(group, row)}, attempt ${delivery.view.attempt},`;
  history.violate("G5", `${what} was answered ${one.status} although it was the current delivery`);
}
