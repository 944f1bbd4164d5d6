import type { AuditModel, GroupAudit } from "./audit-model.ts";
import type { Call, History, Moment } from "./history.ts";

/** Settlements older than this when the object is lost do not come again (design.md, "Shape"). */
const SAVED_WITHIN_MS = 5000;
/** A dead object's alarm comes again after so long, and a log that failed is tried again at the latest then. */
const RESUMES_WITHIN_MS = 3000;

/** When something was settled: began, was over, and the clock then. */
export type Settlement = Pick<Call, "startSeq" | "endSeq" | "endClockMs">;

/** Was the object lost in between? */
export function wasLostBetween(history: History, afterSeq: number, beforeSeq: number): boolean {
  return history.losses.some(({ seq }) => seq > afterSeq && seq < beforeSeq);
}

/**
 * May the group have forgotten a settlement by `beforeSeq`? Only if the object was lost before it had to be saved:
 * within some seconds of the settlement, or of the last trouble that kept it from saving.
 */
export function mayBeForgotten(
  model: AuditModel,
  group: GroupAudit,
  settled: Settlement,
  beforeSeq: number,
): boolean {
  const { history } = model;
  return history.losses.some((loss) => {
    if (loss.seq <= settled.startSeq || loss.seq >= beforeSeq) return false;
    const settledSeq = settled.endSeq ?? settled.startSeq;
    if (history.jumps.some(({ seq }) => seq > settled.startSeq && seq < loss.seq)) return true;
    const troubles = troublesOf(history, group, loss.seq).filter(({ seq }) => seq > settled.startSeq);
    const lastTroubleMs = Math.max(settled.endClockMs, ...troubles.map(({ clockMs }) => clockMs));
    const graceMs = SAVED_WITHIN_MS + savingMs(model) + (troubles.length > 0 ? RESUMES_WITHIN_MS : 0);
    return loss.seq < settledSeq || loss.clockMs - lastTroubleMs <= graceMs;
  });
}

/** How long a save lasts itself: it reads the rows before, and is late like any timer. */
function savingMs({ profile }: AuditModel): number {
  return 4 * profile.faults.logDelayMs + profile.faults.lateTimerMs;
}

/** What kept the group's progress from being saved, before an instant. */
function troublesOf(history: History, group: GroupAudit, beforeSeq: number): Moment[] {
  const failed = history.checkpoints.flatMap(({ topic, group: name, end, ok }) =>
    topic === group.topic && name === group.group && end !== null && !ok ? [end] : [],
  );
  return [...history.logFailures, ...history.crashes, ...failed].filter(({ seq }) => seq < beforeSeq);
}
