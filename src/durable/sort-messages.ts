import { MAX_LANE_EXCEPTIONS, MAX_SORTED_MESSAGES, MAX_WINDOW_ENTRIES } from "../core/dispatch-limits.ts";
import { arrivedException } from "../core/exceptions.ts";
import { APPLICATION, type Exception, type Lane, type LaneEntry } from "../core/lane.ts";
import { isPending, pendingAfter, pendingSpan } from "../core/pending.ts";
import { maxExceptions } from "../core/plan-take.ts";
import { unsortedOffsets } from "../core/walk.ts";
import { type Entry, MAX_SCAN_ENTRIES, type PartitionPage, type PartitionRead } from "../log/message-log.ts";
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
export function pendingRead(group: GroupState, lane: Lane): PartitionRead | null {
  const span = pendingSpan(lane.pending);
  if (!span || isFull(group, lane)) return null;
  const { after: afterOffset, through: throughOffset } = span;
  const { partitionKey } = lane;
  return { partitionKey, afterOffset, throughOffset, maxEntries: MAX_SCAN_ENTRIES, withHeaders: true };
}

/** Inside `Tenant.change`; `takes`: the lane takes it now. Returns the lane if it changed. */
export function applyPending(
  group: GroupState,
  read: PartitionRead & { routeId: number },
  page: PartitionPage,
  takes: (entry: Entry) => LaneEntry | null,
): Lane | null {
  const { routes } = group;
  const lane = group.lane(read.partitionKey, read.routeId);
  // A reset, or another read, may have come between.
  if (!lane || pendingSpan(lane.pending)?.after !== read.afterOffset) return null;
  let through = page.reachedEnd ? read.throughOffset : read.afterOffset;
  let took = 0;
  for (const entry of page.entries) {
    if (isFull(group, lane) || took >= MAX_WINDOW_ENTRIES) {
      through = entry.offset - 1;
      break;
    }
    through = Math.max(through, entry.offset);
    // A route that began later reads of these ranges what is its own by itself.
    if (routes.ownerOf(entry) !== read.routeId) continue;
    if (!isPending(lane.pending, entry.offset, (routeId) => routes.takes(routeId, entry))) continue;
    const taken = takes(entry);
    if (!taken || lane.heldAt(entry.offset) !== null) continue;
    took += 1;
    lane.except(arrivedException(taken));
  }
  lane.pending = pendingAfter(lane.pending, through);
  lane.changes.state = true;
  return lane;
}

/** The bounds beyond which the walk holds nothing back for it. */
function isFull({ lanes }: GroupState, lane: Lane): boolean {
  const { exceptionCount } = lanes.of(lane.routeId);
  return lane.exceptions.length >= MAX_LANE_EXCEPTIONS || exceptionCount >= maxExceptions(lane.routeId);
}
