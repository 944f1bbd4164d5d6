import { pendingSpan } from "../core/pending.ts";
import { MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import { concerns, unreadEntries } from "./unread-entries.ts";
import { applicationWalked, type LaneSnapshot, type Reads, type Snapshot } from "./unsettled-count.ts";

/** Lanes behind the scan that are read for their first entry; those that lag most come first. */
const MAX_LANES_READ = 1000;
/** Entries of other groups that are read past; redrives are the only source of them. */
const MAX_PAGES = 10;
const FIRST_PAGE_ENTRIES = 4;

/** The lowest offset of the topic that the group has not settled, as far as a bounded search finds it. */
export async function firstUnsettled(reads: Reads, snapshot: Snapshot): Promise<number | null> {
  let first = Number.POSITIVE_INFINITY;
  for (const { offset } of snapshot.delayed) first = Math.min(first, offset);
  const lanes = [...snapshot.lanes.values()].flat();
  for (const { firstHeld } of lanes) first = Math.min(first, firstHeld ?? first);
  const behind = lanes.filter((lane) => unreadFrom(lane) !== null);
  behind.sort((a, b) => (unreadFrom(a) ?? 0) - (unreadFrom(b) ?? 0));
  for (const lane of behind.slice(0, Math.min(MAX_LANES_READ, snapshot.bounds.maxLaneReads))) {
    if ((unreadFrom(lane) ?? first) >= first) break;
    first = Math.min(first, (await firstUnread(reads, snapshot, lane)) ?? first);
  }
  if (first > snapshot.scanOffset) first = Math.min(first, (await firstUnscanned(reads, snapshot)) ?? first);
  return Number.isFinite(first) ? first : null;
}

/** The same within one partition. */
export async function firstUnsettledOf(
  reads: Reads,
  snapshot: Snapshot,
  partitionKey: string,
): Promise<number | null> {
  const lanes = snapshot.lanes.get(partitionKey) ?? [];
  let first = Number.POSITIVE_INFINITY;
  for (const { firstHeld } of lanes) first = Math.min(first, firstHeld ?? first);
  for (const entry of snapshot.delayed) {
    if (entry.partitionKey === partitionKey) first = Math.min(first, entry.offset);
  }
  for (const lane of lanes) first = Math.min(first, (await firstUnread(reads, snapshot, lane)) ?? first);
  const afterOffset = Math.max(snapshot.scanOffset, applicationWalked(snapshot, partitionKey));
  if (first > afterOffset) {
    const span = { partitionKey, afterOffset, throughOffset: Number.MAX_SAFE_INTEGER };
    first = Math.min(first, (await firstBetween(reads, snapshot, span)) ?? first);
  }
  return Number.isFinite(first) ? first : null;
}

/** Where what the lane has not read begins; null: it has read all. */
function unreadFrom({ unreadAfter, pending }: LaneSnapshot): number | null {
  return pendingSpan(pending)?.after ?? unreadAfter;
}

async function firstUnread(reads: Reads, snapshot: Snapshot, lane: LaneSnapshot): Promise<number | null> {
  if (snapshot.split) {
    for await (const { offset } of unreadEntries(reads, snapshot, lane)) return offset;
    return null;
  }
  const { partitionKey, unreadAfter } = lane;
  if (unreadAfter === null || unreadAfter >= snapshot.scanOffset) return null;
  const span = { partitionKey, afterOffset: unreadAfter, throughOffset: snapshot.scanOffset };
  return firstBetween(reads, snapshot, span);
}

async function firstBetween(
  reads: Reads,
  snapshot: Snapshot,
  span: { partitionKey: string; afterOffset: number; throughOffset: number },
): Promise<number | null> {
  let { afterOffset } = span;
  for (let round = 0; round < MAX_PAGES; round += 1) {
    const read = { ...span, afterOffset, maxEntries: round === 0 ? FIRST_PAGE_ENTRIES : MAX_SCAN_ENTRIES };
    const [page] = await reads.log.scanPartitions(snapshot.topic, [read]);
    const found = page?.entries.find((entry) => concerns(entry, snapshot.group));
    if (found) return found.offset;
    if (!page || page.reachedEnd) return null;
    afterOffset = page.entries.at(-1)?.offset ?? afterOffset;
  }
  return null;
}

/** Ahead of the scan everything is unsettled but what a reset passed over. */
async function firstUnscanned(reads: Reads, snapshot: Snapshot): Promise<number | null> {
  let afterOffset = snapshot.scanOffset;
  for (let round = 0; round < MAX_PAGES; round += 1) {
    const maxEntries = round === 0 ? FIRST_PAGE_ENTRIES : MAX_SCAN_ENTRIES;
    const page = await reads.log.scanTopic(snapshot.topic, { afterOffset, maxEntries });
    const found = page.entries.find(
      (entry) =>
        concerns(entry, snapshot.group) && entry.offset > applicationWalked(snapshot, entry.partitionKey),
    );
    if (found) return found.offset;
    if (page.reachedEnd) return null;
    afterOffset = page.entries.at(-1)?.offset ?? afterOffset;
  }
  return null;
}
