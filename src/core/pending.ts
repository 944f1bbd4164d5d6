/**
 * What a lane of the application inherited from lanes that were merged into it and has not read yet.
 *
 * Two lanes of one partition have walked to different offsets, `a` and `r`. Merged, the lane stands at the higher one;
 * what the lane that lagged had not delivered lies below that, and is a range of the partition with a condition:
 *
 *   the route's lane lagged         those entries above `r` that the route took (`only`)
 *   the application's lane lagged   those above `a` that neither it nor a route that was there then took (`except`)
 *
 * Pending entries become exceptions in the order of their offsets, some at a time, before the lane takes anything above
 * its walked offset: so they come in offset order, however many they are. Conditions name routes by ID; the group keeps
 * the filters of ended routes while any range names them.
 */
export interface PendingRange {
  /** Offsets above it, and at or below `through`. */
  after: number;
  through: number;
  /** Only what this route takes; null: what none of `except` takes. */
  only: number | null;
  except: number[];
}

/** Does a route take the message that is asked about? */
export type TakenBy = (routeId: number) => boolean;

export function isPending(ranges: readonly PendingRange[], offset: number, takenBy: TakenBy): boolean {
  return ranges.some(
    ({ after, through, only, except }) =>
      offset > after &&
      offset <= through &&
      (only === null ? !except.some((routeId) => takenBy(routeId)) : takenBy(only)),
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
