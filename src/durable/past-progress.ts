import { isSettledBy, type ParsedCheckpoint, parseCheckpoint } from "../core/checkpoint.ts";
import { type Entry, MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/** What the log's progress rows say of some partitions. */
export interface PastProgress {
  /** The group's epoch when they were read: after another reset they say nothing any more. */
  resetEpoch: number;
  byKey: ReadonlyMap<string, PastRow>;
}

export interface PastRow {
  resetOffset: number;
  checkpoint: ParsedCheckpoint;
}

export async function pastProgressOf(
  tenant: Tenant,
  group: GroupState,
  partitionKeys: ReadonlySet<string>,
): Promise<PastProgress> {
  const { resetEpoch } = group.progress;
  const { generation } = group.record;
  const keys = [...partitionKeys];
  const byKey = new Map<string, PastRow>();
  for (let at = 0; at < keys.length; at += MAX_SCAN_ENTRIES) {
    const some = keys.slice(at, at + MAX_SCAN_ENTRIES);
    for (const row of await tenant.log.loadProgress(group.key.topic, group.key.group, some)) {
      // A higher epoch is of a reset that was written and never adopted.
      if (row.generation !== generation || row.resetEpoch > resetEpoch) continue;
      byKey.set(row.partitionKey, { resetOffset: row.resetOffset, checkpoint: parseCheckpoint(row) });
    }
  }
  return { resetEpoch, byKey };
}

/** A reset put the entry aside before this object, or the scan, came to it. */
export function wasPutAside(past: PastProgress, entry: Entry): boolean {
  return entry.offset <= (past.byKey.get(entry.partitionKey)?.resetOffset ?? 0);
}

/** Settled in the life of an object that was lost. */
export function wasSettled(past: PastProgress, entry: Entry): boolean {
  const row = past.byKey.get(entry.partitionKey);
  return row !== undefined && (entry.offset <= row.resetOffset || isSettledBy(row.checkpoint, entry));
}
