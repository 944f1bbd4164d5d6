import {
  CONFIRMS_PER_HORIZON,
  MAX_CONFIRM_PAGES,
  MAX_GROUP_EXCEPTIONS,
  MAX_REREAD_PAGES,
  MAX_REREADS,
  MAX_WINDOW_ENTRIES,
  MIN_TAIL_ENTRIES,
  SWEEP_MS,
} from "../core/dispatch-limits.ts";
import type { Lane } from "../core/lane.ts";
import { offsetAtMs } from "../core/offset-clock.ts";
import { type Entry, MAX_SCAN_ENTRIES, type PartitionRead } from "../log/message-log.ts";
import { AppliedRead, type LaneRead, type ReadPages } from "./applied-read.ts";
import type { GroupState } from "./group-state.ts";
import { pastProgressOf } from "./past-progress.ts";
import { pendingRead, sortReads } from "./sort-messages.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Brings entries of the log to the lanes of one group. One read at a time for each group: what is due is read
 * first, then lanes that lag, then the tail, and all of it is applied in one transaction. That order is why
 * no delayed message falls between the scan, which leaves those that are not due, and the due cursor.
 *
 * Where entries may appear below what was read (a log with a commit horizon), three things find them:
 *   the overlap   each tail read begins some milliseconds before the last one, which covers usual commits
 *   hints         a publish that took longer tells its offsets before it is answered: the next read begins there.
 *                 One that comes while a read is under way makes that read go back before it is applied: otherwise
 *                 a message published after the late one could be delivered before it (G3)
 *   confirming    what is older than the horizon is read once more, and then is sure: nothing appears there any more
 * An entry that the group knows already is skipped (`GroupState.known`).
 */
export interface ReadRequest {
  lanes: Lane[];
  tailEntries: number;
  /** Make sure of all that can be, however little that is. */
  confirm?: boolean;
}

/** Resets that come between a read and its application make it begin anew. */
const MAX_TRIES = 5;

export class GroupReader {
  private running: Promise<void> | null = null;
  private next: { request: ReadRequest; promise: Promise<void> } | null = null;
  private readonly tenant: Tenant;
  private readonly lookUp: () => Promise<GroupState | null>;

  constructor(tenant: Tenant, lookUp: () => Promise<GroupState | null>) {
    this.tenant = tenant;
    this.lookUp = lookUp;
  }

  /** Resolves after a read that began after this call; callers that meet share it. */
  read(request: ReadRequest): Promise<void> {
    if (!this.running) return this.start(request);
    if (this.next) {
      this.next.request.lanes.push(...request.lanes);
      this.next.request.tailEntries = Math.max(this.next.request.tailEntries, request.tailEntries);
      this.next.request.confirm ||= request.confirm ?? false;
      return this.next.promise;
    }
    const joined: ReadRequest = { ...request, lanes: [...request.lanes] };
    const promise = this.running.then(
      () => this.startNext(joined),
      () => this.startNext(joined),
    );
    this.next = { request: joined, promise };
    return promise;
  }

  private startNext(request: ReadRequest): Promise<void> {
    this.next = null;
    return this.start(request);
  }

  private start(request: ReadRequest): Promise<void> {
    const run = this.readNow(request).finally(() => {
      if (this.running === run) this.running = null;
    });
    this.running = run;
    return run;
  }

