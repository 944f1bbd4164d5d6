import { MAX_GROUP_LANES, MAX_ROUTE_LANES, MAX_WINDOW_ENTRIES } from "../core/dispatch-limits.ts";
import { APPLICATION, type Lane, type LaneEntry } from "../core/lane.ts";
import { offsetAtMs } from "../core/offset-clock.ts";
import { isPending } from "../core/pending.ts";
import { hasArrived } from "../core/unsettled.ts";
import type { DuePage, DuePosition, Entry, PartitionPage, PartitionRead } from "../log/message-log.ts";
import type { GroupState } from "./group-state.ts";
import { type PastProgress, wasPutAside, wasSettled } from "./past-progress.ts";
import { endFullestRoute } from "./route-life.ts";
import { applyPending, applySorts } from "./sort-messages.ts";

/** Of one lane: what lies above its window, or what it inherited. */
export interface LaneRead extends PartitionRead {
  routeId: number;
  kind: "window" | "pending";
}

/** What one read brought, see group-reader.ts. */
export interface ReadPages {
  /** Of messages that wait and were not asked of the newest route. */
  sorts: PartitionPage[];
  /** null: nothing could be due. */
  due: DuePage | null;
  lanes: PartitionPage[];
  confirm: { entries: Entry[]; completeThrough: number } | null;
  tail: {
    entries: Entry[];
    afterOffset: number;
    reachedEnd: boolean;
    logNowMs: number;
  };
  past: PastProgress;
}

/** Where another party has so many times as much of a partition, a lane reads so many times as far the next time. */
const SPARSE_PART = 4;
const MAX_READ_FACTOR = 64;
/** Leases of idle lanes that end at once when a group is full. */
const LANES_MADE_ROOM_FOR = 1000;

/** One read's pages going into the lanes. Inside `Tenant.change`. */
export class AppliedRead {
  private readonly group: GroupState;
  private readonly past: PastProgress;
  private readonly nowMs: number;
  private readonly changed = new Set<Lane>();
  /** The lowest late entry for which there was no lane: what lies from there on is not sure yet. */
  private firstLeft = Number.POSITIVE_INFINITY;

  constructor(group: GroupState, past: PastProgress, nowMs: number) {
    this.group = group;
    this.past = past;
    this.nowMs = nowMs;
  }

  due(page: DuePage, throughDueMs: number): void {
    const { progress } = this.group;
    const last = page.entries[page.entries.length - 1];
    this.group.nextDueAtMs = page.nextDueAtMs;
    this.group.dueIsKnown = true;
    const reached: DuePosition = page.reachedEnd
      ? { dueAtMs: throughDueMs, offset: Number.MAX_SAFE_INTEGER }
      : { dueAtMs: last?.dueAtMs ?? progress.due.dueAtMs, offset: last?.offset ?? progress.due.offset };
    this.group.moveDue(reached);
    for (const entry of page.entries) {
      // Above the scan offset it is met by the scan, which takes what is due.
      if (entry.offset > progress.scanOffset || !this.concerns(entry)) continue;
      this.know(entry);
      // A reset put it aside before it was due.
      if (wasPutAside(this.past, entry)) continue;
      this.arrive(entry, progress.scanOffset);
    }
  }

  /** Of what was read, nothing is due through then; of what was not, the scan takes what is. */
  nothingDue(throughDueMs: number): void {
    this.group.moveDue({ dueAtMs: throughDueMs, offset: Number.MAX_SAFE_INTEGER });
  }

  sorts(reads: readonly PartitionRead[], pages: readonly PartitionPage[]): void {
    applySorts(this.group, reads, pages, this.nowMs);
  }

