import { isPending, pendingSpan } from "../core/pending.ts";
import { type Entry, MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import type { LaneSnapshot, Reads, Snapshot } from "./unsettled-count.ts";

/** Does the group receive it? A redriven message is for one group only. */
export function concerns(entry: { targetGroup: string | null }, group: string): boolean {
  return entry.targetGroup === null || entry.targetGroup === group;
}

/** Pages read of one lane: ten thousand entries, its own and those of other lanes of the partition. */
const MAX_PAGES = 10;

/**
 * Where a group is split, what a lane has not read yet, in the order of offsets: what it inherited, then what lies above
 * its window up to the scan. Only headers tell whose it is, so the partition is read; what is beyond a bound is left out,
 * and the snapshot says so.
 */
export async function* unreadEntries(
  reads: Reads,
  snapshot: Snapshot,
  lane: LaneSnapshot,
): AsyncGenerator<Entry> {
  const { split, scanOffset } = snapshot;
  if (!split) return;
  const { partitionKey, pending, unreadAfter, routeId } = lane;
  const span = pendingSpan(pending);
  if (span) {
    const takes = (entry: Entry) =>
      split.ownerOf(entry) === routeId &&
      isPending(pending, entry.offset, (id) => split.takes(id, entry) ?? false);
    yield* entriesOf(reads, snapshot, { partitionKey, ...span }, takes);
  }
  if (unreadAfter === null || unreadAfter >= scanOffset) return;
  const above = { partitionKey, after: unreadAfter, through: scanOffset };
  yield* entriesOf(reads, snapshot, above, (entry) => split.ownerOf(entry) === routeId);
}

async function* entriesOf(
  reads: Reads,
  snapshot: Snapshot,
  span: { partitionKey: string; after: number; through: number },
  takes: (entry: Entry) => boolean,
): AsyncGenerator<Entry> {
  const { partitionKey, through: throughOffset } = span;
  let afterOffset = span.after;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const read = {
      partitionKey,
      afterOffset,
      throughOffset,
      maxEntries: MAX_SCAN_ENTRIES,
      withHeaders: true,
    };
    const [found] = await reads.log.scanPartitions(snapshot.topic, [read]);
    for (const entry of found?.entries ?? []) {
      if (concerns(entry, snapshot.group) && takes(entry)) yield entry;
    }
    if (!found || found.reachedEnd) return;
    afterOffset = found.entries.at(-1)?.offset ?? afterOffset;
  }
  snapshot.isCut = true;
}
