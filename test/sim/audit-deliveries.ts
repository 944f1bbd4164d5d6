import { type AuditModel, type Delivery, ENDLESS, type GroupAudit, type Settled } from "./audit-model.ts";
import { sameBytes } from "./audit-publishes.ts";
import type { Call, LogRow } from "./history.ts";

/** G2, and what one delivery allows of the next: when it may come, and its attempt number. */
export function auditDeliveries(model: AuditModel, group: GroupAudit): void {
  const { history } = model;
  for (const [row, deliveries] of group.deliveries) {
    const what = model.describe(group, row);
    for (const delivery of deliveries) auditOne(model, group, delivery, what);
    if (group.loose) continue;
    for (const [at, delivery] of deliveries.entries()) {
      const before = deliveries[at - 1];
      if (before) auditNext(model, group, before, delivery, what);
      else auditFirst(model, group, delivery, what);
    }
  }
  if (group.loose) return;
  const endSeq = history.seq();
  for (const row of group.rows) {
    // What vanished is for the audit of collection.
    if (row.vanishedSeq !== null || model.maySettled(group, row, endSeq, history.clockMs())) continue;
    const times = group.deliveries.get(row)?.length ?? 0;
    history.violate("G2", `${model.describe(group, row)} was never settled; delivered ${times} times`);
  }
}

function auditOne(model: AuditModel, group: GroupAudit, delivery: Delivery, what: string): void {
  const { history } = model;
  const { view, row } = delivery;
  if (view.id !== row.id || view.partitionKey !== row.partitionKey || !sameBytes(row, view)) {
    history.violate("G12", `${what} was delivered with other bytes than the log holds`);
  }
  if (!group.loose && model.covers(group, row) === "no")
    history.violate("G6", `${what} is not for this group`);
}

function auditFirst(model: AuditModel, group: GroupAudit, delivery: Delivery, what: string): void {
  const lost = model.lost(group, 0, delivery.seq);
  const { row } = delivery;
  if (lost === 0 && row.dueAtMs > row.publishedAtMs && delivery.clockMs < row.dueAtMs) {
    model.history.violate("G3", `${what} came ${row.dueAtMs - delivery.clockMs} ms before it was due`);
  }
  if (delivery.view.attempt >= 1 && delivery.view.attempt <= 1 + lost) return;
  model.history.violate(
    "G2",
    `${what} came first as attempt ${delivery.view.attempt}; ${lost} grants were lost before`,
  );
}

function auditNext(
  model: AuditModel,
  group: GroupAudit,
  before: Delivery,
  next: Delivery,
  what: string,
): void {
  const { history } = model;
  if (next.seq === before.seq) history.violate("G4", `${what} came twice in one reply`);
  if (model.interfered(group, before.row, before.seq, next.seq)) return;
  const relevant = model
    .settlements(before.view.receipt)
    .filter(({ call, status }) => call.startSeq < next.seq && (status === "ok" || status === null));
  const ended = model
    .settlements(before.view.receipt)
    .some(({ call, status }) => status === "settled" && (call.endSeq ?? ENDLESS) < next.seq);
  if (ended) history.violate("G5", `${what} was answered as settled, and came again`);
  const lost = model.lost(group, before.seq, next.seq);
  const ok = relevant.find(({ status, settlement }) => status === "ok" && settlement.action !== "extend");
  if (ok) auditAfterSettlement(model, group, before, next, ok, what);
  else auditAfterLapse(model, group, before, next, relevant, what);
  const counts = countsAfter(model, group, before, next, relevant, ok);
  const low = Math.min(...counts) + 1;
  const high = Math.max(...counts) + 1 + lost;
  if (next.view.attempt < low || next.view.attempt > high) {
    const expected = low === high ? `${low}` : `${low} to ${high}`;
    history.violate(
      "G2",
      `${what} came as attempt ${next.view.attempt} after ${before.view.attempt}, expected ${expected}`,
    );
  }
}

function auditAfterSettlement(
  model: AuditModel,
  group: GroupAudit,
  before: Delivery,
  next: Delivery,
  ok: Settled,
  what: string,
): void {
  const { history } = model;
  const { settlement } = ok;
  if (settlement.action === "ack" || settlement.action === "reject") {
    history.violate("G2", `${what} came again after a confirmed ${settlement.action}`);
  }
  const lowestMs = history.lowestClockMs(ok.call as unknown as Call);
  if (settlement.action === "nack") {
    if (before.view.attempt >= group.settings.maxAttempts) {
      history.violate("G2", `${what} came again after its last attempt ${before.view.attempt} failed`);
    }
    const dueMs = lowestMs + (settlement.delayMs ?? backoffMs(group, before.view.attempt));
    if (next.clockMs < dueMs)
      history.violate("G2", `${what} came ${dueMs - next.clockMs} ms before its backoff ended`);
  }
  if (settlement.action === "postpone" && next.clockMs < lowestMs + settlement.delayMs) {
    history.violate("G3", `${what} came before the time to which it was postponed`);
  }
}

function auditAfterLapse(
  model: AuditModel,
  group: GroupAudit,
  before: Delivery,
  next: Delivery,
  relevant: readonly Settled[],
  what: string,
): void {
  const { history } = model;
  const unknown = relevant.some(
    ({ status, settlement }) => status === null && settlement.action !== "extend",
  );
  if (unknown || model.givenBack(group, before, next.seq)) return;
  const untilMs = model.visibleUntilMs(before, next.seq);
  if (next.clockMs < untilMs) {
    const who = `${before.subscriber} held it ${untilMs - next.clockMs} ms more when ${next.subscriber} got it`;
    history.violate("G4", `${what} is in two hands: ${who}`);
  }
  if (before.view.attempt >= group.settings.maxAttempts) {
    history.violate("G2", `${what} came again after its last attempt ${before.view.attempt} lapsed`);
  }
}

/** What the count of attempts may be once the delivery before has ended. */
function countsAfter(
  model: AuditModel,
  group: GroupAudit,
  before: Delivery,
  next: Delivery,
  relevant: readonly Settled[],
  ok: Settled | undefined,
): number[] {
  const { attempt } = before.view;
  if (ok) return [ok.settlement.action === "postpone" ? 0 : attempt];
  const counts = [attempt];
  if (relevant.some(({ settlement }) => settlement.action === "postpone")) counts.push(0);
  if (model.givenBack(group, before, next.seq)) {
    // Certain when the call was answered and nothing but it can have ended the delivery.
    if (relevant.length === 0 && next.clockMs < model.visibleUntilMs(before, next.seq)) return [attempt - 1];
    counts.push(attempt - 1);
  }
  return counts;
}

function backoffMs(group: GroupAudit, attempt: number): number {
  const { initialBackoffMs, multiplier, maxBackoffMs } = group.settings.retry;
  let waitMs = initialBackoffMs;
  for (let failed = 1; failed < attempt; failed += 1) waitMs = Math.min(maxBackoffMs, waitMs * multiplier);
  return Math.floor(Math.min(waitMs, maxBackoffMs));
}

/** First deliveries of a lane's rows, by grant. */
export function lanesOf(group: GroupAudit): Map<string, LogRow[]> {
  const lanes = new Map<string, LogRow[]>();
  for (const row of group.rows) lanes.set(row.partitionKey, [...(lanes.get(row.partitionKey) ?? []), row]);
  return lanes;
}
