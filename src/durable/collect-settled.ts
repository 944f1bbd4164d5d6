import { offsetAtMs } from "../core/offset-clock.ts";
import { MAX_DELETE_RANGE_ENTRIES } from "../log/message-log.ts";
import type { Budget } from "./collect-topic.ts";
import { groupsOf } from "./end-holds.ts";
import type { GroupState } from "./group-state.ts";
import { nextTurn } from "./next-turn.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Deletes the oldest messages of a topic without reading them first, up to where every group has settled everything
 * and retention has passed. The usual case: groups keep up, and nothing old is left behind. What this leaves (a stuck
 * lane, delayed messages, age) is decided entry by entry, see collect-topic.ts.
 *
 * Offsets are given by the log's clock, so retention is a bound on offsets too.
 */
export async function collectSettled(
  tenant: Tenant,
  topic: string,
  nowMs: number,
  budget: Budget,
): Promise<number> {
  let deleted = 0;
  while (budget.deletes > 0) {
    const through = await settledThrough(tenant, topic, nowMs);
    if (through <= 0) break;
    const maxEntries = Math.min(MAX_DELETE_RANGE_ENTRIES, budget.deletes);
    const purged = await tenant.log.purge(topic, { throughOffset: through, maxEntries });
    deleted += purged.deleted;
    budget.deletes -= purged.deleted;
    if (purged.deleted < maxEntries) break;
    await nextTurn(tenant);
  }
  if (deleted > 0) tenant.noteShrunk(topic);
  return deleted;
}

/** Everything at or below it is settled for every group, and older than the topic keeps it; 0 when nothing is. */
async function settledThrough(tenant: Tenant, topic: string, nowMs: number): Promise<number> {
  const groups = await groupsOf(tenant, topic);
  if (groups.length === 0) return 0;
  const { settings } = await tenant.topicOrFail(topic);
  let through = offsetAtMs(nowMs - settings.retentionMs) - 1;
  for (const group of groups) through = Math.min(through, settledOffset(group));
  return through;
}

/** The watermark of the whole group: nothing at or below it is unsettled, or may yet appear. */
export function settledOffset(group: GroupState): number {
  // Some of what was read waits to be due: it is known by its time, not by its offset.
  if (group.gone || !group.dueIsKnown || group.nextDueAtMs !== null) return 0;
  let settled = group.known.sureOffset;
  for (const lane of group.lanes.lanes()) {
    const first = Math.min(
      lane.runs[0]?.messages[0]?.offset ?? Number.POSITIVE_INFINITY,
      lane.exceptions[0]?.offset ?? Number.POSITIVE_INFINITY,
      lane.window[0]?.offset ?? Number.POSITIVE_INFINITY,
    );
    settled = Math.min(settled, first - 1);
    for (const { after } of lane.pending) settled = Math.min(settled, after);
    if (lane.behind) settled = Math.min(settled, Math.max(lane.walkedOffset, lane.windowThrough));
  }
  return settled;
}