  private async readNow(request: ReadRequest): Promise<void> {
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) if (await this.readOnce(request)) return;
  }

  /** false: what was read does not fit the group any more. */
  private async readOnce(request: ReadRequest): Promise<boolean> {
    const group = await this.lookUp();
    if (!group) return true;
    if (!group.log.clock.isKnown) await this.readClock(group);
    const dueNowMs = Math.max(this.logNowMs(group), group.progress.due.dueAtMs);
    const reads = laneReads(group, request.lanes, group.progress.scanOffset);
    const sorts = sortReads(group, this.tenant.nowMs());
    const routesVersion = group.routes.version;
    const hints = new TakenHints(group);
    const pages = await this.tenant.logHealth
      .read(() => this.fetch(group, { sorts, lanes: reads }, dueNowMs, request, hints))
      .catch((error) => {
        hints.putBack();
        throw error;
      });
    // What was read was not asked of a route that began meanwhile, and may be without headers.
    const isOutdated = group.routes.version !== routesVersion;
    if (group.gone || isOutdated || pages.past.resetEpoch !== group.progress.resetEpoch) {
      hints.putBack();
      return false;
    }
    const isNews = group.log.clock.note(pages.tail.logNowMs, this.tenant.nowMs());
    this.tenant.change(group, (nowMs) => {
      if (isNews) group.placeAll(nowMs);
      group.lastReadAtMs = nowMs;
      const applied = new AppliedRead(group, pages.past, nowMs);
      applied.sorts(sorts, pages.sorts);
      if (pages.due) applied.due(pages.due, dueNowMs);
      else if (!isFullOfExceptions(group)) applied.nothingDue(dueNowMs);
      applied.lanes(reads, pages.lanes);
      if (pages.confirm) applied.confirm(pages.confirm);
      applied.tail(pages.tail);
      if (group.atTail) applied.catchUp(request.lanes);
      applied.finish();
    });
    return true;
  }

  /** Once a life: what is due goes by the log's clock. */
  private async readClock(group: GroupState): Promise<void> {
    const { nowMs: logMs } = await this.tenant.logHealth.read(() => this.tenant.log.tail(group.key.topic));
    group.log.clock.note(logMs, this.tenant.nowMs());
    if (!group.gone) this.tenant.change(group, (nowMs) => group.placeAll(nowMs));
  }

  private logNowMs(group: GroupState): number {
    return group.log.clock.logNowMs(this.tenant.nowMs());
  }

  /** All pages of one read, in the order that keeps what is delayed and what is late from falling through. */
  private async fetch(
    group: GroupState,
    reads: { sorts: readonly PartitionRead[]; lanes: readonly LaneRead[] },
    dueNowMs: number,
    request: ReadRequest,
    hints: TakenHints,
  ): Promise<ReadPages> {
    const { log } = this.tenant;
    const { topic } = group.key;
    const due = mayBeDue(group, dueNowMs)
      ? await log.scanDue(topic, {
          after: group.progress.due,
          throughDueMs: dueNowMs,
          maxEntries: MAX_SCAN_ENTRIES,
          ...headersFor(group),
        })
      : null;
    const sorts = reads.sorts.length > 0 ? await log.scanPartitions(topic, reads.sorts) : [];
    const lanes = reads.lanes.length > 0 ? await log.scanPartitions(topic, reads.lanes) : [];
    const confirm = await this.fetchConfirm(group, request.confirm ?? false);
    const tail = await this.fetchTail(group, request.tailEntries, hints);
    const scanned = [...(confirm?.entries ?? []), ...tail.entries];
    const keys = pastKeys(
      group,
      due?.entries ?? [],
      scanned,
      lanes.flatMap(({ entries }) => entries),
    );
    const past = await pastProgressOf(this.tenant, group, keys);
    return { sorts, due, lanes, confirm, tail, past };
  }

  /** Everything above the scan, from where something may have appeared below it. */
  private async fetchTail(
    group: GroupState,
    tailEntries: number,
    hints: TakenHints,
  ): Promise<ReadPages["tail"]> {
    const maxEntries = Math.min(MAX_SCAN_ENTRIES, Math.max(MIN_TAIL_ENTRIES, tailEntries));
    const { scanOffset } = group.progress;
    const afterOffset = tailAfter(group);
    hints.take();
    const tail = await this.scanThrough(group, afterOffset, scanOffset, maxEntries);
    let lowest = afterOffset;
    for (let again = 0; again < MAX_REREADS; again += 1) {
      const from = group.rereadFrom;
      const highest = tail.entries.at(-1)?.offset ?? afterOffset;
      // One page shows one instant: what it does not show of its span, nothing else in it came after.
      const through = tail.pages === 1 ? Math.min(lowest, highest) : highest;
      if (from === null || from > through) break;
      hints.take();
      const below = Math.max(from - 1, group.known.sureOffset);
      const reread = await this.scanThrough(group, below, through, MAX_SCAN_ENTRIES, through);
      tail.entries = merged(tail.entries, reread.entries);
      lowest = Math.min(lowest, below);
    }
    return tail;
  }

  /** Pages from `afterOffset` until one has passed `goalOffset`. */
  private async scanThrough(
    group: GroupState,
    afterOffset: number,
    goalOffset: number,
    maxEntries: number,
    throughOffset?: number,
  ): Promise<ReadPages["tail"] & { pages: number }> {
    const entries: Entry[] = [];
    let from = afterOffset;
    let logNowMs: number | null = null;
    for (let round = 0; ; round += 1) {
      const page = await this.tenant.log.scanTopic(group.key.topic, {
        afterOffset: from,
        maxEntries: round === 0 ? maxEntries : MAX_SCAN_ENTRIES,
        ...headersFor(group),
        ...(throughOffset === undefined ? {} : { throughOffset }),
      });
      logNowMs ??= page.nowMs;
      entries.push(...page.entries);
      const last = page.entries.at(-1)?.offset ?? from;
      const { reachedEnd } = page;
      const pages = round + 1;
      if (reachedEnd || last > goalOffset) return { entries, afterOffset, reachedEnd, logNowMs, pages };
      from = last;
      if (round < MAX_REREAD_PAGES) continue;
      group.rereadFrom = Math.min(last + 1, group.rereadFrom ?? Number.POSITIVE_INFINITY);
      return { entries, afterOffset, reachedEnd: false, logNowMs, pages };
    }
  }

  /** The second look at what is older than the horizon by now; null while it is not worth a read. */
  private async fetchConfirm(group: GroupState, always: boolean): Promise<ReadPages["confirm"]> {
    const { commitHorizonMs } = group.log.clock;
    const { sureOffset } = group.known;
    const through = Math.min(group.progress.scanOffset, this.surelyCommitted(group, this.logNowMs(group)));
    // The last part of a topic that grew quiet is worth a read of its own: nothing will follow it.
    const isLastPart = through === group.progress.scanOffset;
    const worthWhile = always || isLastPart ? 1 : (commitHorizonMs * 1000) / CONFIRMS_PER_HORIZON;
    if (commitHorizonMs === 0 || through - sureOffset < worthWhile) return null;
    return this.confirmPages(group, through);
  }

  private async confirmPages(group: GroupState, throughOffset: number): Promise<ReadPages["confirm"]> {
    const entries: Entry[] = [];
    let afterOffset = group.known.sureOffset;
    for (let page = 0; page < MAX_CONFIRM_PAGES; page += 1) {
      const read = { afterOffset, throughOffset, maxEntries: MAX_SCAN_ENTRIES, ...headersFor(group) };
      const found = await this.tenant.log.scanTopic(group.key.topic, read);
      const sureThrough = this.surelyCommitted(group, found.nowMs);
      entries.push(...found.entries);
      afterOffset = found.reachedEnd ? throughOffset : (found.entries.at(-1)?.offset ?? afterOffset);
      afterOffset = Math.min(afterOffset, sureThrough);
      if (found.reachedEnd || afterOffset === sureThrough) break;
    }
    return { entries, completeThrough: afterOffset };
  }

  private surelyCommitted(group: GroupState, logMs: number): number {
    return offsetAtMs(logMs - group.log.clock.commitHorizonMs);
  }
}

