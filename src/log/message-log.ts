import type { GroupSettings, TopicSettings } from "../core/settings.ts";

/**
 * The message log of one tenant: the truth about what was published, and about settings and
 * checkpointed progress. Two implementations, one suite (test/conformance).
 *
 * An instance is bound to one tenant; no method takes a tenant. Offsets grow within a topic and are
 * not dense. Times are milliseconds since the epoch by the log's own clock. Methods that change
 * something are idempotent where their comment says so. A method rejects with `FairlaneError`:
 * `store-unavailable` when the log cannot be reached (the outcome of a write is then unknown),
 * `rate-limited` when it is full.
 */
export interface MessageLog {
  /**
   * How long after its offset was given an entry may still appear, by the log's clock (G9). 0: entries appear in
   * the order of their offsets.
   */
  readonly commitHorizonMs: number;

  /** Stores a batch, all or nothing. Publishing the same IDs again stores nothing. Makes the topic. */
  append(topic: string, messages: readonly NewMessage[]): Promise<AppendOutcome>;

  /**
   * Entries with an offset above `afterOffset`, and at or below `throughOffset` if given, in offset order. No bodies.
   * Any scan that is asked for headers ends its page early where they come to MAX_SCAN_HEADERS_BYTES, and leaves out
   * entries that are deleted while it runs: then a page may be empty and not at the end.
   */
  scanTopic(topic: string, read: TopicRead): Promise<ScanPage>;

  /**
   * The same for single partitions, up to and including `throughOffset`. One page per read, in the same order. All
   * pages of a call share the bytes of headers; one that comes when they are used up has one entry all the same.
   */
  scanPartitions(topic: string, reads: readonly PartitionRead[]): Promise<PartitionPage[]>;

  /**
   * Delayed entries (due after they were published) that became due: `afterDueMs` < due <= `throughDueMs`,
   * in order of (due, offset). A full page is cut at a (due, offset) pair: go on from `next`.
   */
  scanDue(topic: string, read: DueRead): Promise<DuePage>;