  lanes(reads: readonly LaneRead[], pages: readonly PartitionPage[]): void {
    for (const [at, read] of reads.entries()) {
      const page = pages[at];
      if (page && read.kind === "pending") {
        const changed = applyPending(this.group, read, page, (entry) => this.pendingEntry(entry));
        if (changed) this.changed.add(changed);
        continue;
      }
      const lane = this.group.lane(read.partitionKey, read.routeId);
      // A reset or an arrival of later news may have come between: then the next read does it.
      if (!page || !lane?.behind || Math.max(lane.windowThrough, lane.walkedOffset) !== read.afterOffset)
        continue;
      // Another party's that appeared late must be found by a read that brings it there.
      const theirs = page.entries.filter((entry) => this.ownerOf(entry) === read.routeId);
      for (const entry of theirs) this.know(entry);
      const entries = theirs
        .filter((entry) => this.isNow(entry) && !this.isPast(entry))
        .map((entry) => this.laneEntry(entry));
      const isSparse = page.entries.length > SPARSE_PART * theirs.length;
      lane.readFactor = isSparse ? Math.min(MAX_READ_FACTOR, lane.readFactor * SPARSE_PART) : 1;
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

  /** What is older than the horizon, read again: afterwards nothing can appear there. */
  confirm({ entries, completeThrough }: { entries: readonly Entry[]; completeThrough: number }): void {
    for (const entry of entries) this.late(entry);
    this.group.known.raiseSure(Math.min(completeThrough, this.firstLeft - 1));
    this.group.touchProgress();
  }

  tail({ entries, afterOffset, reachedEnd, logNowMs }: ReadPages["tail"]): void {
    const { group } = this;
    const { progress, known } = group;
    const { commitHorizonMs } = group.log.clock;
    group.atTail = reachedEnd;
    for (const entry of entries) {
      if (entry.offset <= progress.scanOffset) {
        this.late(entry);
        continue;
      }
      if (this.takes(entry) && !this.isPast(entry) && !this.takeTail(entry)) {
        group.atTail = false;
        break;
      }
      progress.scanOffset = entry.offset;
      this.know(entry);
      group.touchProgress();
    }
    if (commitHorizonMs === 0) {
      known.raiseSure(progress.scanOffset);
      return;
    }
    group.lastTailLogMs = logNowMs;
    const olderThanHorizon = offsetAtMs(logNowMs - commitHorizonMs);
    // Read without a gap from what was sure, and older than the horizon: sure at the first reading.
    if (known.sureOffset < afterOffset) return;
    const sureThrough = Math.min(progress.scanOffset, olderThanHorizon, this.firstLeft - 1);
    known.raiseSure(Math.max(known.sureOffset, sureThrough));
    if (group.atTail) group.quietThrough = olderThanHorizon;
  }

  /**
   * The scan has seen all there is: a lane that was reset further on has nothing to read. Without this it would
   * be asked for at each receive until the topic's next message.
   */
  catchUp(lanes: readonly Lane[]): void {
    for (const { partitionKey, routeId } of lanes) {
      const lane = this.group.lane(partitionKey, routeId);
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

  /** An entry below the scan: known, or one that appeared after the scan had passed. */
  private late(entry: Entry): void {
    const { known } = this.group;
    if (known.has(entry.offset)) return;
    const isOurs = this.takes(entry) && !wasPutAside(this.past, entry) && !this.isPast(entry);
    if (isOurs && !this.isInherited(entry) && !this.hasLane(entry)) {
      this.firstLeft = Math.min(this.firstLeft, entry.offset);
      return;
    }
    this.know(entry);
    this.group.touchProgress();
    // A lane made for it has nothing else to read: what the scan has passed was settled, or there would be a lane.
    if (isOurs) this.arrive(entry, this.group.progress.scanOffset);
  }

  private arrive(entry: Entry, walkedOffset: number): void {
    if (this.isInherited(entry)) return;
    const lane = this.group.laneOrNew(entry.partitionKey, walkedOffset, this.ownerOf(entry));
    lane.arrive(this.laneEntry(entry), MAX_WINDOW_ENTRIES);
    // Several may share a lane: it must be found again before the last step places it.
    if (lane.hasUnsettled) this.group.touch(lane, this.nowMs);
  }

  /** The read of what its lane inherited brings it, and must not bring it again. */
  private isInherited(entry: Entry): boolean {
    const { lanes, routes } = this.group;
    const pending = lanes.lane(entry.partitionKey, this.ownerOf(entry))?.pending ?? [];
    return isPending(pending, entry.offset, (routeId) => routes.takes(routeId, entry));
  }

  private know(entry: Entry): void {
    if (this.group.log.clock.commitHorizonMs > 0) this.group.known.add(entry.offset);
    if (entry.delayed && this.concerns(entry) && !hasArrived(entry, this.group.progress.due))
      this.group.noteDelayed(entry.dueAtMs);
  }

  /** false: no room for another lane; the scan goes on once some are settled. */
  private takeTail(entry: Entry): boolean {
    if (!this.hasLane(entry)) return false;
    const lane = this.group.lane(entry.partitionKey, this.ownerOf(entry)) ?? this.newLane(entry);
    // Behind: the lane reads it by itself. Below the walked offset: a reset put it aside.
    if (lane.behind || entry.offset <= lane.walkedOffset) return true;
    lane.extendWindow([this.laneEntry(entry)], MAX_WINDOW_ENTRIES);
    this.changed.add(lane);
    return true;
  }

  /** Is there a lane for it, or room for one? */
  private hasLane(entry: Entry): boolean {
    const { lanes } = this.group;
    const owner = this.ownerOf(entry);
    if (lanes.lane(entry.partitionKey, owner)) return true;
    if (owner === APPLICATION)
      return lanes.application.lanes.size < MAX_GROUP_LANES || this.makeRoom(APPLICATION);
    if (lanes.routeLaneCount < MAX_ROUTE_LANES || this.makeRoom(owner)) return true;
    endFullestRoute(this.group, this.nowMs);
    return this.hasLane(entry);
  }

  /** Lanes with nothing unsettled are kept for their lease alone: those idle longest go first. */
  private makeRoom(routeId: number): boolean {
    const idle = this.group.lanes.of(routeId).idleSince.takeFirst(LANES_MADE_ROOM_FOR);
    for (const lane of idle) {
      lane.setLease(null);
      // Its last acks may come again after the loss of the object: the price of more lanes than there is room for.
      if (lane.unsaved) lane.unsaved = [];
      this.group.touch(lane, this.nowMs);
    }
    return idle.length > 0;
  }

  private newLane(entry: Entry): Lane {
    const owner = this.ownerOf(entry);
    const lane = this.group.laneOrNew(entry.partitionKey, entry.offset - 1, owner);
    this.group.lanes.of(owner).lanes.set(entry.partitionKey, lane);
    return lane;
  }

  /** Was it there before this object began, and settled then? */
  private isPast(entry: Entry): boolean {
    return entry.offset <= this.group.progress.recoverThrough && wasSettled(this.past, entry);
  }

  /** Is it for this group at all? */
  private concerns(entry: Entry): boolean {
    return entry.offset > this.group.record.startOffset && this.isFor(entry);
  }

  private takes(entry: Entry): boolean {
    return entry.offset > this.group.record.startOffset && this.isNow(entry);
  }

  /** Whose it is by the routes that live. */
  private ownerOf(entry: Entry): number {
    return this.group.routes.ownerOf(entry);
  }

  /** Of what a lane inherited, what it takes; what is delayed comes when it is due. */
  private pendingEntry(entry: Entry): LaneEntry | null {
    this.know(entry);
    return this.isNow(entry) && !this.isPast(entry) ? this.laneEntry(entry) : null;
  }

  private laneEntry(entry: Entry): LaneEntry {
    const { offset, bodyBytes, dueAtMs, delayed } = entry;
    const sortedBy = this.group.routes.newestId;
    return sortedBy === 0
      ? { offset, bodyBytes, dueAtMs, delayed }
      : { offset, bodyBytes, dueAtMs, delayed, sortedBy };
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

function lastOffset(entries: readonly Entry[], otherwise: number): number {
  return entries[entries.length - 1]?.offset ?? otherwise;
}