/**
 * Partitions whose progress in the log matters for what was read: of entries that were there before this object
 * began, of delayed ones that a reset may have put aside, and of those that appear where a reset has passed.
 */
function pastKeys(
  group: GroupState,
  due: readonly Entry[],
  scanned: readonly Entry[],
  ofLanes: readonly Entry[],
): Set<string> {
  const { recoverThrough, resetEpoch, scanOffset } = group.progress;
  const keys = new Set<string>();
  for (const { partitionKey } of resetEpoch > 0 ? due : []) keys.add(partitionKey);
  for (const { offset, partitionKey } of scanned) {
    const isLate = offset <= scanOffset && !group.known.has(offset);
    if (offset <= recoverThrough || (resetEpoch > 0 && isLate)) keys.add(partitionKey);
  }
  for (const { offset, partitionKey } of ofLanes) if (offset <= recoverThrough) keys.add(partitionKey);
  return keys;
}

/** In order, each once. */
function merged(entries: readonly Entry[], more: readonly Entry[]): Entry[] {
  const byOffset = new Map([...entries, ...more].map((entry) => [entry.offset, entry]));
  return [...byOffset.values()].sort((a, b) => a.offset - b.offset);
}

/** Hints that a read went by: until it is applied, they stand. */
class TakenHints {
  private readonly group: GroupState;
  private from: number | null = null;
  private taken = false;

