import type { Lane } from "../core/lane.ts";
import { MAX_EXACT_COUNT } from "../core/limits.ts";
import { isOutstandingDelayed, isUnread } from "../core/unsettled.ts";
import { countInFlight } from "../core/walk.ts";
import { type Entry, MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import { catchUp } from "./catch-up.ts";
import type { GroupState } from "./group-state.ts";
import { type ResetOffsets, resetOffsetsOf, viewOfGroup } from "./group-view.ts";
import type { Tenant } from "./tenant.ts";

/**
 * What a group has not settled, for people: exact to MAX_EXACT_COUNT, then a lower bound. What memory knows is
 * taken at one instant; the rest are counts of the log between bounds of that instant.
 */
export interface Snapshot {
  topic: string;
  group: string;
  scanOffset: number;
  lanes: Map<string, LaneSnapshot>;
  /** Delayed ones that were scanned and have not arrived. */
  delayed: Entry[];
  /** There may be more of them than were read. */
  delayedCut: boolean;
  inFlight: number;
}

export interface LaneSnapshot {
  partitionKey: string;
  /** Delivered, waiting, or read ahead. */
  held: number;
  firstHeld: number | null;
  /** The lane reads what lies above it and at or below the scan by itself; null: it has. */
  unreadAfter: number | null;
  /** Everything through here is settled but what is held, although the scan may not have come so far. */
  walkedOffset: number;
}

export interface Count {
  count: number;
  atLeast: boolean;
}

const MAX_DELAYED_PAGES = Math.ceil(MAX_EXACT_COUNT / MAX_SCAN_ENTRIES);

export async function snapshotOf(tenant: Tenant, ref: { topic: string; group: string }): Promise<Snapshot> {
  await catchUp(tenant, ref);
  const before = await tenant.groupOrFail(ref.topic, ref.group);
  const { entries, cut } = await readDelayed(tenant, before);
  const resets = await resetOffsetsOfAll(tenant, before, entries);
  const group = await tenant.groupOrFail(ref.topic, ref.group);
  return tenant.change(group, (nowMs) => {
    const { scanOffset } = group.progress;
    const view = viewOfGroup(group, resets);
    const delayed = entries.filter((entry) => {
      const lane = group.lane(entry.partitionKey);
      // Those ahead of a lane or of the scan are counted with what lies there.
      if (entry.offset > scanOffset || (lane && isUnread(lane, entry.offset))) return false;
      return concerns(entry, ref.group) && isOutstandingDelayed(view, entry);
    });
    const lanes = new Map<string, LaneSnapshot>();
    let inFlight = 0;
    for (const lane of group.index.lanes.values()) {
      lanes.set(lane.partitionKey, laneSnapshot(lane));
      inFlight += countInFlight(lane, nowMs);
    }
    return { ...ref, scanOffset, lanes, delayed, delayedCut: cut, inFlight };
  });
}

/** Does the group receive it? A redriven message is for one group only. */
export function concerns(entry: { targetGroup: string | null }, group: string): boolean {
  return entry.targetGroup === null || entry.targetGroup === group;
}

/** Unsettled messages of the group in the whole topic. */
export async function countTopic(tenant: Tenant, snapshot: Snapshot): Promise<Count> {
  let total = snapshot.delayed.length;
  let asked = 0;
  let ahead = 0;
  for (const lane of snapshot.lanes.values()) total += lane.held;
  for (const lane of snapshot.lanes.values()) {
    if (total > MAX_EXACT_COUNT) break;
    // Such a lane nearly always holds one at least, so this bounds the queries and not the result.
    if (asked > MAX_EXACT_COUNT) return { count: total, atLeast: true };
    if (lane.unreadAfter !== null && lane.unreadAfter < snapshot.scanOffset) asked += 1;
    if (lane.walkedOffset > snapshot.scanOffset) {
      asked += 1;
      ahead += await countAhead(tenant, snapshot, lane);
    }
    total += await countUnread(tenant, snapshot, lane, MAX_EXACT_COUNT + 1 - total);
  }
  const scanned = await tenant.log.countEntries(snapshot.topic, {
    afterOffset: snapshot.scanOffset,
    forGroup: snapshot.group,
    maxCount: MAX_EXACT_COUNT + 1 + Math.min(ahead, 8 * MAX_EXACT_COUNT),
  });
  return bounded(total + Math.max(0, scanned - ahead), snapshot.delayedCut);
}

/** Unsettled messages of the group in one partition. */
export async function countPartition(
  tenant: Tenant,
  snapshot: Snapshot,
  partitionKey: string,
): Promise<Count> {
  const lane = snapshot.lanes.get(partitionKey);
  const delayed = snapshot.delayed.filter((entry) => entry.partitionKey === partitionKey).length;
  let total = delayed + (lane?.held ?? 0);
  if (lane) total += await countUnread(tenant, snapshot, lane, MAX_EXACT_COUNT + 1 - total);
  if (total <= MAX_EXACT_COUNT) {
    total += await tenant.log.countEntries(snapshot.topic, {
      partitionKey,
      afterOffset: Math.max(snapshot.scanOffset, lane?.walkedOffset ?? 0),
      forGroup: snapshot.group,
      maxCount: MAX_EXACT_COUNT + 1,
    });
  }
  return bounded(total, snapshot.delayedCut);
}

function bounded(total: number, cut: boolean): Count {
  return { count: Math.min(total, MAX_EXACT_COUNT), atLeast: cut || total > MAX_EXACT_COUNT };
}

async function countUnread(
  tenant: Tenant,
  snapshot: Snapshot,
  lane: LaneSnapshot,
  room: number,
): Promise<number> {
  if (lane.unreadAfter === null || lane.unreadAfter >= snapshot.scanOffset || room < 1) return 0;
  return tenant.log.countEntries(snapshot.topic, {
    partitionKey: lane.partitionKey,
    afterOffset: lane.unreadAfter,
    throughOffset: snapshot.scanOffset,
    forGroup: snapshot.group,
    maxCount: room,
  });
}

/** Entries that the scan has not seen and that a reset settled. */
function countAhead(tenant: Tenant, snapshot: Snapshot, lane: LaneSnapshot): Promise<number> {
  return tenant.log.countEntries(snapshot.topic, {
    partitionKey: lane.partitionKey,
    afterOffset: snapshot.scanOffset,
    throughOffset: lane.walkedOffset,
    forGroup: snapshot.group,
    maxCount: MAX_EXACT_COUNT,
  });
}

async function readDelayed(tenant: Tenant, group: GroupState): Promise<{ entries: Entry[]; cut: boolean }> {
  const entries: Entry[] = [];
  let after = group.progress.due;
  for (let page = 0; page < MAX_DELAYED_PAGES; page += 1) {
    const read = { after, throughDueMs: Number.MAX_SAFE_INTEGER, maxEntries: MAX_SCAN_ENTRIES };
    const found = await tenant.log.scanDue(group.key.topic, read);
    entries.push(...found.entries);
    const last = found.entries.at(-1);
    if (found.reachedEnd || !last) return { entries, cut: false };
    after = { dueAtMs: last.dueAtMs, offset: last.offset };
  }
  return { entries, cut: true };
}

async function resetOffsetsOfAll(
  tenant: Tenant,
  group: GroupState,
  entries: readonly Entry[],
): Promise<ResetOffsets> {
  const { resetEpoch } = group.progress;
  const byKey = new Map<string, number>();
  for (let at = 0; at < entries.length; at += MAX_SCAN_ENTRIES) {
    const keys = entries.slice(at, at + MAX_SCAN_ENTRIES).map((entry) => entry.partitionKey);
    for (const [key, offset] of (await resetOffsetsOf(tenant, group, keys)).byKey) byKey.set(key, offset);
  }
  return { resetEpoch, byKey };
}

function laneSnapshot(lane: Lane): LaneSnapshot {
  const { partitionKey, runs, exceptions, window, walkedOffset, behind, windowThrough } = lane;
  let held = exceptions.length + window.length;
  for (const run of runs) held += run.messages.length;
  const heads = [runs[0]?.messages[0], exceptions[0], window[0]].flatMap((head) =>
    head ? [head.offset] : [],
  );
  return {
    partitionKey,
    held,
    firstHeld: heads.length > 0 ? Math.min(...heads) : null,
    unreadAfter: behind ? Math.max(windowThrough, walkedOffset) : null,
    walkedOffset,
  };
}
