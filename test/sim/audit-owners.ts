import { lanesOf } from "./audit-deliveries.ts";
import { wasLostBetween } from "./audit-losses.ts";
import { type AuditModel, type Delivery, ENDLESS, type GroupAudit } from "./audit-model.ts";
import { isHeld } from "./audit-order.ts";

/** A heartbeat may be forgotten by this part of a lease when the object goes. */
const FORGOTTEN_PART = 8;

/** G4: a lane has one owner at a time, and epochs grow. */
export function auditOwners(model: AuditModel, group: GroupAudit): void {
  const owners = new Map<number, string>();
  for (const [key, deliveries] of byLane(group)) {
    for (const [at, delivery] of deliveries.entries()) {
      const epoch = delivery.view.leaseEpoch;
      const owner = owners.get(epoch) ?? delivery.subscriber;
      owners.set(epoch, owner);
      const where = `${group.topic}/${group.group} lane ${key.slice(0, 20)}`;
      if (owner !== delivery.subscriber) {
        model.history.violate("G4", `${where}: epoch ${epoch} is of ${owner} and of ${delivery.subscriber}`);
      }
      const before = deliveries[at - 1];
      if (!before) continue;
      if (epoch < before.view.leaseEpoch) {
        model.history.violate("G4", `${where}: epoch ${epoch} came after ${before.view.leaseEpoch}`);
      }
      if (before.subscriber !== delivery.subscriber)
        auditHandover(model, group, deliveries.slice(0, at), delivery, where);
    }
  }
}

/** By partition key and route, in the order of their grants. */
function* byLane(group: GroupAudit): Generator<[key: string, deliveries: Delivery[]]> {
  for (const [key, rows] of lanesOf(group)) {
    const deliveries = rows.flatMap((row) => group.deliveries.get(row) ?? []);
    deliveries.sort((a, b) => a.seq - b.seq);
    for (const routeId of new Set(deliveries.map((one) => one.routeId)))
      yield [key, deliveries.filter((one) => one.routeId === routeId)];
  }
}

/** The owner before must have lost the lane: it left, died, gave it up with nothing in flight, or was made to. */
function auditHandover(
  model: AuditModel,
  group: GroupAudit,
  earlier: readonly Delivery[],
  next: Delivery,
  where: string,
): void {
  const before = earlier[earlier.length - 1];
  if (!before || !livesOn(model, group, before, next)) return;
  const released = model.history
    .of("releaseLease")
    .some(
      ({ startSeq, endSeq, input }) =>
        startSeq < next.seq && (endSeq ?? ENDLESS) > before.seq && input.group === group.group,
    );
  if (released) return;
  // One that had to give the lane up got no new work on it for a whole lease: then it goes on without it, unless strict.
  const { leaseDurationMs, maxInFlightPerPartition } = group.settings;
  if (maxInFlightPerPartition > 1 && next.clockMs - before.clockMs >= leaseDurationMs) return;
  // Without a lapse in between: what lapsed may be extended after the lane was given up.
  const held = earlier.find(
    (one) =>
      one.view.leaseEpoch === before.view.leaseEpoch &&
      one.view.visibleUntil > next.clockMs &&
      isHeld(model, group, one, next) &&
      !isSuperseded(model, group, one, next),
  );
  if (!held) return;
  model.history.violate(
    "G4",
    `${where}: ${next.subscriber} got ${next.row.id} while ${before.subscriber} lives and holds ${held.row.id} in it`,
  );
}

function isSuperseded(model: AuditModel, group: GroupAudit, one: Delivery, next: Delivery): boolean {
  const later = group.deliveries.get(one.row)?.some(({ seq }) => seq > one.seq && seq <= next.seq) ?? false;
  return later || model.mayHaveBeenInFlight(group, one.seq, next.seq);
}

/**
 * Surely alive all the time from its last grant in the lane until `next`: each heartbeat came less than a lease
 * after the one before, by any reading of the clock, and it did not leave.
 */
function livesOn(model: AuditModel, group: GroupAudit, before: Delivery, next: Delivery): boolean {
  const { history } = model;
  const leaseMs = group.settings.leaseDurationMs - group.settings.leaseDurationMs / FORGOTTEN_PART;
  let untilMs = before.clockMs + leaseMs;
  const ours = history.calls.filter((call) => {
    const input = call.input as { topic?: string; group?: string; subscriber?: string };
    if (input.topic !== group.topic || input.group !== group.group || input.subscriber !== before.subscriber)
      return false;
    return (call.endSeq ?? ENDLESS) > before.seq && call.startSeq < next.seq;
  });
  if (ours.some(({ name }) => name === "leave")) return false;
  if (history.jumps.some(({ seq }) => seq > before.seq && seq < next.seq)) return false;
  if (wasLostBetween(history, before.seq, next.seq)) return false;
  const beats = ours.filter(
    ({ name, outcome, endSeq }) =>
      (name === "take" || name === "heartbeat") && outcome?.ok && (endSeq ?? ENDLESS) < next.seq,
  );
  beats.sort((a, b) => (a.endSeq ?? ENDLESS) - (b.endSeq ?? ENDLESS));
  for (const beat of beats) {
    if (beat.endClockMs >= untilMs) return false;
    untilMs = Math.max(untilMs, history.lowestClockMs(beat) + leaseMs);
  }
  return next.clockMs < untilMs;
}
