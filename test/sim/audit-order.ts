import { lanesOf } from "./audit-deliveries.ts";
import { wasLostBetween } from "./audit-losses.ts";
import { type AuditModel, type Delivery, ENDLESS, type GroupAudit } from "./audit-model.ts";
import type { Call, LogRow } from "./history.ts";

/** G3: order of first deliveries, strict lanes, barriers, and how many are in flight. */
export function auditOrder(model: AuditModel, group: GroupAudit): void {
  for (const rows of lanesOf(group).values()) {
    const deliveries = rows.flatMap((row) => group.deliveries.get(row) ?? []);
    deliveries.sort((a, b) => a.seq - b.seq || a.place - b.place);
    auditFirsts(model, group, rows);
    auditInFlight(model, group, deliveries);
    if (group.settings.maxInFlightPerPartition === 1) auditStrict(model, group, deliveries);
    for (const delivery of deliveries) auditBarrier(model, group, delivery, deliveries);
  }
}

interface First {
  row: LogRow;
  delivery: Delivery;
  sentSeq: number;
  answeredSeq: number;
}

function auditFirsts(model: AuditModel, group: GroupAudit, rows: readonly LogRow[]): void {
  const firsts: First[] = [];
  for (const row of rows) {
    const [delivery] = group.deliveries.get(row) ?? [];
    if (!delivery || row.origin !== "" || row.dueAtMs > row.publishedAtMs) continue;
    firsts.push({ row, delivery, ...publishOf(model, row) });
  }
  for (const a of firsts) {
    for (const b of firsts) {
      if (a.answeredSeq >= b.sentSeq || !isBefore(b.delivery, a.delivery)) continue;
      if (model.interfered(group, a.row, 0, a.delivery.seq)) continue;
      if (model.profile.lateness && wasSteppedBack(model, a, b)) continue;
      // In one lane since both are of one party.
      const { parties } = group;
      if (parties.ownerAt(b.delivery.table, a.row) !== parties.ownerAt(b.delivery.table, b.row)) continue;
      // It may have come before, in a reply that nobody saw.
      if (model.mayHaveBeenInFlight(group, 0, b.delivery.seq)) continue;
      const what = `${model.describe(group, a.row)} was answered before ${b.row.id} was sent`;
      model.history.violate("G3", `${what}, and came after it`);
    }
  }
}

/** No order is promised across a backward step of the clock that gives the offsets: others may have passed it. */
function wasSteppedBack({ history }: AuditModel, a: First, b: First): boolean {
  return history.logJumps.some(({ seq, beforeMs, afterMs }) => {
    if (afterMs >= beforeMs || seq >= b.row.appearedSeq) return false;
    return seq > a.sentSeq ? a.row.offset > b.row.offset : beforeMs > a.row.publishedAtMs;
  });
}

/** When the message was first sent, and when it was first known to be stored. */
function publishOf(model: AuditModel, row: LogRow): { sentSeq: number; answeredSeq: number } {
  let sentSeq = ENDLESS;
  let answeredSeq = ENDLESS;
  for (const { input, startSeq, endSeq, outcome, unordered } of model.history.of("publish")) {
    if (input.topic !== row.topic || (endSeq ?? ENDLESS) < row.notBeforeSeq) continue;
    if (!input.messages.some(({ id, partitionKey }) => id === row.id && partitionKey === row.partitionKey))
      continue;
    sentSeq = Math.min(sentSeq, startSeq);
    if (outcome?.ok && !unordered) answeredSeq = Math.min(answeredSeq, endSeq ?? ENDLESS);
  }
  return { sentSeq, answeredSeq };
}

function isBefore(a: Delivery, b: Delivery): boolean {
  return a.seq < b.seq || (a.seq === b.seq && a.place < b.place);
}

/** Deliveries that surely hold their message when `at` is granted. */
function isHeld(model: AuditModel, group: GroupAudit, delivery: Delivery, at: Delivery): boolean {
  if (wasLostBetween(model.history, delivery.seq, at.seq)) return false;
  if (delivery.seq > at.seq || at.clockMs >= model.visibleUntilMs(delivery, at.seq)) return false;
  const ended = model
    .settlements(delivery.view.receipt)
    .some(
      ({ call, settlement, status }) =>
        settlement.action !== "extend" && call.startSeq < at.seq && (status === "ok" || status === null),
    );
  if (ended || model.givenBack(group, delivery, at.seq)) return false;
  if (model.interfered(group, delivery.row, delivery.seq, at.seq)) return false;
  if (delivery.row.vanishedNotBeforeSeq !== null && delivery.row.vanishedNotBeforeSeq < at.seq) return false;
  // A clock that ran ahead meanwhile may have ended it.
  const untilMs = model.visibleUntilMs(delivery, at.seq);
  return !model.history.jumps.some(
    (jump) => jump.seq > delivery.seq && jump.seq < at.seq && jump.beforeMs >= untilMs,
  );
}

