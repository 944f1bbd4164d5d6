import { mayBeForgotten, type Settlement, wasLostBetween } from "./audit-losses.ts";
import { type AuditModel, type Delivery, ENDLESS, type GroupAudit, type Settled } from "./audit-model.ts";
import { sameBytes } from "./audit-publishes.ts";
import type { Call, LogRow } from "./history.ts";

/** A difference of clocks is not noticed below it. */
const CLOCK_TOLERANCE_MS = 60;

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
  if (lost === 0 && row.dueAtMs > row.publishedAtMs) auditDue(model, delivery, what);
  if (delivery.view.attempt >= 1 && delivery.view.attempt <= 1 + lost) return;
  model.history.violate(
    "G2",
    `${what} came first as attempt ${delivery.view.attempt}; ${lost} grants were lost before`,
  );
}

/** By the log's clock, which an object that does not hold the log knows from its reads. */
function auditDue(model: AuditModel, { row, seq, logClockMs }: Delivery, what: string): void {
  const { history, profile } = model;
  const earlyMs = row.dueAtMs - logClockMs - (profile.lateness ? CLOCK_TOLERANCE_MS : 0);
  if (earlyMs <= 0) return;
  const jumped = [...history.jumps, ...history.logJumps].some((jump) => jump.seq < seq);
  if (profile.lateness && jumped) return;
  history.violate("G3", `${what} came ${earlyMs} ms before it was due`);
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
    .some(
      ({ call, status }) =>
        status === "settled" &&
        (call.endSeq ?? ENDLESS) < next.seq &&
        !mayBeForgotten(model, group, call, next.seq),
    );
  if (ended) history.violate("G5", `${what} was answered as settled, and came again`);
  const lost = model.lost(group, before.seq, next.seq);
  const ok = relevant.find(({ status, settlement }) => status === "ok" && settlement.action !== "extend");
  if (wasLostBetween(history, before.seq, next.seq)) {
    auditAfterLoss(model, group, before, next, ok, what);
    return;
  }
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

/** A new object knows what was settled some seconds before the loss, and nothing of deliveries and attempts. */
function auditAfterLoss(
  model: AuditModel,
  group: GroupAudit,
  before: Delivery,
  next: Delivery,
  ok: Settled | undefined,
  what: string,
): void {
  const { history } = model;
  const action = ok?.settlement.action;
  const isEnd = action === "ack" || action === "reject" || (action === "nack" && ok?.deadLettered);
  if (ok && isEnd && !mayBeForgotten(model, group, settledAt(group, before.row, ok), next.seq))
    history.violate("G2", `${what} came again long after a confirmed ${action}: it was not saved`);
  const high = before.view.attempt + 1 + model.lost(group, before.seq, next.seq);
  if (next.view.attempt < 1 || next.view.attempt > high) {
    const { attempt } = next.view;
    history.violate("G2", `${what} came as attempt ${attempt} after ${before.view.attempt} and a loss`);
  }
}

/** What was decided to be a dead letter is settled once its copy is there. */
function settledAt(group: GroupAudit, row: LogRow, { call, deadLettered }: Settled): Settlement {
  const { startSeq, endSeq, endClockMs } = call;
  if (!deadLettered) return { startSeq, endSeq, endClockMs };
  const copy = group.copies.find(
    ({ deadLetter, partitionKey, appearedSeq }) =>
      deadLetter?.originalId === row.id && partitionKey === row.partitionKey && appearedSeq > startSeq,
  );
  // Without one it was not settled yet, or the copy of an earlier failure stood for it.
  if (!copy) return { startSeq, endSeq: ENDLESS, endClockMs };
  return { startSeq, endSeq: Math.max(endSeq ?? 0, copy.appearedSeq), endClockMs: copy.appearedClockMs };
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
  // It lapsed, and the delivery after it was given back: at once, whatever the clock says since.
  if (model.mayHaveBeenReturned(group, before.seq, next.seq)) return;
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
