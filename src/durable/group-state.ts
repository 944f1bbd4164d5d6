import {
  CHECKPOINT_DELAY_MS,
  ENOUGH_LANES,
  FEW_LANES,
  FIRST_TAIL_OVERLAP_MS,
  LOOK_AHEAD_PAUSE_MS,
  MANY_UNSAVED_OFFSETS,
  MAX_ROW_KNOWN_BYTES,
  SLOW_LOOK_AHEAD_PAUSE_MS,
  TAIL_OVERLAP_MS,
} from "../core/dispatch-limits.ts";
import { DueQueue } from "../core/due-queue.ts";
import { KnownOffsets } from "../core/known-offsets.ts";
import { APPLICATION, Lane, type LaneChanges } from "../core/lane.ts";
import type { LaneIndex } from "../core/lane-index.ts";
import { LaneSet } from "../core/lane-set.ts";
import { offsetAtMs } from "../core/offset-clock.ts";
import { isDeadLetterTopic, type TopicSettings } from "../core/settings.ts";
import type { ShareInput } from "../core/share.ts";
import type { WalkRules } from "../core/walk.ts";
import type { DuePosition, GroupRecord } from "../log/message-log.ts";
import { GroupRoutes } from "./group-routes.ts";
import type { LogClock } from "./log-clock.ts";
import type { GroupKey } from "./tables/group-key.ts";
import type { GroupProgress } from "./tables/group-progress.ts";
import type { KnownChunk } from "./tables/known-offsets.ts";
import type { Heartbeat } from "./tables/subscriber-heartbeats.ts";
import type { Tables } from "./tables/tables.ts";

/** Unreadable messages that are counted at once; beyond, counting begins anew. */
const MAX_UNREADABLE = 1000;
/** How long before it is told a publish of unknown offsets may have begun: no publish takes longer. */
const UNKNOWN_OFFSETS_MS = 15_000;

/**
 * A group in memory: a cache of its rows, plus what only matters while the object lives (who waits, who
 * asked lately, windows of the log). Deleting it changes nothing but latency.
 *
 * It is changed only inside `Tenant.change`, which writes what was touched in the same transaction; when
 * that fails the whole cache is dropped (`gone`) and read anew.
 */
export interface Subscriber extends Heartbeat {
  /** What the row says; it is written again only when the difference is worth it. */
  savedExpiresAtMs: number;
  /** Its last receive ended then, plus the grace; a waiting receive counts by itself. */
  askingUntilMs: number;
}

/** What a group must know of the log that it reads. */
export interface LogTraits {
  clock: LogClock;
  /** It outlives the object: progress is saved to it, and found there again. */
  isOutside: boolean;
}

export class GroupState {
  readonly key: GroupKey;
  readonly log: LogTraits;
  record: GroupRecord;
  topicSettings: TopicSettings;
  readonly progress: GroupProgress;
  readonly lanes = new LaneSet();
  readonly routes = new GroupRoutes();
  /** Lanes that inherited something that they have not read yet. */
  readonly pendingLanes = new Set<Lane>();
  readonly subscribers = new Map<string, Subscriber>();
  /** Not the truth any more: look the group up again. */
  gone = false;
  /** The last tail read saw the end of the log. Memory only. */
  atTail = false;
  /** When the next delayed message that has not arrived is due, by the log's clock; null: there is none. */
  nextDueAtMs: number | null = null;
  /** `nextDueAtMs` says something: the log was asked in this life. */
  dueIsKnown = false;
  /** Which offsets were read above what is sure. */
  readonly known: KnownOffsets;
  private readonly knownChunkEnds: number[];
  /** Entries may have appeared from here on below what was read; null: no hint says so. Memory only. */
  rereadFrom: number | null = null;
  /** Entries may have been stored since the last tail read began. Memory only: a new life does not know. */
  hasNews = true;
  /** The log's clock at the last tail read, in milliseconds. Memory only. */
  lastTailLogMs: number | null = null;
  /** Nothing lies between the scan and this offset, and nothing can appear there any more. Memory only. */
  quietThrough = 0;
  /** When the log was last read, by the object's clock. Memory only. */
  lastReadAtMs = 0;
  /** The rows of this object may be younger than the group: what it had settled before, the log tells. */
  needsRecovery = false;
  /** Lanes with settlements that are not saved to the log yet. */
  readonly unsavedLanes = new Set<Lane>();
  checkpointAtMs: number | null = null;
  deadLetterRetryAtMs: number | null = null;
  /** When each subscriber stops to count as asking: then others may take its lanes. Memory only. */
  readonly askingEnds = new DueQueue<string>();
  /** Since when an owner gets no new work on a lane that it must give up and still delivers from. Memory only. */
  readonly drainingSince = new Map<Lane, number>();
  /** How often messages could not be read while others could. Memory only: a new life counts anew. */
  readonly unreadableReads = new Map<number, number>();
  private readonly touched = new Set<Lane>();
  hasProgressRow = false;
  private progressTouched = false;
  private dueMoved = false;
  private readonly subscribersTouched = new Set<string>();

