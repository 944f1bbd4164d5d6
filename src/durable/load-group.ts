import { APPLICATION, type Lane } from "../core/lane.ts";
import type { TopicSettings } from "../core/settings.ts";
import type { GroupRecord } from "../log/message-log.ts";
import { freshProgress } from "./fresh-progress.ts";
import { GroupState, type LogTraits } from "./group-state.ts";
import type { GroupKey } from "./tables/group-key.ts";
import type { Tables } from "./tables/tables.ts";

/** Reads a group's rows. Cost: one row for each lane with something unsettled or leased, exception and subscriber. */
export function loadGroup(
  tables: Tables,
  key: GroupKey,
  record: GroupRecord,
  topicSettings: TopicSettings,
  log: LogTraits,
  nowMs: number,
): GroupState {
  const saved = tables.groupProgress.load(key);
  const current = saved?.generation === record.generation ? saved : null;
  if (!current) {
    // Rows of an earlier group of this name, left by a crash while it was deleted.
    if (saved) tables.removeGroup(key);
    const fresh = freshProgress(record, log.clock.logNowMs(nowMs));
    const group = new GroupState(key, record, topicSettings, fresh, log);
    group.needsRecovery = log.isOutside;
    return group;
  }
  const group = new GroupState(key, record, topicSettings, current, log, tables.knownOffsets.load(key));
  group.hasProgressRow = true;
  group.routes.load(tables.routes.load(key));
  const lanes = new Map<string, Lane>();
  for (const lane of tables.lanes.load(key, log.isOutside)) lanes.set(laneName(lane), lane);
  for (const { exception, ...place } of tables.deliveryState.load(key)) {
    lanes.get(laneName(place))?.exceptions.push(exception);
  }
  for (const beat of tables.heartbeats.load(key)) {
    group.subscribers.set(beat.subscriber, { ...beat, savedExpiresAtMs: beat.expiresAtMs, askingUntilMs: 0 });
  }
  for (const lane of lanes.values()) {
    group.lanes.of(lane.routeId).place(lane, group.rules(nowMs, lane.routeId), nowMs);
    if (lane.hasUnsaved) group.unsavedLanes.add(lane);
    if (lane.pending.length > 0) group.pendingLanes.add(lane);
  }
  if (group.unsavedLanes.size > 0) group.checkpointAtMs = nowMs;
  return group;
}

/** No key has NUL in it. */
function laneName({ partitionKey, routeId }: { partitionKey: string; routeId: number }): string {
  return routeId === APPLICATION ? partitionKey : `${routeId}\0${partitionKey}`;
}
