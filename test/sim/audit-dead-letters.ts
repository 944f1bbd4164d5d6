import { mayBeForgotten, wasLostBetween } from "./audit-losses.ts";
import { type AuditModel, type Delivery, ENDLESS, type GroupAudit } from "./audit-model.ts";
import { sameBytes } from "./audit-publishes.ts";
import type { LogRow } from "./history.ts";

/** Dead letters: exactly one for each decided failure, with its facts; none without a failure. */
export function auditDeadLetters(model: AuditModel, group: GroupAudit): void {
  const { history } = model;
  for (const copy of group.copies) auditCopy(model, group, copy);
  for (const row of group.rows) {
    const copies = copiesOf(group, row);
    const sources = group.rows.filter((other) => isSame(other, row) && model.covers(group, other) !== "no");
    // What comes again after a loss may fail again, and any reset between makes that another failure.
    const lost = history.losses.length > 0;
    const resets = history
      .of("resetOffset")
      .filter(({ input }) => lost || input.partitionKey === row.partitionKey).length;
    // One that was removed before its message was settled is made again by the repeated step.
    const made = copies.filter((copy) => !copies.some((other) => isAgain(copy, other)));
    if (made.length > sources.length * (1 + resets)) {
      history.violate("G2", `${model.describe(group, row)} has ${made.length} dead letters for one failure`);
    }
    auditDecided(model, group, row, copies);
    if (copies.length === 0) auditMissing(model, group, row);
  }
}

function isAgain(copy: LogRow, other: LogRow): boolean {
  return copy.origin === other.origin && other.vanishedSeq !== null && other.vanishedSeq <= copy.appearedSeq;
}

function isSame(a: LogRow, b: LogRow): boolean {
  return a.id === b.id && a.partitionKey === b.partitionKey;
}

function copiesOf(group: GroupAudit, row: LogRow): LogRow[] {
  return group.copies.filter(
    (copy) => copy.deadLetter?.originalId === row.id && copy.partitionKey === row.partitionKey,
  );
}

/** What a caller was told to be dead-lettered has its copy; nothing comes after it. */
function auditDecided(model: AuditModel, group: GroupAudit, row: LogRow, copies: readonly LogRow[]): void {
  const { history } = model;
  for (const delivery of group.deliveries.get(row) ?? []) {
    const decided = model.settlements(delivery.view.receipt).find(({ deadLettered }) => deadLettered);
    if (!decided) continue;
    if (mayBeForgotten(model, group, decided.call, ENDLESS)) continue;
    // After a loss the same failure may be decided again, whose copy is there already.
    const again = wasLostBetween(history, 0, decided.call.startSeq);
    const missing = !copies.some(({ appearedSeq }) => again || appearedSeq > decided.call.startSeq);
    if (missing && row.vanishedSeq === null && !model.interfered(group, row, delivery.seq, ENDLESS)) {
      history.violate(
        "G2",
        `${model.describe(group, row)} was answered as dead-lettered and has no dead letter`,
      );
    }
  }
}

/** A message that can have ended only by failing has its dead letter. */
function auditMissing(model: AuditModel, group: GroupAudit, row: LogRow): void {
  const { history } = model;
  if (!group.settings.deadLetters || row.vanishedSeq !== null || model.covers(group, row) !== "yes") return;
  const endSeq = history.seq();
  const endMs = history.clockMs();
  if (model.interfered(group, row, 0, endSeq) || model.mayHaveExpired(row, endSeq, endMs)) return;
  const mayBeAcked = (group.deliveries.get(row) ?? []).some(({ view }) =>
    model
      .settlements(view.receipt)
      .some(({ settlement, status }) => settlement.action === "ack" && (status === "ok" || status === null)),
  );
  if (mayBeAcked || !model.mayHaveFailed(group, row, endSeq, endMs)) return;
  history.violate("G2", `${model.describe(group, row)} failed and has no dead letter`);
}

function auditCopy(model: AuditModel, group: GroupAudit, copy: LogRow): void {
  const { history } = model;
  const facts = copy.deadLetter;
  if (!facts) return;
  const what = `the dead letter of ${facts.originalId} in ${group.topic}/${group.group}`;
  if (!group.settings.deadLetters) history.violate("G2", `${what} is one too many: the group makes none`);
  const sources = group.rows.filter((row) => isSame(row, copy) && model.covers(group, row) !== "no");
  const bytes = sources.filter((row) => sameBytes(row, copy));
  if (bytes.length === 0) history.violate("G12", `${what} has other bytes than the message`);
  const clockMs = history.highestClockMs(copy.appearedSeq, copy.appearedClockMs);
  const failed = bytes.filter((row) => model.mayHaveFailed(group, row, copy.appearedSeq, clockMs));
  if (failed.length === 0) {
    history.violate("G2", `${what} was made although no last attempt failed`);
    return;
  }
  const deliveries = failed
    .flatMap((row) => group.deliveries.get(row) ?? [])
    .filter(({ seq }) => seq < copy.appearedSeq);
  const lost = failed.some((row) => model.lost(group, row.notBeforeSeq, copy.appearedSeq) > 0);
  if (!lost && !deliveries.some(({ view }) => view.attempt === facts.attempts)) {
    history.violate("G2", `${what} says ${facts.attempts} attempts, which no delivery had`);
  }
  // After a reset, or the loss of the object, the message begins anew, its reasons too.
  const anew =
    wasLostBetween(history, 0, copy.appearedSeq) ||
    failed.some((row) => model.interfered(group, row, 0, copy.appearedSeq));
  if (anew) return;
  const allowed = new Set(
    failed.flatMap((row) => [...reasonsOf(model, group.deliveries.get(row) ?? [], copy)]),
  );
  const reason = facts.reason;
  if (allowed.has(reason)) return;
  history.violate("G2", `${what} gives the reason "${reason}", expected ${[...allowed].join(" or ")}`);
}

/** The last real reason: of those whose call was answered the latest, or one of those that were not. */
function reasonsOf(model: AuditModel, deliveries: readonly Delivery[], copy: LogRow): Set<string> {
  const given: { reason: string; startSeq: number; certain: boolean }[] = [];
  let rejected = false;
  for (const { view } of deliveries) {
    for (const { settlement, call, status } of model.settlements(view.receipt)) {
      if (call.startSeq >= copy.appearedSeq || (status !== "ok" && status !== null)) continue;
      if (settlement.action === "reject") rejected = true;
      if (!("reason" in settlement) || !settlement.reason) continue;
      given.push({ reason: settlement.reason, startSeq: call.startSeq, certain: status === "ok" });
    }
  }
  const certain = given.filter((one) => one.certain).sort((a, b) => b.startSeq - a.startSeq);
  const allowed = new Set(given.filter((one) => !one.certain).map((one) => one.reason));
  if (certain[0]) allowed.add(certain[0].reason);
  if (certain.length === 0) allowed.add("retry limit exceeded");
  if (rejected) allowed.add("rejected");
  return allowed;
}
