import type { LaneSet } from "../core/lane-set.ts";
import type { GroupView, SplitView } from "../core/unsettled.ts";
import type { MessageLog } from "../log/message-log.ts";
import type { GroupRoutes } from "./group-routes.ts";
import type { GroupState } from "./group-state.ts";

/**
 * Where partitions were last reset to. It matters beside the lanes for one thing only: a delayed message at or
 * below it that has not arrived counts as settled.
 */
export interface ResetOffsets {
  /** The group's epoch when they were read: after another reset they say nothing any more. */
  resetEpoch: number;
  byKey: ReadonlyMap<string, number>;
}

const NO_RESETS: ReadonlyMap<string, number> = new Map();

/** The group as core decides on it. Valid until the next await: its lanes are the living ones. */
export function viewOfGroup(group: GroupState, resets: ResetOffsets | undefined): GroupView {
  const { scanOffset, due, resetEpoch } = group.progress;
  const { startOffset } = group.record;
  const resetOffsets = resets?.resetEpoch === resetEpoch ? resets.byKey : NO_RESETS;
  const { known } = group;
  return {
    group: group.key.group,
    startOffset,
    scanOffset,
    due,
    lanes: group.lanes.application.lanes,
    ...(group.routes.needsHeaders ? { split: splitOf(group.lanes, group.routes) } : {}),
    resetOffsets,
    known,
  };
}

export function splitOf(lanes: LaneSet, routes: GroupRoutes): SplitView {
  return {
    routeLanes: (partitionKey) => lanes.routeLanes(partitionKey),
    ownerOf: (entry) => (entry.headers === undefined ? null : routes.ownerOf(entry)),
    takes: (routeId, entry) => (entry.headers === undefined ? null : routes.takes(routeId, entry)),
  };
}

/** At most MAX_SCAN_ENTRIES keys. Reads nothing for a group that was never reset. */
export async function resetOffsetsOf(
  { log }: { log: Pick<MessageLog, "loadProgress"> },
  group: GroupState,
  partitionKeys: Iterable<string>,
): Promise<ResetOffsets> {
  const { resetEpoch } = group.progress;
  const keys = [...new Set(partitionKeys)];
  if (resetEpoch === 0 || keys.length === 0) return { resetEpoch, byKey: NO_RESETS };
  const rows = await log.loadProgress(group.key.topic, group.key.group, keys);
  const { generation } = group.record;
  // A higher epoch is of a reset that was written and never adopted.
  const adopted = rows.filter((row) => row.generation === generation && row.resetEpoch <= resetEpoch);
  return { resetEpoch, byKey: new Map(adopted.map((row) => [row.partitionKey, row.resetOffset])) };
}