  /** Keys of partitions that hold messages, above `afterKey` in byte order. */
  listPartitions(
    topic: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<PartitionTail[]>;

  /** Whole messages by offset, in any order; those that the log no longer has are absent. */
  readMessages(topic: string, offsets: readonly number[]): Promise<StoredMessage[]>;

  /** Every entry of this ID and key, redriven copies included; the published one first. At most 100. */
  findEntries(topic: string, id: string, partitionKey: string): Promise<StoredEntry[]>;

  /**
   * Copies messages of `topic` to its dead-letter topic. Idempotent on `DeadLetterCopy.origin`: a copy
   * that exists already is left as it is. Offsets that the log no longer has are skipped.
   */
  copyToDeadLetters(topic: string, copies: readonly DeadLetterCopy[]): Promise<{ copied: number }>;

  /**
   * Puts dead letters back at the tail of `topic` for the group that failed them, then removes them
   * from the dead-letter topic. Idempotent: origin is derived from the dead letter's offset.
   * Returns how many left the dead-letter topic.
   */
  redrive(topic: string, deadLetterOffsets: readonly number[]): Promise<{ redriven: number }>;

  /** Lists entries with their metadata in offset order, optionally of one partition. */
  listMessages(topic: string, read: ListRead): Promise<StoredEntry[]>;

  /**
   * Deletes entries whose offset lies in one of the ranges (both ends included); every range is
   * at most MAX_DELETE_RANGE_ENTRIES entries long, as the caller read it. Idempotent.
   */
  deleteRanges(topic: string, ranges: readonly OffsetRange[]): Promise<{ deleted: number }>;

  /** Deletes up to `maxEntries` entries of the topic with an offset of at most `throughOffset`, oldest first. */
  purge(topic: string, purge: { throughOffset: number; maxEntries: number }): Promise<{ deleted: number }>;

  /** How many entries there are above/through the offsets, counted no further than `maxCount`. */
  countEntries(topic: string, read: CountRead): Promise<number>;

  /**
   * The highest offset in this topic, or a higher one that was given and is gone; 0 if none is known. And the
   * log's clock.
   */
  tail(topic: string): Promise<{ offset: number; nowMs: number }>;

  /** Settings. Topics and groups are listed whole: both are bounded. */
  loadTopics(): Promise<TopicRecord[]>;
  loadTopic(topic: string): Promise<TopicRecord | null>;
  saveTopic(topic: string, settings: TopicSettings): Promise<void>;
  loadGroups(topic: string): Promise<GroupRecord[]>;
  /** The groups of all topics, tombstones included, in few reads. */
  loadAllGroups(): Promise<{ topic: string; record: GroupRecord }[]>;
  /** Creates or replaces; deletion is a record with `deletedAtMs`, kept so that no generation is used twice. */
  saveGroup(topic: string, record: GroupRecord): Promise<void>;

  /**
   * Checkpoints of partitions. One applies only to the live group's generation and an equal or higher reset
   * epoch, and never goes back within one (design.md, "Progress is fenced"). Idempotent. A row's `resetOffset` is
   * left as it is.
   */
  saveProgress(topic: string, group: string, progress: readonly PartitionCheckpoint[]): Promise<void>;
  /** Replaces a partition's row by a reset. Applies only to the live group's generation and a higher reset epoch. */
  saveReset(topic: string, group: string, reset: PartitionReset): Promise<void>;
  loadProgress(topic: string, group: string, partitionKeys: readonly string[]): Promise<PartitionProgress[]>;
  /** The highest reset epoch among the rows of this generation, 0 if there are none. */
  highestResetEpoch(topic: string, group: string, generation: number): Promise<number>;
  /**
   * Looks through progress rows above `afterKey`, in byte order of their keys, at most `maxPartitions` of them, for
   * those whose partition holds no message any more.
   */
  listEmptyPartitions(
    topic: string,
    group: string,
    read: { afterKey: string | null; maxPartitions: number },
  ): Promise<{ emptyKeys: string[]; resumeAfterKey: string | null }>;
  /** Forgets progress rows: of partitions without messages, or of a whole deleted group (`partitionKeys` null). */
  deleteProgress(topic: string, group: string, partitionKeys: readonly string[] | null): Promise<void>;
}

/** A message as the edge hands it to a log: validated, with ID and key decided. */
export interface NewMessage {
  id: string;
  partitionKey: string;
  /** JSON source text, or bytes. */
  body: string | Uint8Array;
  /** null exactly when `body` is JSON source text. */
  contentType: string | null;
  /** A JSON object of lower-case names and string values, as text; "" for none. */
  headers: string;
  delayMs: number;
}

export interface AppendOutcome {
  /** In request order. `duplicate` also for the second of two equal (ID, key) in the batch. */
  results: { duplicate: boolean }[];
  /**
   * What dispatch has to look at: of what was stored now, or was found stored so lately that dispatch may not have
   * seen it. null when there is nothing of the kind, or the log could not tell the offsets.
   */
  stored: { lowestOffset: number; highestOffset: number } | null;
  /**
   * Dispatch may have read past these offsets: to keep the order (G3) it must hear of them before the publish is
   * answered.
   */
  late: boolean;
}

export interface TopicRead {
  afterOffset: number;
  /** Inclusive; absent: no end. */
  throughOffset?: number;
  maxEntries: number;
  /** Entries come with their headers. Absent: false. */
  withHeaders?: boolean;
}

/** What dispatch needs to know of a message. */
export interface Entry {
  offset: number;
  partitionKey: string;
  dueAtMs: number;
  /** Delayed: due later than published. It arrives through `scanDue`. */
  delayed: boolean;
  /** Only this group gets it (a redriven message); null for all. */
  targetGroup: string | null;
  bodyBytes: number;
  /** JSON object text; "" for none. Absent unless the read asked for headers. */
  headers?: string;
}

export interface ScanPage {
  entries: Entry[];
  /** Nothing lies above the last entry (or above `afterOffset` if there is none), up to `throughOffset`, as of `nowMs`. */
  reachedEnd: boolean;
  /** The log's clock, not later than what the page shows: whatever was committed by then is in it. */
  nowMs: number;
}

export interface PartitionRead {
  partitionKey: string;
  afterOffset: number;
  throughOffset: number;
  maxEntries: number;
  /** Absent: false. Reads of one call may differ in it. */
  withHeaders?: boolean;
}

export interface PartitionPage {
  entries: Entry[];
  /** No further entry up to `throughOffset`. */
  reachedEnd: boolean;
}

export interface DuePosition {
  dueAtMs: number;
  offset: number;
}

export interface DueRead {
  /** Exclusive. */
  after: DuePosition;
  /** Inclusive. */
  throughDueMs: number;
  maxEntries: number;
  /** Absent: false. */
  withHeaders?: boolean;
}

export interface DuePage {
  entries: Entry[];
  reachedEnd: boolean;
  /** When the first delayed entry after this page is due; null if none or not known. */
  nextDueAtMs: number | null;
}

export interface PartitionTail {
  partitionKey: string;
  latestOffset: number;
}

/** An entry with what people want to see of it. */
export interface StoredEntry extends Entry {
  id: string;
  /** "" for a publish. */
  origin: string;
  publishedAtMs: number;
  contentType: string | null;
  /** JSON object text; "" for none. */
  headers: string;
  deadLetter: DeadLetterInfo | null;
}

export interface StoredMessage extends StoredEntry {
  body: string | Uint8Array;
}

export interface DeadLetterInfo {
  originalTopic: string;
  originalId: string;
  group: string;
  failedAtMs: number;
  attempts: number;
  reason: string;
}

export interface DeadLetterCopy {
  /** Of the failed message in its own topic. */
  offset: number;
  group: string;
  attempts: number;
  failedAtMs: number;
  reason: string;
  /** Unique per failure: see `deadLetterOrigin` in core. */
  origin: string;
}

export interface ListRead {
  partitionKey?: string;
  afterOffset: number;
  maxEntries: number;
  /** Where there are more than `maxEntries`: those at the end, not the first ones. In offset order all the same. */
  fromEnd?: boolean;
}

export interface CountRead {
  partitionKey?: string;
  afterOffset: number;
  throughOffset?: number;
  /** Count only entries that this group receives: those targeted at another are left out. */
  forGroup?: string;
  maxCount: number;
}

export interface OffsetRange {
  first: number;
  last: number;
}

export interface TopicRecord {
  topic: string;
  settings: TopicSettings;
}

export interface GroupRecord {
  group: string;
  /** Never used twice within the tenant. */
  generation: number;
  settings: GroupSettings;
  createdBy: "admin" | "receive";
  /** Entries at or below it were there before a group that starts from latest: they count as settled. */
  startOffset: number;
  deletedAtMs: number | null;
}

/** What a group has settled in a partition, as of one instant. */
export interface PartitionCheckpoint {
  partitionKey: string;
  generation: number;
  resetEpoch: number;
  /**
   * Everything at or below it is settled, except what `unsettled` lists and delayed messages that had not
   * arrived by `due`.
   */
  ackedOffset: number;
  /** Offsets at or below `ackedOffset` that are not settled; "" for none. Opaque to the log. */
  unsettled: string;
  /** Offsets above `ackedOffset` that are settled; "" for none. Opaque to the log. Both are ASCII, 4 KiB together. */
  ackedAbove: string;
  /** Delayed messages up to here had arrived in their lanes. */
  due: DuePosition;
}

export interface PartitionProgress extends PartitionCheckpoint {
  /** Where the partition was last reset to, 0 if never: what was delayed and not due then is settled up to here. */
  resetOffset: number;
}

/** From now on the group continues behind `offset` in this partition. */
export interface PartitionReset {
  partitionKey: string;
  generation: number;
  resetEpoch: number;
  offset: number;
}

/** No opaque pair of a checkpoint is longer: bytes of `unsettled` and `ackedAbove` together. */
export const MAX_CHECKPOINT_BYTES = 4096;
/** No range handed to `deleteRanges` covers more entries than this. */
export const MAX_DELETE_RANGE_ENTRIES = 1000;
/** Largest page of any scan. */
export const MAX_SCAN_ENTRIES = 1000;
/**
 * Headers in the answer to one scan, bytes of UTF-8: a page of the usual headers is bounded by its entries, one of the
 * largest by memory.
 */
export const MAX_SCAN_HEADERS_BYTES = 1024 * 1024;
