import {
  ENOUGH_LANES,
  FEW_LANES,
  LOOK_AHEAD_PAUSE_MS,
  SLOW_LOOK_AHEAD_PAUSE_MS,
} from "../core/dispatch-limits.ts";
import { DueQueue } from "../core/due-queue.ts";
import { Lane, type LaneChanges } from "../core/lane.ts";
import { LaneIndex } from "../core/lane-index.ts";
import { isDeadLetterTopic, type TopicSettings } from "../core/settings.ts";
import type { ShareInput } from "../core/share.ts";
import type { WalkRules } from "../core/walk.ts";
import type { DuePosition, GroupRecord } from "../log/message-log.ts";
import type { GroupKey } from "./tables/group-key.ts";
import type { GroupProgress } from "./tables/group-progress.ts";
import type { Heartbeat } from "./tables/subscriber-heartbeats.ts";
import type { Tables } from "./tables/tables.ts";

/** Unreadable messages that are counted at once; beyond, counting begins anew. */
const MAX_UNREADABLE = 1000;

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

export class GroupState {
  readonly key: GroupKey;
  record: GroupRecord;
  topicSettings: TopicSettings;
  readonly progress: GroupProgress;
  readonly index = new LaneIndex();
  readonly subscribers = new Map<string, Subscriber>();
  /** Not the truth any more: look the group up again. */
  gone = false;
  /** The last tail read saw the end of the log. Memory only. */
  atTail = false;
  /** When the next delayed message is due, as far as the last read saw. */
  nextDueAtMs: number | null = null;
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

  constructor(key: GroupKey, record: GroupRecord, topicSettings: TopicSettings, progress: GroupProgress) {
    this.key = key;
    this.record = record;
    this.topicSettings = topicSettings;
    this.progress = progress;
  }

  /** null while paused: nothing is granted and time changes nothing. */
  rules(nowMs: number): WalkRules | null {
    if (this.record.settings.paused) return null;
    return this.activeRules(nowMs);
  }

  activeRules(nowMs: number): WalkRules {
    return {
      maxInFlight: this.record.settings.maxInFlightPerPartition,
      maxAttempts: isDeadLetterTopic(this.key.topic) ? null : this.record.settings.maxAttempts,
      maxRetentionMs: this.topicSettings.maxRetentionMs,
      freshAllowed: true,
      nowMs,
    };
  }

  /** Few lanes have work and the log holds more: a deep lane may hide others. */
  get hasFewLanes(): boolean {
    return !this.atTail && this.index.busyCount < FEW_LANES;
  }

  /** When a pass should read on although nobody is short of messages; null when it need not. */
  get lookAheadPauseMs(): number | null {
    if (this.gone || this.atTail || this.record.settings.paused || this.index.busyCount >= ENOUGH_LANES)
      return null;
    return this.hasFewLanes ? LOOK_AHEAD_PAUSE_MS : SLOW_LOOK_AHEAD_PAUSE_MS;
  }

  lane(partitionKey: string): Lane | undefined {
    return this.index.lanes.get(partitionKey);
  }

  /** The lane, made if it has none: everything at or below `walkedOffset` is then settled. */
  laneOrNew(partitionKey: string, walkedOffset: number): Lane {
    return this.lane(partitionKey) ?? new Lane(partitionKey, walkedOffset);
  }

  /** Call after each change of a lane: it is placed now and written at the end of the transaction. */
  touch(lane: Lane, nowMs: number): void {
    this.index.place(lane, this.rules(nowMs), nowMs);
    this.touched.add(lane);
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
    const rules = this.rules(nowMs);
    for (const lane of [...this.index.lanes.values()]) this.index.place(lane, rules, nowMs);
  }

  nextEpoch(nowMs: number): number {
    this.progress.lastEpoch = Math.max(this.progress.lastEpoch + 1, nowMs);
    this.touchProgress();
    return this.progress.lastEpoch;
  }

