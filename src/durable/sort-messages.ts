import { MAX_GROUP_EXCEPTIONS, MAX_LANE_EXCEPTIONS, MAX_SORTED_MESSAGES } from "../core/dispatch-limits.ts";
import { arrivedException } from "../core/exceptions.ts";
import { APPLICATION, type Exception, type Lane, type LaneEntry } from "../core/lane.ts";
import { isPending, pendingAfter, pendingSpan } from "../core/pending.ts";
import { unsortedOffsets } from "../core/walk.ts";
import type { Entry, PartitionPage, PartitionRead } from "../log/message-log.ts";
import type { GroupState } from "./group-state.ts";

/**
 * Messages that go from one lane of a partition to another after they were read once: those that waited in the
 * application's lane when a route began, and those that a lane of an ended route left to it.
 */

/** Single messages whose headers are wanted. */
export function sortReads(group: GroupState, nowMs: number): PartitionRead[] {
  const reads: PartitionRead[] = [];
  const rules = group.activeRules(nowMs, APPLICATION);
  for (const lane of group.lanes.application.unsorted) {
    for (const offset of unsortedOffsets(lane, rules)) {
      if (reads.length >= MAX_SORTED_MESSAGES) return reads;
      reads.push({
        partitionKey: lane.partitionKey,
        afterOffset: offset - 1,
        throughOffset: offset,
        maxEntries: 1,
        withHeaders: true,
      });
    }
  }
  return reads;
}

/** Inside `Tenant.change`. A message that the log has no more stays: whoever gets it finds out. */
export function applySorts(
  group: GroupState,
  reads: readonly PartitionRead[],
  pages: readonly PartitionPage[],
  nowMs: number,
): void {
  const sortedBy = group.routes.newestId;
  const touched = new Set<Lane>();
  for (const [at, { partitionKey, throughOffset }] of reads.entries()) {
    const lane = group.lane(partitionKey);
    const held = lane?.heldAt(throughOffset);
    if (!lane || !held || held.state === "dying") continue;
    // What is under way stays: it had lapsed, and was extended while it was read.
    if (held.state === "inFlight" && held.atMs > nowMs) continue;
    const entry = pages[at]?.entries[0];
    const owner = entry ? group.routes.ownerOf(entry) : APPLICATION;
    if (owner === APPLICATION || !moveTo(group, owner, lane, held, touched))
      lane.except({ ...held, sortedBy });
    touched.add(lane);
  }
  for (const lane of touched) group.touch(lane, nowMs);
}

/** false: the route has not walked so far, which cannot be; the message stays rather than be lost. */
function moveTo(group: GroupState, owner: number, from: Lane, held: Exception, touched: Set<Lane>): boolean {
  const to = routeLane(group, from, owner);
  if (held.offset > to.walkedOffset) return false;
  keep(group, to);
  from.release(held.offset);
  to.except({ ...held, sortedBy: group.routes.newestId });
  touched.add(to);
  return true;
}

/** Where the route has no lane of the partition, everything of it that was scanned is settled. */
function routeLane(group: GroupState, beside: Lane, routeId: number): Lane {
  return group.laneOrNew(beside.partitionKey, group.progress.scanOffset, routeId);
}

/** Several messages may go to one new lane: it must be found again before it is placed. */
function keep(group: GroupState, lane: Lane): void {
  group.lanes.of(lane.routeId).lanes.set(lane.partitionKey, lane);
}

/** The next part of what a lane inherited; null: there is none, or no room for it. */
export function pendingRead(group: GroupState, lane: Lane, maxEntries: number): PartitionRead | null {
  const span = pendingSpan(lane.pending);
  if (!span || isFull(group, lane)) return null;
  const { after: afterOffset, through: throughOffset } = span;
  return { partitionKey: lane.partitionKey, afterOffset, throughOffset, maxEntries, withHeaders: true };
}

/** Inside `Tenant.change`; `takes`: the lane takes it now. Returns the lanes that changed. */
export function applyPending(
  group: GroupState,
  read: PartitionRead,
  page: PartitionPage,
  takes: (entry: Entry) => LaneEntry | null,
): Lane[] {
  const lane = group.lane(read.partitionKey);
  // A reset, or another read, may have come between.
  if (!lane || pendingSpan(lane.pending)?.after !== read.afterOffset) return [];
  const changed = new Set<Lane>([lane]);
  let through = page.reachedEnd ? read.throughOffset : read.afterOffset;
  for (const entry of page.entries) {
    if (isFull(group, lane)) {
      through = entry.offset - 1;
      break;
    }
    through = Math.max(through, entry.offset);
    const isOurs = isPending(lane.pending, entry.offset, (routeId) => group.routes.takes(routeId, entry));
    const taken = isOurs ? takes(entry) : null;
    if (taken) changed.add(place(group, lane, group.routes.ownerOf(entry), taken));
  }
  lane.pending = pendingAfter(lane.pending, through);
  lane.changes.state = true;
  return [...changed];
}

/** To the lane of whoever it is now; a route that began later than all this was left has walked past it. */
function place(group: GroupState, from: Lane, owner: number, entry: LaneEntry): Lane {
  const owners = owner === APPLICATION ? from : routeLane(group, from, owner);
  const lane = entry.offset <= owners.walkedOffset ? owners : from;
  keep(group, lane);
  if (lane.heldAt(entry.offset) === null) lane.except(arrivedException(entry));
  return lane;
}

function isFull(group: GroupState, lane: Lane): boolean {
  return lane.exceptions.length >= MAX_LANE_EXCEPTIONS || group.lanes.exceptionCount >= MAX_GROUP_EXCEPTIONS;
}
