import { APPLICATION, type Lane } from "../core/lane.ts";
import { MAX_EXACT_COUNT } from "../core/limits.ts";
import type { PendingRange } from "../core/pending.ts";
import { isOutstandingDelayed, isUnread, type SplitView } from "../core/unsettled.ts";
import { countInFlight } from "../core/walk.ts";
import { type Entry, MAX_SCAN_ENTRIES, type MessageLog } from "../log/message-log.ts";
import { catchUp } from "./catch-up.ts";
import type { GroupState } from "./group-state.ts";
import { type ResetOffsets, resetOffsetsOf, splitOf, viewOfGroup } from "./group-view.ts";
import type { Tenant } from "./tenant.ts";
import { concerns, unreadEntries } from "./unread-entries.ts";

/** What counting reads. A log that measures may stand in for the tenant's own. */
export interface Reads {
  log: Pick<
    MessageLog,
    "countEntries" | "listMessages" | "loadProgress" | "scanDue" | "scanPartitions" | "scanTopic"
  >;
}

/** How far is counted. */
export interface CountBounds {
  maxCount: number;
  /** Lanes that lag behind the scan or are ahead of it, and are asked for in the log one by one. */
  maxLaneReads: number;
}

export const EXACT: CountBounds = { maxCount: MAX_EXACT_COUNT, maxLaneReads: MAX_EXACT_COUNT };
/** Entries that resets passed over are counted so many times as far as those that are unsettled, in all lanes. */
const AHEAD_FACTOR = 8;

/**
 * What a group has not settled, for people: exact to `maxCount`, then a lower bound. What memory knows is
 * taken at one instant; the rest are counts of the log between bounds of that instant.
 */
export interface Snapshot {
  topic: string;
  group: string;
  bounds: CountBounds;
  scanOffset: number;
  /** By partition, the application's first. */
  lanes: Map<string, LaneSnapshot[]>;
  /** Says of entries that were read with headers whose they are; null: nothing is split, and headers are not read. */
  split: SplitView | null;
  /** Delayed ones that were scanned and have not arrived. */
  delayed: Entry[];
  /** There may be more than was read. */
  isCut: boolean;
  inFlight: number;
}

