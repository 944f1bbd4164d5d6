import { type CollectionEntry, type ExpiredEntry, planCollection } from "../core/collection.ts";
import { fail } from "../core/failure.ts";
import type { Lane } from "../core/lane.ts";
import { offsetAtMs } from "../core/offset-clock.ts";
import { isUnsettled } from "../core/unsettled.ts";
import { MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import { collectSettled } from "./collect-settled.ts";
import { groupsOf } from "./end-holds.ts";
import type { GroupState } from "./group-state.ts";
import { type ResetOffsets, resetOffsetsOf, viewOfGroup } from "./group-view.ts";
import { nextTurn } from "./next-turn.ts";
import type { Tenant } from "./tenant.ts";

/** The first page tells whether there is anything to do at all; pages grow while there is. */
const FIRST_PAGE_ENTRIES = 2;
const PAGE_GROWTH = 8;

/** What one pass may still do, over all topics. */
export interface Budget {
  deletes: number;
  entries: number;
}

export interface TopicOutcome {
  deleted: number;
  /** Where the next pass goes on; null when this one came to the end. */
  resumeAfter: number | null;
  /** The topic holds nothing. */
  empty: boolean;
}

/**
 * Collects one topic, page by page from `afterOffset`, until nothing more can go or the budget is used.
 *
 * The steps for a page, each of which may be the last one before a crash:
 *   1 holds of expired messages end, counted in the same transaction: exactly once, since settled then
 *   2 rows go: what was settled, or held by nobody any more, so no hold is left without its message
 *   3 expired messages that no group had delivered yet are counted; a crash before it loses that figure only
 * The other way round a crash would leave holds that no later pass could find, since their rows are gone.
 */
export async function collectTopic(
  tenant: Tenant,
  topic: string,
  from: { afterOffset: number; nowMs: number },
  budget: Budget,
): Promise<TopicOutcome> {
  let { afterOffset } = from;
  // In the object's own log a message read costs little, and its deletion ends what is known of its partition.
  let deleted = tenant.embedded ? 0 : await collectSettled(tenant, topic, from.nowMs, budget);
  let kept = 0;
  for (
    let maxEntries = FIRST_PAGE_ENTRIES;
    ;
    maxEntries = Math.min(MAX_SCAN_ENTRIES, maxEntries * PAGE_GROWTH)
  ) {
    const page = await tenant.log.listMessages(topic, { afterOffset, maxEntries });
    budget.entries -= Math.max(1, page.length);
    const done = page.length === 0 ? null : await collectPage(tenant, topic, page, from.nowMs);
    deleted += done?.deleted ?? 0;
    kept += done?.kept ?? 0;
    budget.deletes -= done?.deleted ?? 0;
    if (!done || done.finished || page.length < maxEntries) {
      const empty = from.afterOffset === 0 && kept === 0 && !done?.finished;
      if (empty) await endReadingLanes(tenant, topic);
      return { deleted, resumeAfter: null, empty };
    }
    afterOffset = done.decidedThrough;
    if (budget.deletes <= 0 || budget.entries <= 0)
      return { deleted, resumeAfter: afterOffset, empty: false };
    if (maxEntries === MAX_SCAN_ENTRIES) await nextTurn(tenant);
  }
}

/** The log shows everything that it will ever have up to here. */
function completeOffset(tenant: Tenant, logNowMs: number): number {
  const { commitHorizonMs } = tenant.log;
  return commitHorizonMs === 0 ? Number.POSITIVE_INFINITY : offsetAtMs(logNowMs - commitHorizonMs);
}

interface PageOutcome {
  deleted: number;
  kept: number;
  decidedThrough: number;
  finished: boolean;
}

async function collectPage(
  tenant: Tenant,
  topic: string,
  page: readonly CollectionEntry[],
  nowMs: number,
): Promise<PageOutcome> {
  const resets = await resetsOf(tenant, topic, page);
  const state = await tenant.topicOrFail(topic);
  const groups = [...state.groups.values()];
  // A cache that was dropped this very moment may say settled where the rows do not.
  if (groups.some((group) => group.gone)) {
    fail("store-unavailable", `a group of ${topic} was reloaded, the pass goes on next time`, {
      retryAfterMs: 1000,
    });
  }
  const views = groups.map((group) => viewOfGroup(group, resets.get(group.key.group)));
  // From here to the end of step 1 there is no await: what was decided is what the rows say.
  const plan = planCollection(page, {
    ...state.settings,
    groups: views,
    nowMs,
    completeOffset: completeOffset(tenant, nowMs),
  });
  const { kept, decidedThrough, finished } = plan;
  const expired = byGroup(plan.expired);
  for (const group of groups) endExpiredHolds(tenant, group, expired.get(group.key.group) ?? []);
  if (plan.ranges.length === 0) return { deleted: 0, kept, decidedThrough, finished };
  const { deleted } = await tenant.log.deleteRanges(topic, plan.ranges);
  for (const [name, entries] of expired) {
    const group = await tenant.group(topic, name);
    if (group) countNeverDelivered(tenant, group, entries, resets.get(name));
  }
  if (tenant.embedded) await forgetResets(tenant, topic, resets);
  else tenant.noteShrunk(topic);
  return { deleted, kept, decidedThrough, finished };
}

/** Reset offsets that matter for this page, by group. */
async function resetsOf(
  tenant: Tenant,
  topic: string,
  page: readonly CollectionEntry[],
): Promise<Map<string, ResetOffsets>> {
  const keys = new Set(page.map(({ partitionKey }) => partitionKey));
  const resets = new Map<string, ResetOffsets>();
  for (const group of await groupsOf(tenant, topic)) {
    const offsets = await resetOffsetsOf(tenant, group, keys);
    if (offsets.byKey.size > 0) resets.set(group.key.group, offsets);
  }
  return resets;
}

function byGroup(expired: readonly ExpiredEntry[]): Map<string, CollectionEntry[]> {
  const entries = new Map<string, CollectionEntry[]>();
  for (const { group, entry } of expired) {
    const known = entries.get(group);
    if (known) known.push(entry);
    else entries.set(group, [entry]);
  }
  return entries;
}

/** Step 1: delivered or waiting messages. */
function endExpiredHolds(tenant: Tenant, group: GroupState, entries: readonly CollectionEntry[]): void {
  const isHeld = (entry: CollectionEntry): boolean => {
    const lane = group.lanes.holding(entry.partitionKey, entry.offset);
    return lane !== undefined && entry.offset <= lane.walkedOffset && !lane.isSettledBelow(entry.offset);
  };
  if (!entries.some(isHeld)) return;
  tenant.change(group, (nowMs) => {
    expire(
      group,
      entries.filter((entry) => isHeld(entry)),
      nowMs,
    );
  });
  tenant.wake.pump(group.key);
}

/** Step 3: what the group had not come to. It may have settled or expired some of it since the plan. */
function countNeverDelivered(
  tenant: Tenant,
  group: GroupState,
  entries: readonly CollectionEntry[],
  resets: ResetOffsets | undefined,
): void {
  tenant.change(group, (nowMs) => {
    const view = viewOfGroup(group, resets);
    expire(
      group,
      entries.filter((entry) => isUnsettled(view, entry)),
      nowMs,
    );
  });
  tenant.wake.pump(group.key);
}

function expire(group: GroupState, entries: readonly CollectionEntry[], nowMs: number): void {
  if (entries.length === 0) return;
  const touched = new Set<Lane>();
  for (const { partitionKey, offset } of entries) {
    for (const lane of group.lanes.lanesOf(partitionKey)) if (lane.drop(offset)) touched.add(lane);
  }
  for (const lane of touched) group.touch(lane, nowMs);
  group.progress.expired += entries.length;
  group.touchProgress();
}

/**
 * The topic holds nothing: lanes that were to read on have nothing to read, and would say so at the next receive
 * only, which may never come. What was scanned since the tail was read is left to them.
 */
async function endReadingLanes(tenant: Tenant, topic: string): Promise<void> {
  for (const { key, lanes } of await groupsOf(tenant, topic)) {
    if (![...lanes.lanes()].some((lane) => lane.behind || lane.pending.length > 0)) continue;
    const { offset: tailOffset } = await tenant.log.tail(topic);
    const stored = await tenant.log.countEntries(topic, { afterOffset: 0, maxCount: 1 });
    const group = await tenant.group(topic, key.group);
    if (stored > 0 || !group || group.progress.scanOffset > tailOffset) continue;
    tenant.change(group, (nowMs) => {
      for (const lane of [...group.lanes.lanes()]) {
        if (!(lane.behind || lane.pending.length > 0) || lane.window.length > 0) continue;
        lane.behind = false;
        lane.pending = [];
        lane.changes.state = true;
        group.touch(lane, nowMs);
      }
    });
  }
}

/** A reset is remembered for what was there before it: with the partition's last message it can go. */
async function forgetResets(
  tenant: Tenant,
  topic: string,
  resets: ReadonlyMap<string, ResetOffsets>,
): Promise<void> {
  for (const [group, { byKey }] of resets) {
    const emptied: string[] = [];
    for (const partitionKey of byKey.keys()) {
      const read = { partitionKey, afterOffset: 0, maxCount: 1 };
      if ((await tenant.log.countEntries(topic, read)) === 0) emptied.push(partitionKey);
    }
    if (emptied.length > 0) await tenant.log.deleteProgress(topic, group, emptied);
  }
}
