import type { Lane } from "./lane.ts";
import { isPending, type PendingRange } from "./pending.ts";

/**
 * Which messages a group has not settled, decided from the group's state and what the log says of an entry.
 * Collection, lag and the counts for people all ask here; `lane.ts` says where an entry may be.
 */

export interface DueCursor {
  dueAtMs: number;
  offset: number;
}

/** What must be known of an entry of the log. */
export interface UnsettledEntry {
  offset: number;
  partitionKey: string;
  dueAtMs: number;
  /** Due later than published: it comes to its lane when the due cursor passes it. */
  delayed: boolean;
  /** Only this group receives it; null for all. */
  targetGroup: string | null;
  /** JSON object text, "" for none; absent: not read. */
  headers?: string;
}

/** How routes split a group. */
export interface SplitView {
  /** Lanes of the partition that are routes'. */
  routeLanes(partitionKey: string): readonly Lane[];
  /** Whose the entry is by the routes that live; null: not known, since its headers were not read. */
  ownerOf(entry: UnsettledEntry): number | null;
  /** Whether a route, also one that has ended, takes it; null: not known. */
  takes(routeId: number, entry: UnsettledEntry): boolean | null;
}

/** A group at one instant. */
export interface GroupView {
  group: string;
  /** Entries at or below it were there before a group that starts from latest. */
  startOffset: number;
  /** Every entry at or below it was scanned. */
  scanOffset: number;
  /** Delayed entries up to here have arrived. */
  due: DueCursor;
  /** Lanes with something unsettled, or a lease. A partition without one has settled what was scanned. */
  lanes: ReadonlyMap<string, Lane>;
  /** Which entries at or below the scan offset it has seen; absent: all of them. */
  known?: { sureOffset: number; has(offset: number): boolean };
  /** Absent: nothing of the group is split. */
  split?: SplitView;
  /** Where partitions were last reset to, as far as known: a delayed message at or below never arrives. */
  resetOffsets: ReadonlyMap<string, number>;
}

/** Has the due cursor passed this delayed entry? */
export function hasArrived(entry: { dueAtMs: number; offset: number }, due: DueCursor): boolean {
  return entry.dueAtMs < due.dueAtMs || (entry.dueAtMs === due.dueAtMs && entry.offset <= due.offset);
}

export function isUnsettled(view: GroupView, entry: UnsettledEntry): boolean {
  if (entry.targetGroup !== null && entry.targetGroup !== view.group) return false;
  const lane = view.lanes.get(entry.partitionKey);
  if (lanesOf(view, entry.partitionKey).some((one) => mayHold(view, one, entry))) return true;
  // A lane that was reset ahead of the scan has settled what lies between.
  if (entry.offset > view.scanOffset && !(lane && entry.offset <= lane.walkedOffset)) return true;
  // It appeared below what was read, and nobody has looked there since.
  if (entry.offset <= view.scanOffset && view.known && !view.known.has(entry.offset)) return true;
  return isOutstandingDelayed(view, entry);
}

/** Every lane of the partition, the application's first. */
export function lanesOf(view: GroupView, partitionKey: string): readonly Lane[] {
  const lane = view.lanes.get(partitionKey);
  const own = lane ? [lane] : [];
  return view.split ? [...own, ...view.split.routeLanes(partitionKey)] : own;
}

/** The lane that has the message, delivered, waiting or read ahead. */
export function laneHolding(view: GroupView, partitionKey: string, offset: number): Lane | undefined {
  return lanesOf(view, partitionKey).find(
    (lane) =>
      lane.exceptionAt(offset) || lane.runAt(offset) || lane.window.some((entry) => entry.offset === offset),
  );
}

/** Does the lane hold it, or will it? Where that hangs on headers that were not read: yes. */
function mayHold({ split }: GroupView, lane: Lane, entry: UnsettledEntry): boolean {
  const { offset } = entry;
  if (!split) return isInLane(lane, offset);
  const owner = split.ownerOf(entry);
  const isTheirs = owner === null || owner === lane.routeId;
  if (offset <= lane.walkedOffset) {
    if (!lane.isSettledBelow(offset)) return true;
    return isTheirs && lane.pending.some((range) => mayBePending(split, range, entry));
  }
  if (lane.window.some((held) => held.offset === offset)) return true;
  return isUnread(lane, offset) && isTheirs;
}

function mayBePending(split: SplitView, range: PendingRange, entry: UnsettledEntry): boolean {
  const isKnown = [...range.only, ...range.except].every((routeId) => split.takes(routeId, entry) !== null);
  if (!isKnown) return entry.offset > range.after && entry.offset <= range.through;
  return isPending([range], entry.offset, (routeId) => split.takes(routeId, entry) ?? false);
}

/** Does the lane hold it, or is it going to read it by itself? */
export function isInLane(lane: Lane, offset: number): boolean {
  if (offset <= lane.walkedOffset) return !lane.isSettledBelow(offset);
  return isUnread(lane, offset) || lane.window.some((entry) => entry.offset === offset);
}

/** Not yet read by a lane that lags behind the scan. */
export function isUnread(lane: Lane, offset: number): boolean {
  return lane.behind && offset > Math.max(lane.windowThrough, lane.walkedOffset);
}

/** Scanned before it was due: no lane knows of it until it arrives. */
export function isOutstandingDelayed(view: GroupView, entry: UnsettledEntry): boolean {
  if (!entry.delayed || entry.offset <= view.startOffset) return false;
  if (hasArrived(entry, view.due)) return false;
  return entry.offset > (view.resetOffsets.get(entry.partitionKey) ?? 0);
}

/** Its dead letter is decided and not copied yet: the copy is made from the message, so that must stay. */
export function isDying(view: GroupView, entry: UnsettledEntry): boolean {
  return lanesOf(view, entry.partitionKey).some((lane) => lane.exceptionAt(entry.offset)?.state === "dying");
}