export { isHeld };

/** One that had lapsed may have been extended where it waited for its next party. */
function wasExtended(model: AuditModel, { view }: Delivery): boolean {
  return model.settlements(view.receipt).some(({ settlement }) => settlement.action === "extend");
}

function auditInFlight(model: AuditModel, group: GroupAudit, deliveries: readonly Delivery[]): void {
  const { settings, parties } = group;
  const { maxInFlightPerPartition } = settings;
  for (const [at, delivery] of deliveries.entries()) {
    if (deliveries[at + 1]?.seq === delivery.seq) continue;
    const isInLane = (other: Delivery) =>
      parties.isSurelyIn(delivery.routeId, other, delivery.table, !wasExtended(model, other));
    const held = new Set(
      deliveries
        .filter((other) => isInLane(other) && isHeld(model, group, other, delivery))
        .map(({ row }) => row),
    );
    if (held.size > maxInFlightPerPartition) {
      const what = `${held.size} messages of lane ${delivery.row.partitionKey.slice(0, 20)} are in flight`;
      model.history.violate(
        "G3",
        `${group.topic}/${group.group}: ${what}, allowed are ${maxInFlightPerPartition}`,
      );
    }
  }
}

function auditStrict(model: AuditModel, group: GroupAudit, deliveries: readonly Delivery[]): void {
  const open = new Map<LogRow, Delivery>();
  for (const delivery of deliveries) {
    for (const [row, other] of open) {
      if (row === delivery.row) continue;
      if (model.maySettled(group, row, delivery.seq, delivery.clockMs)) open.delete(row);
      // A new object begins again at the first message that it does not know as settled.
      else if (wasLostBetween(model.history, other.seq, delivery.seq) && delivery.row.offset < row.offset)
        continue;
      else if (isApart(model, group, other, delivery)) continue;
      else {
        const what = `${model.describe(group, delivery.row)} came while ${row.id}, attempt ${other.view.attempt}, was not settled`;
        model.history.violate("G3", `strict lane: ${what}`);
        open.delete(row);
      }
    }
    open.set(delivery.row, delivery);
  }
}

/** May it be in another lane than what came, or in one that was two when both began? */
function isApart(model: AuditModel, group: GroupAudit, open: Delivery, came: Delivery): boolean {
  const { parties } = group;
  if (!parties.isSurelyIn(came.routeId, open, came.table, false)) return true;
  const before = group.deliveries.get(came.row)?.findLast(({ seq }) => seq < came.seq);
  // A new object knows nothing of what was out, and what was out since comes first.
  if (wasLostBetween(model.history, open.seq, came.seq) && before?.routeId !== came.routeId) return true;
  if (came.row.offset >= open.row.offset) return false;
  // What was out in two lanes that became one comes again in the order of its offsets.
  const joined = parties.endedBetween(open.table, came.table);
  if (before) return joined || before.routeId !== came.routeId;
  return joined && model.mayHaveBeenInFlight(group, 0, came.seq);
}

/** Nothing behind a postponed message comes before it. */
function auditBarrier(
  model: AuditModel,
  group: GroupAudit,
  postponed: Delivery,
  deliveries: readonly Delivery[],
): void {
  const { history } = model;
  const { row } = postponed;
  for (const { settlement, call, status } of model.settlements(postponed.view.receipt)) {
    if (settlement.action !== "postpone" || status !== "ok") continue;
    const endSeq = call.endSeq ?? ENDLESS;
    const dueMs = history.lowestClockMs(call as unknown as Call) + settlement.delayMs;
    const again = deliveries.find((one) => one.row === row && one.seq > postponed.seq);
    for (const behind of deliveries) {
      if (behind.row.offset <= row.offset || behind.seq < endSeq || (again && behind.seq >= again.seq))
        continue;
      if (!group.parties.isSurelyIn(behind.routeId, postponed, behind.table, false)) continue;
      if (wasLostBetween(history, postponed.seq, behind.seq)) continue;
      if (model.interfered(group, row, postponed.seq, behind.seq)) continue;
      if (model.mayHaveExpired(row, behind.seq, behind.clockMs)) continue;
      if (row.vanishedNotBeforeSeq !== null && row.vanishedNotBeforeSeq < behind.seq) continue;
      const early = history.highestClockMs(behind.seq, behind.clockMs) < dueMs;
      const first =
        group.deliveries.get(behind.row)?.[0] === behind && !model.mayHaveBeenInFlight(group, 0, behind.seq);
      if (early || (first && again?.routeId === behind.routeId)) {
        history.violate("G3", `barrier: ${model.describe(group, behind.row)} passed the postponed ${row.id}`);
      }
    }
  }
}
