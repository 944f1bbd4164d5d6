import type { GroupState } from "./group-state.ts";

/** Releases leases of lanes that had nothing unsettled for two lease durations; returns how many. */
export function releaseIdleLeases(group: GroupState, nowMs: number): number {
  const untilMs = nowMs - 2 * group.record.settings.leaseDurationMs;
  const idle = [...group.lanes.indexes()].flatMap((index) => index.idleSince.takeDue(untilMs));
  for (const lane of idle) {
    lane.setLease(null);
    group.touch(lane, nowMs);
  }
  return idle.length;
}
