import { type AuditModel, ENDLESS } from "./audit-model.ts";
import type { Call, LogRow } from "./history.ts";

/** G10, and G8's memory: whatever vanished from the log was allowed to. */
export function auditCollection(model: AuditModel): void {
  for (const row of model.history.rows) {
    if (row.vanishedSeq === null || wasRemovedByCall(model, row)) continue;
    const logMs = model.history.highestLogClockMs(row.vanishedSeq, row.vanishedLogClockMs);
    if (logMs >= row.dueAtMs + model.profile.maxRetentionMs) continue;
    auditVanished(model, row, logMs);
  }
}

function auditVanished(model: AuditModel, row: LogRow, logMs: number): void {
  const { history } = model;
  const what = `message ${row.id} of ${row.topic} (offset ${row.offset})`;
  if (row.deadLetter) {
    history.violate("G10", `${what}, a dead letter, vanished before its time`);
    return;
  }
  const youngMs = row.publishedAtMs + model.profile.retentionMs - logMs;
  if (youngMs > 0) {
    history.violate("G10", `${what} vanished ${youngMs} ms too early`);
    return;
  }
  const seq = row.vanishedSeq ?? ENDLESS;
  const clockMs = history.highestClockMs(seq, row.vanishedClockMs);
  const groups = model.groups.filter(
    (group) => group.topic === row.topic && !group.loose && group.madeBySeq < seq,
  );
  for (const group of groups) {
    if (model.maySettled(group, row, seq, clockMs)) continue;
    history.violate("G10", `${what} vanished although ${group.group} had not settled it`);
  }
}

function wasRemovedByCall(model: AuditModel, row: LogRow): boolean {
  const afterSeq = row.vanishedNotBeforeSeq ?? 0;
  const beforeSeq = row.vanishedSeq ?? ENDLESS;
  const during = (call: Call) => call.startSeq < beforeSeq && model.effectEndSeq(call) > afterSeq;
  const { history } = model;
  const topicOf = row.deadLetter?.originalTopic;
  const touches = (call: Call): boolean => {
    const input = call.input as { topic?: string; id?: string; partitionKey?: string };
    switch (call.name) {
      case "purgeMessages":
        return input.topic === row.topic;
      case "deleteMessage":
        return input.topic === row.topic && input.id === row.id && input.partitionKey === row.partitionKey;
      case "purgeDeadLetters":
        return topicOf !== undefined && input.topic === topicOf;
      case "redrive":
        return topicOf !== undefined && input.topic === topicOf;
      default:
        return false;
    }
  };
  const removing = history.calls.filter((call) => during(call) && touches(call));
  if (removing.length === 0) return false;
  return removing.some(({ name }) => name !== "redrive") || wasRedriven(model, row);
}

/** A redrive puts the message back, for its group, before its dead letter goes. */
function wasRedriven(model: AuditModel, letter: LogRow): boolean {
  const facts = letter.deadLetter;
  const back = model.history.rows.some(
    (row) =>
      row.topic === facts?.originalTopic &&
      row.id === letter.id &&
      row.partitionKey === letter.partitionKey &&
      row.targetGroup === facts.group &&
      row.appearedSeq <= (letter.vanishedSeq ?? ENDLESS),
  );
  if (!back)
    model.history.violate("G2", `dead letter ${letter.id} went with a redrive that put nothing back`);
  return true;
}
