import fc from "fast-check";
import type { CollectionEntry, CollectionView } from "../../src/core/collection.ts";
import { type Exception, Lane } from "../../src/core/lane.ts";
import type { GroupView } from "../../src/core/unsettled.ts";

/** A page of a topic and groups in any state, each beside what the generator knows of every message. */
export interface CollectionCase {
  entries: CollectionEntry[];
  view: CollectionView;
  /** By group: the offsets that it has not settled, as they were put where they are. */
  unsettled: Map<string, Set<number>>;
  /** Offsets with a dead letter that is decided and not copied. */
  dying: Set<number>;
}

export const NOW_MS = 1_000_000;
const KEYS = ["a", "b", "c"] as const;
const GROUPS = ["g0", "g1", "g2"] as const;
const MAX_ENTRIES = 24;
const STATES = ["inFlight", "backingOff", "postponed", "returned", "arrived"] as const;

const entrySource = fc.record({
  key: fc.constantFrom(...KEYS),
  gap: fc.integer({ min: 1, max: 5 }),
  laterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
  delayMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 4000 })),
  target: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, fc.constantFrom(...GROUPS, "gone")),
});

const laneSource = fc.record({
  /** How many of the partition's scanned entries were walked, and how many of the others were read; 0 to 1. */
  walked: fc.double({ min: 0, max: 1, noNaN: true }),
  read: fc.double({ min: 0, max: 1, noNaN: true }),
  behind: fc.boolean(),
  /** How many of the partition's entries a reset went ahead, past the scan; null: no reset did. */
  ahead: fc.option(fc.nat(MAX_ENTRIES), { nil: null, freq: 3 }),
});

type LaneSource = typeof laneSource extends fc.Arbitrary<infer T> ? T : never;

const groupSource = fc.record({
  started: fc.nat(MAX_ENTRIES),
  scanned: fc.oneof({ weight: 2, arbitrary: fc.constant(MAX_ENTRIES) }, fc.nat(MAX_ENTRIES)),
  dueAtMs: fc.integer({ min: NOW_MS - 4000, max: NOW_MS + 4000 }),
  dueOffset: fc.nat(100),
  lanes: fc.tuple(...KEYS.map(() => fc.option(laneSource, { nil: null }))),
  resets: fc.tuple(...KEYS.map(() => fc.option(fc.nat(MAX_ENTRIES), { nil: null, freq: 2 }))),
  /** What became of each entry where there is a choice. */
  fates: fc.array(fc.nat(9), { minLength: MAX_ENTRIES, maxLength: MAX_ENTRIES }),
});

export const collectionCase: fc.Arbitrary<CollectionCase> = fc
  .record({
    startMs: fc.integer({ min: NOW_MS - 6000, max: NOW_MS }),
    entries: fc.array(entrySource, { maxLength: MAX_ENTRIES }),
    groups: fc.array(groupSource, { maxLength: GROUPS.length }),
    retentionMs: fc.constantFrom(1000, 2000),
    moreMs: fc.constantFrom(0, 500, 3000),
  })
  .map((source) => {
    const entries = entriesOf(source.startMs, source.entries);
    const unsettled = new Map<string, Set<number>>();
    const dying = new Set<number>();
    const groups = source.groups.map((group, at) => {
      const name = GROUPS[at] as string;
      const placed = new Placed(name, group, entries);
      unsettled.set(name, placed.unsettled);
      for (const offset of placed.dying) dying.add(offset);
      return placed.view;
    });
    const { retentionMs, moreMs } = source;
    const view = { groups, retentionMs, maxRetentionMs: retentionMs + moreMs, nowMs: NOW_MS };
    return { entries, view, unsettled, dying };
  });

type EntrySource = typeof entrySource extends fc.Arbitrary<infer T> ? T : never;
type GroupSource = typeof groupSource extends fc.Arbitrary<infer T> ? T : never;

/** Offsets and times grow together, as the log gives them. */
function entriesOf(startMs: number, sources: readonly EntrySource[]): CollectionEntry[] {
  let offset = 0;
  let publishedAtMs = startMs;
  return sources.map(({ key, gap, laterMs, delayMs, target }) => {
    offset += gap;
    publishedAtMs += laterMs;
    const dueAtMs = publishedAtMs + delayMs;
    return { offset, partitionKey: key, publishedAtMs, dueAtMs, delayed: delayMs > 0, targetGroup: target };
  });
}

/** One group: every entry is put into a place, and the places are what the view shows. */
class Placed {
  readonly unsettled = new Set<number>();
  readonly dying = new Set<number>();
  readonly view: GroupView;
  private readonly source: GroupSource;
  private readonly entries: readonly CollectionEntry[];