  constructor(group: GroupState) {
    this.group = group;
  }

  take(): void {
    const { rereadFrom } = this.group;
    if (rereadFrom !== null) this.from = Math.min(rereadFrom, this.from ?? rereadFrom);
    this.taken = true;
    this.group.rereadFrom = null;
    this.group.hasNews = false;
  }

  /** To the group that was read; one that was reloaded meanwhile carried over what it still had. */
  putBack(): void {
    if (!this.taken) return;
    this.group.hasNews = true;
    if (this.from !== null) this.group.rereadFrom = Math.min(this.from, this.group.rereadFrom ?? this.from);
  }
}

/** Is there something for a read to find that nobody told of: due by now, or left behind by the last one? */
export function isReadDue(group: GroupState, nowMs: number): boolean {
  if (group.hasNews || nowMs - group.lastReadAtMs >= SWEEP_MS || nowMs < group.lastReadAtMs) return true;
  return mayBeDue(group, group.log.clock.logNowMs(nowMs));
}

/** Only then the log is asked: what is delayed and was not read yet comes with the scan. */
function mayBeDue(group: GroupState, dueNowMs: number): boolean {
  if (isFullOfExceptions(group)) return false;
  return !group.dueIsKnown || (group.nextDueAtMs !== null && group.nextDueAtMs <= dueNowMs);
}

/** Then what is delayed waits in the log. */
function isFullOfExceptions(group: GroupState): boolean {
  const { application, exceptionCount } = group.lanes;
  // What waits with routes must not keep what is due from the application, but memory is bounded all the same.
  return application.exceptionCount >= MAX_GROUP_EXCEPTIONS || exceptionCount >= 2 * MAX_GROUP_EXCEPTIONS;
}

/** Where a tail read begins. What the last read did not see was given an offset at most so long before it, or has a hint. */
function tailAfter(group: GroupState): number {
  const { scanOffset } = group.progress;
  if (group.log.clock.commitHorizonMs === 0) return scanOffset;
  const hinted = group.rereadFrom === null ? scanOffset : group.rereadFrom - 1;
  return Math.max(group.known.sureOffset, Math.min(scanOffset, group.tailOverlapOffset(), hinted));
}

/** Headers only where a group has routes. */
function headersFor({ routes }: GroupState): { withHeaders?: true } {
  return routes.needsHeaders ? { withHeaders: true } : {};
}

function laneReads(group: GroupState, lanes: readonly Lane[], scanOffset: number): LaneRead[] {
  const reads: LaneRead[] = [];
  for (const lane of new Set(lanes)) {
    const { partitionKey, routeId } = lane;
    // The lane may be another object by now: what counts is the one in the cache.
    const current = group.lane(partitionKey, routeId);
    const pending = current ? pendingRead(group, current) : null;
    if (pending) reads.push({ ...pending, routeId, kind: "pending" });
    // What it inherited comes first.
    if (current && current.pending.length > 0) continue;
    if (!current?.behind || current.window.length >= MAX_WINDOW_ENTRIES) continue;
    const afterOffset = Math.max(current.windowThrough, current.walkedOffset);
    // Reset to where the scan has not been yet: it stays behind until the scan has passed.
    if (afterOffset > scanOffset) continue;
    reads.push({
      kind: "window",
      routeId,
      ...headersFor(group),
      partitionKey,
      afterOffset,
      throughOffset: scanOffset,
      maxEntries: Math.min(MAX_SCAN_ENTRIES, laneEntries(group) * current.readFactor),
    });
  }
  return reads;
}

/** Enough for a full lane of deliveries; what is read ahead is kept. */
function laneEntries(group: GroupState): number {
  return Math.min(
    MAX_WINDOW_ENTRIES,
    Math.max(2 * group.record.settings.maxInFlightPerPartition, MIN_TAIL_ENTRIES),
  );
}
