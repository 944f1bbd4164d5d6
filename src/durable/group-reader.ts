import {
  MAX_GROUP_EXCEPTIONS,
  MAX_GROUP_LANES,
  MAX_WINDOW_ENTRIES,
  MIN_TAIL_ENTRIES,
} from "../core/dispatch-limits.ts";
import type { Lane, LaneEntry } from "../core/lane.ts";
import { hasArrived } from "../core/unsettled.ts";
import type {
  DuePage,
  DuePosition,
  Entry,
  PartitionPage,
  PartitionRead,
  ScanPage,
} from "../log/message-log.ts";
import { MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import type { GroupState } from "./group-state.ts";
import { type ResetOffsets, resetOffsetsOf } from "./group-view.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Brings entries of the log to the lanes of one group. One read at a time for each group: what is due is read
 * first, then lanes that lag, then the tail, and all of it is applied in one transaction. That order is why
 * no delayed message falls between the scan, which leaves those that are not due, and the due cursor.
 */
export interface ReadRequest {
  lanes: Lane[];
  tailEntries: number;
}

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
      return this.next.promise;
    }
    const joined = { lanes: [...request.lanes], tailEntries: request.tailEntries };
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
    const run = this.readOnce(request).finally(() => {
      if (this.running === run) this.running = null;
    });
    this.running = run;
    return run;
  }

  private async readOnce(request: ReadRequest): Promise<void> {
    const group = await this.lookUp();
    if (!group) return;
    const { log, logHealth } = this.tenant;
    const { topic } = group.key;
    const dueNowMs = Math.max(this.tenant.nowMs(), group.progress.due.dueAtMs);
    const scanOffset = group.progress.scanOffset;
    const reads = laneReads(group, request.lanes, scanOffset);
    const pages = await logHealth.read(async () => {
      const due =
        group.index.exceptionCount < MAX_GROUP_EXCEPTIONS
          ? await log.scanDue(topic, {
              after: group.progress.due,
              throughDueMs: dueNowMs,
              maxEntries: MAX_SCAN_ENTRIES,
            })
          : null;
      const resets = due ? await resetOffsetsOf(this.tenant, group, keysOf(due)) : null;
      const lanes = reads.length > 0 ? await log.scanPartitions(topic, reads) : [];
      const maxEntries = Math.min(MAX_SCAN_ENTRIES, Math.max(MIN_TAIL_ENTRIES, request.tailEntries));
      const tail = await log.scanTopic(topic, { afterOffset: scanOffset, maxEntries });
      return { due, resets, lanes, tail };
    });
    if (group.gone) return;
    this.tenant.change(group, (nowMs) => {
      const applied = new Applied(group, nowMs);
      // After a reset meanwhile nobody knows what of the page it settled: the next read does it.
      if (pages.due && pages.resets?.resetEpoch === group.progress.resetEpoch) {
        applied.due(pages.due, dueNowMs, pages.resets);
      }
      applied.lanes(reads, pages.lanes);
      applied.tail(pages.tail);
      if (group.atTail) applied.catchUp(request.lanes);
      applied.finish();
    });
  }
}

/** Leases of idle lanes that end at once when a group is full. */
const LANES_MADE_ROOM_FOR = 1000;

function keysOf(page: DuePage): string[] {
  return page.entries.map((entry) => entry.partitionKey);
}