  constructor(group: string, source: GroupSource, entries: readonly CollectionEntry[]) {
    this.source = source;
    this.entries = entries;
    const startOffset = this.offsetOf(Math.min(source.started, source.scanned));
    const scanOffset = this.offsetOf(source.scanned);
    const resetOffsets = new Map<string, number>();
    for (const [at, key] of KEYS.entries()) {
      const reset = source.resets[at];
      if (reset !== null && reset !== undefined) resetOffsets.set(key, this.offsetOf(reset));
    }
    const due = { dueAtMs: source.dueAtMs, offset: source.dueOffset };
    const lanes = new Map<string, Lane>();
    this.view = { group, startOffset, scanOffset, due, lanes, resetOffsets };
    for (const [at, key] of KEYS.entries()) {
      const lane = source.lanes[at];
      const mine = entries.filter((entry) => entry.partitionKey === key);
      if (lane) lanes.set(key, this.fill(key, lane, mine));
      else for (const entry of mine) this.leave(entry);
    }
  }

  /** The offset of the entry at this place from 1; 0 before the first. */
  private offsetOf(place: number): number {
    return this.entries[Math.min(place, this.entries.length) - 1]?.offset ?? 0;
  }

  private fill(key: string, source: LaneSource, mine: readonly CollectionEntry[]): Lane {
    const target = source.ahead === null ? undefined : mine[source.ahead];
    if (target && target.offset > this.view.scanOffset) return this.fillAhead(key, target.offset, mine);
    const scanned = mine.filter((entry) => entry.offset <= this.view.scanOffset);
    const walked = Math.round(source.walked * scanned.length);
    const read = walked + Math.round(source.read * (scanned.length - walked));
    const lane = new Lane(key, scanned[walked - 1]?.offset ?? 0);
    for (const [at, entry] of mine.entries()) {
      if (at < walked) this.walk(lane, entry);
      else if (at < read) this.read(lane, entry);
      else if (at < scanned.length && source.behind) this.mark(entry);
      else if (at < scanned.length) this.leave(entry);
      else this.mark(entry);
    }
    lane.behind = source.behind;
    lane.windowThrough = Math.max(lane.walkedOffset, scanned[read - 1]?.offset ?? 0);
    return lane;
  }

  /** Reset to where the scan has not been: what lies below is settled, and nothing is held. */
  private fillAhead(key: string, offset: number, mine: readonly CollectionEntry[]): Lane {
    const lane = new Lane(key, offset);
    lane.behind = true;
    for (const entry of mine) {
      if (entry.offset > offset) this.mark(entry);
      else this.leaveUnlessDelayed(entry);
    }
    return lane;
  }

  /** Delivered some day: settled since, in a run, or an exception. */
  private walk(lane: Lane, entry: CollectionEntry): void {
    const fate = this.fateOf(entry);
    if (!this.isMine(entry) || fate < 4) {
      this.leave(entry);
      return;
    }
    const { offset, dueAtMs } = entry;
    this.mark(entry);
    if (fate < 6) {
      const message = { offset, bodyBytes: 1, dueAtMs };
      lane.runs.push({ nonce: "n", subscriber: "s", epoch: 1, visibleUntilMs: NOW_MS, messages: [message] });
      return;
    }
    const state = fate === 9 ? "dying" : (STATES[offset % STATES.length] as Exception["state"]);
    if (state === "dying") this.dying.add(offset);
    const more = { nonce: "", subscriber: "", epoch: 0, reason: "", bodyBytes: 1, dueAtMs };
    lane.exceptions.push({ offset, state, attempt: 1, atMs: NOW_MS, ...more });
  }

  /** Read ahead, or passed over when it was read. */
  private read(lane: Lane, entry: CollectionEntry): void {
    if (!this.isMine(entry) || this.fateOf(entry) < 3) {
      this.leave(entry);
      return;
    }
    this.mark(entry);
    lane.window.push({ offset: entry.offset, bodyBytes: 1, dueAtMs: entry.dueAtMs, delayed: entry.delayed });
  }

  /** In no lane: not scanned, delayed and not arrived, or settled. */
  private leave(entry: CollectionEntry): void {
    if (entry.offset > this.view.scanOffset) this.mark(entry);
    else this.leaveUnlessDelayed(entry);
  }

  private leaveUnlessDelayed(entry: CollectionEntry): void {
    if (entry.delayed && !this.hasArrived(entry) && !this.isPut(entry)) this.mark(entry);
  }

  private mark(entry: CollectionEntry): void {
    if (this.isMine(entry)) this.unsettled.add(entry.offset);
  }

  private isMine(entry: CollectionEntry): boolean {
    return entry.targetGroup === null || entry.targetGroup === this.view.group;
  }

  private hasArrived(entry: CollectionEntry): boolean {
    const { due } = this.view;
    if (entry.dueAtMs !== due.dueAtMs) return entry.dueAtMs < due.dueAtMs;
    return entry.offset <= due.offset;
  }

  /** Settled by where the group began or was reset to. */
  private isPut(entry: CollectionEntry): boolean {
    const { startOffset, resetOffsets } = this.view;
    return entry.offset <= Math.max(startOffset, resetOffsets.get(entry.partitionKey) ?? 0);
  }

  private fateOf(entry: CollectionEntry): number {
    return this.source.fates[this.entries.indexOf(entry)] ?? 0;
  }
}
