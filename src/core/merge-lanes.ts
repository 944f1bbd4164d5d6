import { assert } from "./assert.ts";
import { arrivedException, deliveredException, givenBack } from "./exceptions.ts";
import type { Exception, Lane, LaneEntry } from "./lane.ts";
import { type IsSame, type PendingRange, simplified } from "./pending.ts";

/**
 * A route ended: what its lane of a partition holds becomes the application's lane's.
 *
 *   under way   stays so, as an exception: its receipt works, and it counts for the lane. With `giveBack` it ends, as if
 *               it had never been made
 *   waiting     stays as it is
 *   undelivered of either lane, at or below the offset to which the other had walked: an exception if it was read and
 *               `room` allows, else a pending range. Above it, where neither has been: read again
 *
 * The route's lane is left without anything, so that it goes.
 */
export interface MergeTerms {
  /** Everything at or below it was scanned: a lane with nothing unwalked has walked so far. */
  scanOffset: number;
  /** The other routes that live: what is theirs is not the application's. */
  otherRoutes: readonly number[];
  /** The newest route that lived. What comes from the ending one is none of the others'. */
  sortedBy: number;
  /** Deliveries under way end: nobody of the route is there any more. */
  giveBack: boolean;
  /** Of routes, also those that have ended. */
  isSame: IsSame;
  nowMs: number;
  /** Undelivered messages that may become rows at once. */
  room: number;
}

/** Returns how many of `room` were used. */
export function mergeLanes(into: Lane, from: Lane, terms: MergeTerms): number {
  assert(into.partitionKey === from.partitionKey, "lanes of one partition are merged");
  const { scanOffset } = terms;
  const walkedInto = reachOf(into, scanOffset);
  const walkedFrom = reachOf(from, scanOffset);
  const walked = Math.max(walkedInto, walkedFrom);
  const except = [from.routeId, ...terms.otherRoutes];
  const left = leftBehind(into, walkedInto, walked, terms.room, { only: [], except });
  const right = leftBehind(from, walkedFrom, walked, terms.room - left.entries.length, {
    only: [from.routeId],
    except: [],
  });
  into.pending = simplified(
    [...inherited(into.pending, from), ...left.pending, ...right.pending],
    terms.isSame,
  );
  const isAhead = into.behind && walked > scanOffset;
  into.window = [];
  into.changes.state = true;
  if (walked > into.walkedOffset) into.walkTo(walked);
  into.windowThrough = into.walkedOffset;
  // Below the scan both had more above: neither has read that for the other. Ahead of it: a reset put it there.
  into.behind = walked < scanOffset || isAhead;
  for (const entry of [...left.entries, ...right.entries]) {
    if (!into.exceptionAt(entry.offset))
      into.except({ ...arrivedException(entry), sortedBy: terms.sortedBy });
  }
  for (const exception of heldBy(from)) {
    const moved = { ...exception, sortedBy: terms.sortedBy };
    const isUnderWay = moved.state === "inFlight" && moved.atMs > terms.nowMs;
    into.except(terms.giveBack && isUnderWay ? givenBack(moved) : moved);
  }
  if (from.unsaved) into.unsaved = [...(into.unsaved ?? []), ...from.unsaved];
  empty(from, walked);
  return left.entries.length + right.entries.length;
}

function reachOf(lane: Lane, scanOffset: number): number {
  return lane.hasUnwalked ? lane.walkedOffset : Math.max(lane.walkedOffset, scanOffset);
}

/** What both read of the same ranges, each its own. */
function inherited(ranges: readonly PendingRange[], { routeId, pending }: Lane): PendingRange[] {
  const others = ranges.map((range) => ({ ...range, except: [...range.except, routeId] }));
  const own = pending.map((range) => ({ ...range, only: [...range.only, routeId] }));
  return [...others, ...own];
}

/** Of one lane what it has not delivered at or below `through`. */
function leftBehind(
  lane: Lane,
  after: number,
  through: number,
  room: number,
  condition: Pick<PendingRange, "only" | "except">,
): { entries: LaneEntry[]; pending: PendingRange[] } {
  if (after >= through) return { entries: [], pending: [] };
  const entries = lane.window.filter(({ offset }) => offset <= through);
  const read = Math.max(after, lane.behind ? lane.windowThrough : through);
  if (entries.length > room) return { entries: [], pending: [{ after, through, ...condition }] };
  return { entries, pending: read < through ? [{ after: read, through, ...condition }] : [] };
}

/** What is under way or waits, first deliveries as exceptions. */
function heldBy(lane: Lane): Exception[] {
  const delivered = lane.runs.flatMap((run) =>
    run.messages.map((message) => deliveredException(run, message)),
  );
  return [...lane.exceptions, ...delivered];
}

function empty(lane: Lane, walkedOffset: number): void {
  lane.reset(walkedOffset, false);
  if (lane.unsaved) lane.unsaved = [];
  if (lane.lease) lane.setLease(null);
}
