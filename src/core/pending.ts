/**
 * What a lane inherited and has not read yet: ranges of its partition, each with a condition.
 *
 * Two lanes of one partition have walked to different offsets, `a` and `r`. Merged, the lane stands at the higher one;
 * what the lane that lagged had not delivered lies below that:
 *
 *   the route's lane lagged         those entries above `r` that the route took (`only`)
 *   the application's lane lagged   those above `a` that neither it nor a route that was there then took (`except`)
 *
 * A route that begins while something is pending gets the same ranges in a lane of its own: each of the two reads of them
 * what is its own, at its own pace. When it ends, what it has not read of them comes back under a further condition, that
 * it took it; and what the application has left of them, under the condition that it did not.
 *
 * Pending entries become exceptions in the order of their offsets, some at a time, before the lane takes anything above
 * its walked offset: so they come in offset order, however many they are. Conditions name routes by ID; the group keeps
 * the filters of ended routes while any range names them.
 */
export interface PendingRange {
  /** Offsets above it, and at or below `through`. */
  after: number;
  through: number;
  /** What each of these routes takes... */
  only: number[];
  /** ...and none of these. */
  except: number[];
}

/** Does a route take the message that is asked about? */
export type TakenBy = (routeId: number) => boolean;

/** Do two routes take the same, whatever the message? */
export type IsSame = (one: number, other: number) => boolean;

export function isPending(ranges: readonly PendingRange[], offset: number, takenBy: TakenBy): boolean {
  return ranges.some(
    ({ after, through, only, except }) =>
      offset > after && offset <= through && only.every(takenBy) && !except.some(takenBy),
  );
}

/** What there is left once everything at or below `offset` was read. */
export function pendingAfter(ranges: readonly PendingRange[], offset: number): PendingRange[] {
  return ranges
    .filter(({ through }) => through > offset)
    .map((range) => ({ ...range, after: Math.max(range.after, offset) }));
}

/** The offsets between which something is pending; null: nothing is. */
export function pendingSpan(ranges: readonly PendingRange[]): { after: number; through: number } | null {
  if (ranges.length === 0) return null;
  let after = Number.POSITIVE_INFINITY;
  let through = 0;
  for (const range of ranges) {
    after = Math.min(after, range.after);
    through = Math.max(through, range.through);
  }
  return { after, through };
}

/**
 * The same in fewer words: a developer who comes and goes with one filter must not make them more each time. Of routes
 * that take the same one is named; what can hold nothing is left out; ranges of one condition that touch are one.
 */
export function simplified(ranges: readonly PendingRange[], isSame: IsSame): PendingRange[] {
  const kept: PendingRange[] = [];
  for (const { after, through, only, except } of [...ranges].sort((a, b) => a.after - b.after)) {
    const range = { after, through, only: distinct(only, isSame), except: distinct(except, isSame) };
    const isEmpty = range.only.some((one) => range.except.some((other) => isSame(one, other)));
    if (after >= through || isEmpty) continue;
    const before = kept.find(
      (one) =>
        one.through >= after &&
        sameRoutes(one.only, range.only, isSame) &&
        sameRoutes(one.except, range.except, isSame),
    );
    if (before) before.through = Math.max(before.through, through);
    else kept.push(range);
  }
  return kept;
}

/** The newest of those that take the same: its filter is kept longest. */
function distinct(routeIds: readonly number[], isSame: IsSame): number[] {
  const found: number[] = [];
  for (const routeId of [...routeIds].sort((a, b) => b - a)) {
    if (!found.some((other) => isSame(other, routeId))) found.push(routeId);
  }
  return found;
}

function sameRoutes(some: readonly number[], others: readonly number[], isSame: IsSame): boolean {
  return some.length === others.length && some.every((one) => others.some((other) => isSame(one, other)));
}
