import { MAX_PARTITIONS_SHOWN } from "../core/limits.ts";
import type { GroupState } from "./group-state.ts";

/** Partitions that the subscriber holds now, at most MAX_PARTITIONS_SHOWN by name. */
export function heldPartitions(
  group: GroupState,
  subscriber: string,
): { partitions: string[]; partitionsHeld: number } {
  const lanes = group.lanes.leasedBy(subscriber);
  const partitions: string[] = [];
  for (const lane of lanes) {
    if (partitions.length >= MAX_PARTITIONS_SHOWN) break;
    partitions.push(lane.partitionKey);
  }
  return { partitions, partitionsHeld: lanes.length };
}