  shareInput(asking: ReadonlySet<string>): ShareInput {
    const counted = new Set(asking);
    for (const name of this.index.deliveringTo()) if (this.subscribers.has(name)) counted.add(name);
    return {
      busyLanes: this.index.busyCount,
      freeReadyLanes: this.index.readyFree.size,
      heldLanes: this.index.busyByOwner(),
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
    // Whatever else has a row hangs on this one: loading and removing a group go by it.
    if (!this.hasProgressRow && (this.touched.size > 0 || this.subscribersTouched.size > 0))
      this.progressTouched = true;
    const kept: Lane[] = [];
    for (const lane of this.touched) this.flushLane(tables, lane, kept);
    if (kept.length > 0) tables.lanes.save(this.key, kept);
    this.touched.clear();
    if (this.progressTouched) this.dueMoved = false;
    if (this.progressTouched) {
      tables.groupProgress.save(this.key, this.progress);
      this.hasProgressRow = true;
    }
    this.progressTouched = false;
    for (const name of this.subscribersTouched) {
      const subscriber = this.subscribers.get(name);
      if (subscriber) {
        tables.heartbeats.save(this.key, subscriber);
        subscriber.savedExpiresAtMs = subscriber.expiresAtMs;
      } else tables.heartbeats.remove(this.key, name);
    }
    this.subscribersTouched.clear();
  }

  private flushLane(tables: Tables, lane: Lane, kept: Lane[]): void {
    const changes: LaneChanges = lane.changes;
    lane.changes = { state: false, lease: false, exceptions: new Set() };
    for (const offset of changes.exceptions) {
      const exception = lane.exceptionAt(offset);
      if (exception) tables.deliveryState.save(this.key, lane.partitionKey, exception);
      else tables.deliveryState.remove(this.key, lane.partitionKey, offset);
    }
    if (!changes.state && !changes.lease) return;
    const isKept = lane.hasUnsettled || lane.lease !== null;
    if (isKept) kept.push(lane);
    else if (lane.hasRow) tables.lanes.remove(this.key, lane.partitionKey);
    lane.hasRow = isKept;
  }
}

/** Reads a group's rows. Cost: one row for each lane with something unsettled or leased, exception and subscriber. */
export function loadGroup(
  tables: Tables,
  key: GroupKey,
  record: GroupRecord,
  topicSettings: TopicSettings,
  nowMs: number,
): GroupState {
  const saved = tables.groupProgress.load(key);
  const current = saved?.generation === record.generation ? saved : null;
  const group = new GroupState(key, record, topicSettings, current ?? freshProgress(record, nowMs));
  if (!current) {
    // Rows of an earlier group of this name, left by a crash while it was deleted.
    if (saved) tables.removeGroup(key);
    return group;
  }
  group.hasProgressRow = true;
  const lanes = new Map<string, Lane>();
  for (const lane of tables.lanes.load(key)) lanes.set(lane.partitionKey, lane);
  for (const { partitionKey, exception } of tables.deliveryState.load(key)) {
    lanes.get(partitionKey)?.exceptions.push(exception);
  }
  for (const beat of tables.heartbeats.load(key)) {
    group.subscribers.set(beat.subscriber, { ...beat, savedExpiresAtMs: beat.expiresAtMs, askingUntilMs: 0 });
  }
  const rules = group.rules(nowMs);
  for (const lane of lanes.values()) group.index.place(lane, rules, nowMs);
  return group;
}

/** Delayed messages due by now are taken by the scan itself; later ones arrive when due. */
function freshProgress(record: GroupRecord, nowMs: number): GroupProgress {
  return {
    generation: record.generation,
    scanOffset: record.startOffset,
    due: { dueAtMs: nowMs, offset: Number.MAX_SAFE_INTEGER },
    lastEpoch: 0,
    resetEpoch: 0,
    expired: 0,
    dropped: 0,
  };
}