  constructor(
    key: GroupKey,
    record: GroupRecord,
    topicSettings: TopicSettings,
    progress: GroupProgress,
    log: LogTraits,
    chunks: readonly KnownChunk[] = [],
  ) {
    this.key = key;
    this.record = record;
    this.topicSettings = topicSettings;
    this.progress = progress;
    this.log = log;
    const texts = chunks.map(({ text }) => text);
    this.known = KnownOffsets.load(progress.sureOffset, texts, progress.knownOffsets);
    this.knownChunkEnds = chunks.map(({ lastOffset }) => lastOffset);
    if (log.clock.commitHorizonMs === 0) this.known.raiseSure(progress.scanOffset);
  }

  /** null while paused: nothing is granted and time changes nothing. */
  rules(nowMs: number, routeId: number): WalkRules | null {
    if (this.record.settings.paused) return null;
    return this.activeRules(nowMs, routeId);
  }

  activeRules(nowMs: number, routeId: number): WalkRules {
    return {
      // What is a route's cannot be another's: they are disjoint.
      newestRoute: routeId === APPLICATION ? this.routes.newestId : 0,
      maxInFlight: this.record.settings.maxInFlightPerPartition,
      maxAttempts: isDeadLetterTopic(this.key.topic) ? null : this.record.settings.maxAttempts,
      maxRetentionMs: this.topicSettings.maxRetentionMs,
      freshAllowed: true,
      nowMs,
      logAheadMs: this.log.clock.aheadMs,
    };
  }

  /** Few lanes have work and the log holds more: a deep lane may hide others. */
  hasFewLanes(index: LaneIndex): boolean {
    return !this.atTail && index.busyCount < FEW_LANES;
  }

  /** When a pass should read on although nobody is short of messages; null when it need not. */
  get lookAheadPauseMs(): number | null {
    if (this.gone || this.atTail || this.record.settings.paused) return null;
    const busyCount = this.fewestBusyLanes();
    if (busyCount >= ENOUGH_LANES) return null;
    return busyCount < FEW_LANES ? LOOK_AHEAD_PAUSE_MS : SLOW_LOOK_AHEAD_PAUSE_MS;
  }

  /** Of the parties that have subscribers: what is one's may lie behind what is another's. */
  private fewestBusyLanes(): number {
    if (!this.routes.isSplit) return this.lanes.application.busyCount;
    let fewest = Number.POSITIVE_INFINITY;
    for (const { routeId } of this.subscribers.values())
      fewest = Math.min(fewest, this.lanes.of(this.partyOf(routeId)).busyCount);
    return Number.isFinite(fewest) ? fewest : this.lanes.application.busyCount;
  }

  /** A route that has ended leaves its subscribers without any lane. */
  private partyOf(routeId: number): number {
    return routeId !== APPLICATION && this.routes.byId(routeId) ? routeId : APPLICATION;
  }

  lane(partitionKey: string, routeId: number = APPLICATION): Lane | undefined {
    return this.lanes.lane(partitionKey, routeId);
  }

