import { type GroupView, isDying, isUnsettled, type UnsettledEntry } from "./unsettled.ts";

/**
 * What collection deletes of a page of the log (G10).
 *
 * A message goes when at least one group exists, every group has settled it and its retention has passed; or
 * when it is older than the topic keeps anything, which every group that had not settled it counts as expired.
 * A message whose dead letter is decided stays until the copy is made.
 */

export interface CollectionEntry extends UnsettledEntry {
  publishedAtMs: number;
}

export interface CollectionView {
  groups: readonly GroupView[];
  /** How long a message is kept after it was published, at least. */
  retentionMs: number;
  /** When it goes even unsettled, counted from when it was due. Never below `retentionMs`. */
  maxRetentionMs: number;
  nowMs: number;
  /**
   * Above this offset entries may still appear between those of the page, so that no range may cover more than one.
   * Absent: none do.
   */
  completeOffset?: number;
}

export interface ExpiredEntry {
  group: string;
  entry: CollectionEntry;
}

export interface CollectionPlan {
  /** Both ends included, ascending; between its ends a range covers deleted entries of the page only. */
  ranges: { first: number; last: number }[];
  deletes: number;
  /** Entries of the page that stay although they were decided on. */
  kept: number;
  /** For each group, what it had not settled of what goes. */
  expired: ExpiredEntry[];
  /** Everything up to here was decided; 0 when nothing was. */
  decidedThrough: number;
  /** Nothing after what was decided can go now. */
  finished: boolean;
}

/** `entries` is one page of a topic in offset order, without gaps between what the log holds. */
export function planCollection(entries: readonly CollectionEntry[], view: CollectionView): CollectionPlan {
  const plan: CollectionPlan = {
    ranges: [],
    deletes: 0,
    kept: 0,
    expired: [],
    decidedThrough: 0,
    finished: false,
  };
  const settledThrough = mayBeSettledThrough(view.groups);
  let open: { first: number; last: number } | null = null;
  for (const entry of entries) {
    if (isTooYoung(entry, view, settledThrough)) {
      plan.finished = true;
      break;
    }
    plan.decidedThrough = entry.offset;
    if (!goes(entry, view, plan.expired)) {
      plan.kept += 1;
      open = null;
      continue;
    }
    plan.deletes += 1;
    const mayHideLate = entry.offset > (view.completeOffset ?? Number.POSITIVE_INFINITY);
    if (open && !mayHideLate) open.last = entry.offset;
    else {
      open = { first: entry.offset, last: entry.offset };
      plan.ranges.push(open);
    }
  }
  return plan;
}

/** Above it some group has scanned nothing, or not for certain, so only age takes a message; without groups nothing else does. */
function mayBeSettledThrough(groups: readonly GroupView[]): number {
  let through = groups.length === 0 ? 0 : Number.POSITIVE_INFINITY;
  for (const { scanOffset, known } of groups) through = Math.min(through, known?.sureOffset ?? scanOffset);
  return through;
}

/**
 * Offsets follow the clock, so what comes after is at least as young. After a step back of the clock an older
 * one may follow: it waits until this one's time has come too.
 */
function isTooYoung(entry: CollectionEntry, view: CollectionView, settledThrough: number): boolean {
  const keptMs = entry.offset > settledThrough ? view.maxRetentionMs : view.retentionMs;
  return entry.publishedAtMs + keptMs > view.nowMs;
}

/** Its retention has passed, or it would have been too young. */
function goes(entry: CollectionEntry, view: CollectionView, expired: ExpiredEntry[]): boolean {
  const missing = view.groups.filter((group) => isUnsettled(group, entry));
  const isSettled = view.groups.length > 0 && missing.length === 0;
  if (!isSettled && entry.dueAtMs + view.maxRetentionMs > view.nowMs) return false;
  if (missing.some((group) => isDying(group, entry))) return false;
  for (const { group } of missing) expired.push({ group, entry });
  return true;
}
