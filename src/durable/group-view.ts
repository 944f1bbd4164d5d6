import type { GroupView } from "../core/unsettled.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/** The group as core decides on it. Valid until the next await: its lanes are the living ones. */
export function viewOfGroup(group: GroupState, resetOffsets: ReadonlyMap<string, number>): GroupView {
  const { scanOffset, due } = group.progress;
  const { startOffset } = group.record;
  return { group: group.key.group, startOffset, scanOffset, due, lanes: group.index.lanes, resetOffsets };
}

/**
 * Where these partitions were last reset to. Only then does it matter beside the lanes: a delayed message at or
 * below it that has not arrived counts as settled.
 */
export async function resetOffsetsOf(
  tenant: Tenant,
  group: GroupState,
  partitionKeys: Iterable<string>,
): Promise<Map<string, number>> {
  const keys = [...new Set(partitionKeys)];
  if (group.progress.resetEpoch === 0 || keys.length === 0) return new Map();
  const { resetEpoch } = group.progress;
  const rows = await tenant.log.loadProgress(group.key.topic, group.key.group, keys);
  // A higher epoch is of a reset that was never adopted.
  const adopted = rows.filter((row) => row.generation === group.record.generation && row.resetEpoch <= resetEpoch);
  return new Map(adopted.map((row) => [row.partitionKey, row.ackedOffset]));
}