  /** The lane, made if it has none: everything at or below `walkedOffset` is then settled. */
  laneOrNew(partitionKey: string, walkedOffset: number, routeId: number = APPLICATION): Lane {
    const known = this.lane(partitionKey, routeId);
    if (known) return known;
    const lane = new Lane(partitionKey, walkedOffset, routeId);
    if (this.log.isOutside) lane.unsaved = [];
    return lane;
  }

  /** Call after each change of a lane: it is placed now and written at the end of the transaction. */
  touch(lane: Lane, nowMs: number): void {
    // The lanes of a route that has ended are left to be removed.
    if (lane.routeId === APPLICATION || this.routes.byId(lane.routeId))
      this.lanes.of(lane.routeId).place(lane, this.rules(nowMs, lane.routeId), nowMs);
    if (lane.pending.length > 0) this.pendingLanes.add(lane);
    else this.pendingLanes.delete(lane);
    this.touched.add(lane);
    if (!lane.hasUnsaved) return;
    this.unsavedLanes.add(lane);
    const isMany = (lane.unsaved?.length ?? 0) >= MANY_UNSAVED_OFFSETS;
    if (this.checkpointAtMs === null) this.checkpointAtMs = nowMs + CHECKPOINT_DELAY_MS;
    if (isMany) this.checkpointAtMs = Math.min(this.checkpointAtMs, nowMs);
  }

  touchProgress(): void {
    this.progressTouched = true;
  }

  /**
   * The due cursor alone is not worth a row: if it is lost, the same empty page is read again. But it must
   * be saved with the first lane that changes after it, or a message settled since would arrive again.
   */
  moveDue(due: DuePosition): void {
    this.dueMoved ||= due.dueAtMs !== this.progress.due.dueAtMs || due.offset !== this.progress.due.offset;
    this.progress.due = due;
  }

  /** The topic grew, by entries from `lowestOffset` on; null: not known from where on. */
  noteHint(lowestOffset: number | null, nowMs: number): void {
    this.hasNews = true;
    if (this.log.clock.commitHorizonMs === 0) return;
    const from = lowestOffset ?? offsetAtMs(this.log.clock.logNowMs(nowMs) - UNKNOWN_OFFSETS_MS);
    // Also one above the scan: a read that is under way may be about to pass it.
    this.rereadFrom = Math.min(from, this.rereadFrom ?? from);
  }

  /** The next tail read begins at or below it without any hint. */
  tailOverlapOffset(): number {
    if (this.lastTailLogMs === null) return this.progress.scanOffset - FIRST_TAIL_OVERLAP_MS * 1000;
    return offsetAtMs(this.lastTailLogMs - TAIL_OVERLAP_MS);
  }

  /** A delayed message was seen that comes with the due cursor. */
  noteDelayed(dueAtMs: number): void {
    if (this.nextDueAtMs === null || dueAtMs < this.nextDueAtMs) this.nextDueAtMs = dueAtMs;
  }

  noteUnreadable(offset: number, reads: number): void {
    if (this.unreadableReads.size >= MAX_UNREADABLE && !this.unreadableReads.has(offset))
      this.unreadableReads.clear();
    this.unreadableReads.set(offset, reads);
  }

  touchSubscriber(name: string): void {
    this.subscribersTouched.add(name);
  }

  /** Settings changed or the clock moved oddly: every lane is placed anew. */
  placeAll(nowMs: number): void {
    this.lanes.placeAll((routeId) => this.rules(nowMs, routeId), nowMs);
  }

  nextEpoch(nowMs: number): number {
    this.progress.lastEpoch = Math.max(this.progress.lastEpoch + 1, nowMs);
    this.touchProgress();
    return this.progress.lastEpoch;
  }

  /** `asking`: those of the party. Each shares its own lanes. */
  shareInput(asking: ReadonlySet<string>, routeId: number): ShareInput {
    const counted = new Set(asking);
    const index = this.lanes.of(routeId);
    for (const name of index.deliveringTo()) {
      if (this.subscribers.get(name)?.routeId === routeId) counted.add(name);
    }
    return {
      busyLanes: index.busyCount,
      freeReadyLanes: index.readyFree.size,
      heldLanes: index.busyByOwner(),
      counted,
      asking,
    };
  }