function laneReads(group: GroupState, lanes: readonly Lane[], scanOffset: number): PartitionRead[] {
  const reads: PartitionRead[] = [];
  for (const lane of new Set(lanes)) {
    // The lane may be another object by now: what counts is the one in the cache.
    const current = group.lane(lane.partitionKey);
    if (!current?.behind || current.window.length >= MAX_WINDOW_ENTRIES) continue;
    const afterOffset = Math.max(current.windowThrough, current.walkedOffset);
    // Reset to where the scan has not been yet: it stays behind until the scan has passed.
    if (afterOffset > scanOffset) continue;
    reads.push({
      partitionKey: current.partitionKey,
      afterOffset,
      throughOffset: scanOffset,
      maxEntries: laneEntries(group),
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

/** One read's pages going into the lanes. Inside `Tenant.change`. */
class Applied {
  private readonly group: GroupState;
  private readonly nowMs: number;
  private readonly changed = new Set<Lane>();

  constructor(group: GroupState, nowMs: number) {
    this.group = group;
    this.nowMs = nowMs;
  }

  due(page: DuePage, throughDueMs: number, resets: ResetOffsets): void {
    const { progress } = this.group;
    const last = page.entries[page.entries.length - 1];
    this.group.nextDueAtMs = page.nextDueAtMs;
    const reached: DuePosition = page.reachedEnd
      ? { dueAtMs: throughDueMs, offset: Number.MAX_SAFE_INTEGER }
      : { dueAtMs: last?.dueAtMs ?? progress.due.dueAtMs, offset: last?.offset ?? progress.due.offset };
    for (const entry of page.entries) {
      // Above the scan offset it is met by the scan, which takes what is due.
      if (entry.offset > progress.scanOffset || !this.concerns(entry)) continue;
      // A reset put it aside before it was due.
      if (entry.offset <= (resets.byKey.get(entry.partitionKey) ?? 0)) continue;
      const lane = this.group.laneOrNew(entry.partitionKey, progress.scanOffset);
      lane.arrive(laneEntry(entry), MAX_WINDOW_ENTRIES);
      // Several may share a lane: it must be found again before the last step places it.
      if (lane.hasUnsettled) this.group.touch(lane, this.nowMs);
    }
    this.group.moveDue(reached);
  }

  lanes(reads: readonly PartitionRead[], pages: readonly PartitionPage[]): void {
    for (const [at, read] of reads.entries()) {
      const page = pages[at];
      const lane = this.group.lane(read.partitionKey);
      // A reset or an arrival of later news may have come between: then the next read does it.
      if (!page || !lane?.behind || Math.max(lane.windowThrough, lane.walkedOffset) !== read.afterOffset)
        continue;
      const entries = page.entries.filter((entry) => this.isNow(entry)).map(laneEntry);
      lane.behind = false;
      lane.changes.state = true;
      const { dropped } = lane.extendWindow(entries, MAX_WINDOW_ENTRIES);
      if (!dropped) {
        lane.windowThrough = page.reachedEnd
          ? read.throughOffset
          : lastOffset(page.entries, read.afterOffset);
        lane.behind = !page.reachedEnd;
      }
      this.changed.add(lane);
    }
  }

  tail(page: ScanPage): void {
    const { group } = this;
    const { progress } = group;
    group.atTail = page.reachedEnd;
    for (const entry of page.entries) {
      if (entry.offset <= progress.scanOffset) continue;
      if (this.takes(entry) && !this.takeTail(entry)) {
        group.atTail = false;
        break;
      }
      progress.scanOffset = entry.offset;
      group.touchProgress();
    }
  }

  /**
   * The scan has seen all there is: a lane that was reset further on has nothing to read. Without this it would
   * be asked for at each receive until the topic's next message.
   */
  catchUp(lanes: readonly Lane[]): void {
    for (const { partitionKey } of lanes) {
      const lane = this.group.lane(partitionKey);
      if (!lane?.behind || lane.window.length > 0 || lane.walkedOffset <= this.group.progress.scanOffset)
        continue;
      lane.behind = false;
      lane.changes.state = true;
      this.changed.add(lane);
    }
  }

  finish(): void {
    for (const lane of this.changed) this.group.touch(lane, this.nowMs);
  }

  /** false: no room for another lane; the scan goes on once some are settled. */
  private takeTail(entry: Entry): boolean {
    const known = this.group.lane(entry.partitionKey);
    if (!known && this.group.index.lanes.size >= MAX_GROUP_LANES && !this.makeRoom()) return false;
    const lane = known ?? this.newLane(entry);
    // Behind: the lane reads it by itself. Below the walked offset: a reset put it aside.
    if (lane.behind || entry.offset <= lane.walkedOffset) return true;
    lane.extendWindow([laneEntry(entry)], MAX_WINDOW_ENTRIES);
    this.changed.add(lane);
    return true;
  }

  /** Lanes with nothing unsettled are kept for their lease alone: those idle longest go first. */
  private makeRoom(): boolean {
    const idle = this.group.index.idleSince.takeFirst(LANES_MADE_ROOM_FOR);
    for (const lane of idle) {
      lane.setLease(null);
      this.group.touch(lane, this.nowMs);
    }
    return idle.length > 0;
  }

  private newLane(entry: Entry): Lane {
    const lane = this.group.laneOrNew(entry.partitionKey, entry.offset - 1);
    this.group.index.lanes.set(entry.partitionKey, lane);
    return lane;
  }

  /** Is it for this group at all? */
  private concerns(entry: Entry): boolean {
    return entry.offset > this.group.record.startOffset && this.isFor(entry);
  }

  private takes(entry: Entry): boolean {
    return entry.offset > this.group.record.startOffset && this.isNow(entry);
  }

  private isFor(entry: Entry): boolean {
    return entry.targetGroup === null || entry.targetGroup === this.group.key.group;
  }

  /**
   * Does the lane take it now? A delayed one that has not arrived comes with the due cursor. Where the group began
   * does not matter to a lane that reads by itself: only a reset brings it below.
   */
  private isNow(entry: Entry): boolean {
    return this.isFor(entry) && (!entry.delayed || hasArrived(entry, this.group.progress.due));
  }
}

function laneEntry(entry: Entry): LaneEntry {
  return { offset: entry.offset, bodyBytes: entry.bodyBytes, dueAtMs: entry.dueAtMs, delayed: entry.delayed };
}

function lastOffset(entries: readonly Entry[], otherwise: number): number {
  return entries[entries.length - 1]?.offset ?? otherwise;
}