export interface LaneSnapshot {
  partitionKey: string;
  routeId: number;
  pending: readonly PendingRange[];
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

export async function snapshotOf(
  tenant: Tenant,
  ref: { topic: string; group: string },
  bounds: CountBounds = EXACT,
  reads: Reads = tenant,
): Promise<Snapshot> {
  await catchUp(tenant, ref);
  const before = await tenant.groupOrFail(ref.topic, ref.group);
  const { entries, cut } = await readDelayed(reads, before, bounds);
  const resets = await resetOffsetsOfAll(reads, before, entries);
  const group = await tenant.groupOrFail(ref.topic, ref.group);
  return tenant.change(group, (nowMs) => {
    const { scanOffset } = group.progress;
    const view = viewOfGroup(group, resets);
    const delayed = entries.filter((entry) => {
      // Those ahead of a lane or of the scan are counted with what lies there.
      const isAhead = (lane: Lane) =>
        isUnread(lane, entry.offset) && (view.split?.ownerOf(entry) ?? lane.routeId) === lane.routeId;
      if (entry.offset > scanOffset || group.lanes.lanesOf(entry.partitionKey).some(isAhead)) return false;
      return concerns(entry, ref.group) && isOutstandingDelayed(view, entry);
    });
    const lanes = new Map<string, LaneSnapshot[]>();
    let inFlight = 0;
    for (const lane of group.lanes.lanes()) {
      const others = lanes.get(lane.partitionKey);
      if (others) others.push(laneSnapshot(lane));
      else lanes.set(lane.partitionKey, [laneSnapshot(lane)]);
      inFlight += countInFlight(lane, nowMs);
    }
    const split = view.split ? splitOf(group.lanes, group.routes.copy()) : null;
    return { ...ref, bounds, scanOffset, lanes, split, delayed, isCut: cut, inFlight };
  });
}

/** Unsettled messages of the group in the whole topic. */
export async function countTopic(reads: Reads, snapshot: Snapshot): Promise<Count> {
  const { maxCount, maxLaneReads } = snapshot.bounds;
  const maxAhead = AHEAD_FACTOR * maxCount;
  let total = snapshot.delayed.length;
  let asked = 0;
  let ahead = 0;
  const lanes = [...snapshot.lanes.values()].flat();
  for (const lane of lanes) total += lane.held;
  for (const lane of lanes) {
    if (total > maxCount) return bounded(total, snapshot);
    // A lane that is asked for nearly always holds one at least: this bounds the queries and not the result.
    if (asked > maxLaneReads) return { count: total, atLeast: true };
    if (lane.unreadAfter !== null && lane.unreadAfter < snapshot.scanOffset) asked += 1;
    if (lane.walkedOffset > snapshot.scanOffset && lane.routeId === APPLICATION) {
      asked += 1;
      ahead += await countAhead(reads, snapshot, lane, maxAhead + 1 - ahead);
      if (ahead > maxAhead) return { count: total, atLeast: true };
    }
    total += await countUnread(reads, snapshot, lane, maxCount + 1 - total);
  }
  if (total > maxCount) return bounded(total, snapshot);
  const scanned = await reads.log.countEntries(snapshot.topic, {
    afterOffset: snapshot.scanOffset,
    forGroup: snapshot.group,
    maxCount: maxCount + 1 - total + ahead,
  });
  return bounded(total + Math.max(0, scanned - ahead), snapshot);
}

/** Unsettled messages of the group in one partition. */
export async function countPartition(reads: Reads, snapshot: Snapshot, partitionKey: string): Promise<Count> {
  const { maxCount } = snapshot.bounds;
  const lanes = snapshot.lanes.get(partitionKey) ?? [];
  const delayed = snapshot.delayed.filter((entry) => entry.partitionKey === partitionKey).length;
  let total = delayed;
  for (const { held } of lanes) total += held;
  for (const lane of lanes) total += await countUnread(reads, snapshot, lane, maxCount + 1 - total);
  if (total <= maxCount) {
    total += await reads.log.countEntries(snapshot.topic, {
      partitionKey,
      afterOffset: Math.max(snapshot.scanOffset, applicationWalked(snapshot, partitionKey)),
      forGroup: snapshot.group,
      maxCount: maxCount + 1,
    });
  }
  return bounded(total, snapshot);
}

/** A reset may have put it ahead of the scan. */
export function applicationWalked(snapshot: Snapshot, partitionKey: string): number {
  const [first] = snapshot.lanes.get(partitionKey) ?? [];
  return first?.routeId === APPLICATION ? first.walkedOffset : 0;
}

function bounded(total: number, { bounds, isCut }: Snapshot): Count {
  return { count: Math.min(total, bounds.maxCount), atLeast: isCut || total > bounds.maxCount };
}

async function countUnread(
  reads: Reads,
  snapshot: Snapshot,
  lane: LaneSnapshot,
  room: number,
): Promise<number> {
  if (room < 1) return 0;
  if (snapshot.split) {
    let count = 0;
    for await (const _ of unreadEntries(reads, snapshot, lane)) {
      count += 1;
      if (count >= room) break;
    }
    return count;
  }
  if (lane.unreadAfter === null || lane.unreadAfter >= snapshot.scanOffset) return 0;
  return reads.log.countEntries(snapshot.topic, {
    partitionKey: lane.partitionKey,
    afterOffset: lane.unreadAfter,
    throughOffset: snapshot.scanOffset,
    forGroup: snapshot.group,
    maxCount: room,
  });
}

/** Entries that the scan has not seen and that a reset settled. */
function countAhead(reads: Reads, snapshot: Snapshot, lane: LaneSnapshot, room: number): Promise<number> {
  return reads.log.countEntries(snapshot.topic, {
    partitionKey: lane.partitionKey,
    afterOffset: snapshot.scanOffset,
    throughOffset: lane.walkedOffset,
    forGroup: snapshot.group,
    maxCount: room,
  });
}

async function readDelayed(
  reads: Reads,
  group: GroupState,
  { maxCount }: CountBounds,
): Promise<{ entries: Entry[]; cut: boolean }> {
  const maxPages = Math.ceil(maxCount / MAX_SCAN_ENTRIES);
  const entries: Entry[] = [];
  let after = group.progress.due;
  for (let page = 0; page < maxPages; page += 1) {
    const read = {
      after,
      throughDueMs: Number.MAX_SAFE_INTEGER,
      maxEntries: MAX_SCAN_ENTRIES,
      ...(group.routes.needsHeaders ? { withHeaders: true } : {}),
    };
    const found = await reads.log.scanDue(group.key.topic, read);
    entries.push(...found.entries);
    const last = found.entries.at(-1);
    if (found.reachedEnd || !last) return { entries, cut: false };
    after = { dueAtMs: last.dueAtMs, offset: last.offset };
  }
  return { entries, cut: true };
}

async function resetOffsetsOfAll(
  reads: Reads,
  group: GroupState,
  entries: readonly Entry[],
): Promise<ResetOffsets> {
  const { resetEpoch } = group.progress;
  const byKey = new Map<string, number>();
  for (let at = 0; at < entries.length; at += MAX_SCAN_ENTRIES) {
    const keys = entries.slice(at, at + MAX_SCAN_ENTRIES).map((entry) => entry.partitionKey);
    for (const [key, offset] of (await resetOffsetsOf(reads, group, keys)).byKey) byKey.set(key, offset);
  }
  return { resetEpoch, byKey };
}

function laneSnapshot(lane: Lane): LaneSnapshot {
  const { partitionKey, routeId, pending, runs, exceptions, window, walkedOffset, behind, windowThrough } =
    lane;
  let held = exceptions.length + window.length;
  for (const run of runs) held += run.messages.length;
  const heads = [runs[0]?.messages[0], exceptions[0], window[0]].flatMap((head) =>
    head ? [head.offset] : [],
  );
  return {
    partitionKey,
    routeId,
    pending: [...pending],
    held,
    firstHeld: heads.length > 0 ? Math.min(...heads) : null,
    unreadAfter: behind ? Math.max(windowThrough, walkedOffset) : null,
    walkedOffset,
  };
}