  /** When the first draining lane changes hands with deliveries under way; null if none does. */
  nextDrainEndAtMs(): number | null {
    let earliest: number | null = null;
    for (const sinceMs of this.drainingSince.values()) {
      if (earliest === null || sinceMs < earliest) earliest = sinceMs;
    }
    return earliest === null ? null : earliest + this.record.settings.leaseDurationMs;
  }

  /** When the earliest subscriber would be taken for dead. */
  nextExpiryAtMs(): number | null {
    let earliest: number | null = null;
    for (const { expiresAtMs } of this.subscribers.values()) {
      if (earliest === null || expiresAtMs < earliest) earliest = expiresAtMs;
    }
    return earliest;
  }

  /** Writes what was touched. Inside the transaction of `Tenant.change`. */
  flush(tables: Tables): void {
    if (this.dueMoved && this.touched.size > 0) this.progressTouched = true;
    if (this.routes.endedCount > 0 && (this.pendingLanes.size === 0 || this.routes.hasJustEnded))
      this.forgetEnded();
    // Whatever else has a row hangs on this one: loading and removing a group go by it.
    const isTouched = this.touched.size > 0 || this.subscribersTouched.size > 0 || this.routes.isTouched;
    if (!this.hasProgressRow && isTouched) this.progressTouched = true;
    const kept: Lane[] = [];
    for (const lane of this.touched) this.flushLane(tables, lane, kept);
    if (kept.length > 0) tables.lanes.save(this.key, kept);
    this.touched.clear();
    if (this.progressTouched) this.flushProgress(tables);
    this.routes.flush(tables, this.key);
    for (const name of this.subscribersTouched) {
      const subscriber = this.subscribers.get(name);
      if (subscriber) {
        tables.heartbeats.save(this.key, subscriber);
        subscriber.savedExpiresAtMs = subscriber.expiresAtMs;
      } else tables.heartbeats.remove(this.key, name);
    }
    this.subscribersTouched.clear();
  }

  /** Filters of ended routes that no pending range asks any more. */
  private forgetEnded(): void {
    const named = new Set<number>();
    for (const { pending } of this.pendingLanes) {
      for (const { only, except } of pending) for (const routeId of [...only, ...except]) named.add(routeId);
    }
    this.routes.forgetEnded((routeId) => named.has(routeId));
  }

  /** What is known of the log's offsets changes with the scan offset, and is written with it. */
  private flushProgress(tables: Tables): void {
    const { known, progress } = this;
    if (known.unsavedText.length > MAX_ROW_KNOWN_BYTES) {
      const chunk = known.spill();
      if (chunk) {
        tables.knownOffsets.save(this.key, chunk);
        this.knownChunkEnds.push(chunk.lastOffset);
      }
    }
    const [firstEnd] = this.knownChunkEnds;
    if (firstEnd !== undefined && Math.min(...this.knownChunkEnds) <= known.sureOffset) {
      tables.knownOffsets.removeThrough(this.key, known.sureOffset);
      const left = this.knownChunkEnds.filter((end) => end > known.sureOffset);
      this.knownChunkEnds.splice(0, this.knownChunkEnds.length, ...left);
    }
    progress.sureOffset = known.sureOffset;
    progress.knownOffsets = known.unsavedText;
    tables.groupProgress.save(this.key, progress);
    this.hasProgressRow = true;
    this.progressTouched = false;
    this.dueMoved = false;
  }

  private flushLane(tables: Tables, lane: Lane, kept: Lane[]): void {
    const changes: LaneChanges = lane.changes;
    lane.changes = { state: false, lease: false, exceptions: new Set() };
    for (const offset of changes.exceptions) {
      const exception = lane.exceptionAt(offset);
      if (exception) tables.deliveryState.save(this.key, lane, exception);
      else tables.deliveryState.remove(this.key, lane, offset);
    }
    if (!changes.state && !changes.lease) return;
    const isKept = lane.hasUnsettled || lane.lease !== null || lane.hasUnsaved;
    if (isKept) kept.push(lane);
    else if (lane.hasRow) tables.lanes.remove(this.key, lane);
    lane.hasRow = isKept;
  }
}
