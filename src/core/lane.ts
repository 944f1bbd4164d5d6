import { assert } from "./assert.ts";
import { MAX_UNSAVED_OFFSETS } from "./dispatch-limits.ts";
import { arrivedException, deliveredException } from "./exceptions.ts";
import type { PendingRange } from "./pending.ts";

/**
 * One lane: a partition's part that belongs to the application or to one route, and that one group consumes in order.
 *
 * Every entry of the partition that is the lane's is, for the group, in exactly one of these places:
 *
 *   settled      at or below `walkedOffset` and in neither `runs` nor `exceptions`, or dropped when read
 *   in a run     delivered for the first time, untouched since
 *   an exception anything else that is unsettled at or below `walkedOffset`
 *   in `window`  read from the log, above `walkedOffset`, not delivered yet
 *   unread       above `windowThrough` while `behind`, else above the group's scan offset
 *   pending      at or below `walkedOffset`, inherited from other lanes of the partition: see pending.ts
 *
 * `runs`, `exceptions`, `walkedOffset`, the lease, and whether anything is in the window or unread
 * are rows; the window itself is a cache of the log. Runs hold ascending offsets and follow each other
 * ascending, since first deliveries happen in offset order.
 *
 * Methods change the lane in memory and note what must be written; `LaneChanges` is taken by the
 * table code inside the same transaction.
 */

export interface LaneEntry {
  offset: number;
  bodyBytes: number;
  /** Age counts from here. */
  dueAtMs: number;
  /** Published with a delay: not before `dueAtMs`. */
  delayed: boolean;
  /** The newest route that was asked whether it takes the message; absent: none was. */
  sortedBy?: number | undefined;
}

/** First deliveries of one grant: they share a nonce, an owner and a timeout. */
export interface Run {
  nonce: string;
  subscriber: string;
  epoch: number;
  visibleUntilMs: number;
  /** Absent: not known, since the row is older than this field. */
  deliveredAtMs?: number | undefined;
  /** The newest route that was asked whether it takes these messages, 0 or absent: none was. */
  sortedBy?: number | undefined;
  messages: { offset: number; bodyBytes: number; dueAtMs: number }[];
}

/**
 * An unsettled message that is not (or no longer) part of a run.
 *
 *   inFlight    delivered; its receipt works until something else happens to it, also after
 *               `atMs` (its visibility), when it may be delivered again
 *   backingOff  failed; again from `atMs`
 *   postponed   a barrier until `atMs`
 *   returned    given back: comes before anything else of the lane, same attempt number
 *   arrived     was delayed, or appeared late in the log; due at `atMs`, which has come unless the clock stepped back
 *   dying       its dead letter is decided; settled once the copy is made
 */
export type ExceptionState = "inFlight" | "backingOff" | "postponed" | "returned" | "arrived" | "dying";

export interface Exception {
  offset: number;
  bodyBytes: number;
  /** Of the message: its age counts from here. */
  dueAtMs: number;
  state: ExceptionState;
  /** Deliveries that count so far, the one in flight included. */
  attempt: number;
  /** inFlight: visible until; backingOff, postponed, arrived: due; dying: when it failed; returned: 0. */
  atMs: number;
  /** Only inFlight; "" otherwise. */
  nonce: string;
  subscriber: string;
  /** inFlight: of the lease; dying: the reset epoch at which it was decided. */
  epoch: number;
  /** The last reason that a consumer gave, "" for none. */
  reason: string;
  /** Only inFlight: since when this delivery is out, however often it was extended. Absent: not known. */
  deliveredAtMs?: number | undefined;
  /** The newest route that was asked whether it takes the message, 0 or absent: none was. */
  sortedBy?: number | undefined;
}

/** The lanes of the application; routes have IDs above. */
export const APPLICATION = 0;

export interface Lease {
  subscriber: string;
  epoch: number;
  acquiredAtMs: number;
}

export interface LaneChanges {
  state: boolean;
  lease: boolean;
  exceptions: Set<number>;
}

export interface Holder {
  nonce: string;
  subscriber: string;
  epoch: number;
  attempt: number;
  visibleUntilMs: number;
  bodyBytes: number;
  dueAtMs: number;
  reason: string;
  deliveredAtMs?: number | undefined;
  sortedBy?: number | undefined;
}

export class Lane {
  readonly partitionKey: string;
  readonly routeId: number;
  walkedOffset: number;
  runs: Run[] = [];
  /** Ascending by offset. */
  exceptions: Exception[] = [];
  lease: Lease | null = null;
  window: LaneEntry[] = [];
  windowThrough: number;
  behind = false;
  /** They come before what is unread. */
  pending: PendingRange[] = [];
  /** How many times as many entries its next read takes: of the last page few were its own. Memory only. */
  readFactor = 1;
  /** Since when nothing is unsettled; null while something is. Memory only: a restart begins anew. */
  idleSinceMs: number | null = null;
  changes: LaneChanges = { state: false, lease: false, exceptions: new Set() };
  /**
   * Settled since the lane's progress was last saved to a log outside the object; null where there is none. It stands
   * in the lane's row too, so that an eviction does not delay the checkpoint.
   */
  unsaved: number[] | null = null;
  /** So that a lane that never had a row is not deleted. */
  hasRow = false;

  constructor(partitionKey: string, walkedOffset: number, routeId: number = APPLICATION) {
    this.partitionKey = partitionKey;
    this.routeId = routeId;
    this.walkedOffset = walkedOffset;
    this.windowThrough = walkedOffset;
  }

  /** Something undelivered lies above `walkedOffset`, in the window or unread. */
  get hasUnwalked(): boolean {
    return this.behind || this.window.length > 0;
  }

  /** Something undelivered that is not among the exceptions. */
  get hasMore(): boolean {
    return this.hasUnwalked || this.pending.length > 0;
  }

  get hasUnsettled(): boolean {
    return this.runs.length > 0 || this.exceptions.length > 0 || this.hasMore;
  }

  get hasUnsaved(): boolean {
    return this.unsaved !== null && this.unsaved.length > 0;
  }

  /** The delivery of this offset that a receipt may name, whether or not its visibility has passed. */
  holderOf(offset: number): Holder | null {
    const exception = this.exceptionAt(offset);
    if (exception) {
      return exception.state === "inFlight" ? { ...exception, visibleUntilMs: exception.atMs } : null;
    }
    const run = this.runAt(offset);
    if (!run) return null;
    const message = run.messages.find((m) => m.offset === offset);
    return {
      ...run,
      attempt: 1,
      bodyBytes: message?.bodyBytes ?? 0,
      dueAtMs: message?.dueAtMs ?? 0,
      reason: "",
    };
  }

  exceptionAt(offset: number): Exception | undefined {
    const at = this.exceptionIndex(offset);
    const found = this.exceptions[at];
    return found?.offset === offset ? found : undefined;
  }

  runAt(offset: number): Run | undefined {
    return this.runs.find((run) => run.messages.some((message) => message.offset === offset));
  }

  /** Is this offset, at or below `walkedOffset`, neither delivered nor waiting? */
  isSettledBelow(offset: number): boolean {
    return !this.exceptionAt(offset) && !this.runAt(offset);
  }

  /** First deliveries: the first `entries.length` of the window, which leave it. */
  grantRun(run: Omit<Run, "messages">, entries: readonly LaneEntry[]): void {
    const last = entries[entries.length - 1];
    assert(last !== undefined, "a run has messages");
    this.runs.push({
      ...run,
      messages: entries.map(({ offset, bodyBytes, dueAtMs }) => ({ offset, bodyBytes, dueAtMs })),
    });
    this.walkTo(last.offset);
  }

  /** Everything through `offset` has been walked; what of it is unsettled is in a run or an exception. */
  walkTo(offset: number): void {
    assert(offset >= this.walkedOffset, "a lane is walked forward");
    this.walkedOffset = offset;
    let passed = 0;
    while (passed < this.window.length && (this.window[passed] as LaneEntry).offset <= offset) passed += 1;
    if (passed > 0) this.window = this.window.slice(passed);
    if (this.windowThrough < offset) this.windowThrough = offset;
    this.changes.state = true;
  }

  /** Puts (or replaces) an exception; takes the offset out of its run. */
  except(exception: Exception): void {
    this.removeFromRun(exception.offset);
    const at = this.exceptionIndex(exception.offset);
    const replaces = this.exceptions[at]?.offset === exception.offset ? 1 : 0;
    this.exceptions.splice(at, replaces, exception);
    this.changes.exceptions.add(exception.offset);
    this.changes.state = true;
  }

  /** Settles one offset at or below `walkedOffset`; false when it was settled already. */
  settle(offset: number): boolean {
    const at = this.exceptionIndex(offset);
    if (this.exceptions[at]?.offset === offset) {
      this.exceptions.splice(at, 1);
      this.changes.exceptions.add(offset);
      this.changes.state = true;
    } else if (!this.removeFromRun(offset)) return false;
    // What does not fit comes again, and only after the loss of the object, until the horizon has passed it.
    if (this.unsaved && this.unsaved.length < MAX_UNSAVED_OFFSETS) this.unsaved.push(offset);
    return true;
  }

  /** Takes a delivered or waiting message out, unsettled: it goes to another lane of the partition. */
  release(offset: number): Exception | null {
    const held = this.heldAt(offset);
    if (!held) return null;
    if (this.exceptionAt(offset)) this.exceptions.splice(this.exceptionIndex(offset), 1);
    else this.removeFromRun(offset);
    this.changes.exceptions.add(offset);
    this.changes.state = true;
    return held;
  }

  /** As an exception, also where it is part of a run. */
  heldAt(offset: number): Exception | null {
    const exception = this.exceptionAt(offset);
    if (exception) return exception;
    const run = this.runAt(offset);
    const message = run?.messages.find((one) => one.offset === offset);
    return run && message ? deliveredException(run, message) : null;
  }

  setLease(lease: Lease | null): void {
    this.lease = lease;
    this.changes.lease = true;
  }

  /** Entries read from the log, ascending, all above `walkedOffset`; keeps at most `maxEntries` in all. */
  extendWindow(entries: readonly LaneEntry[], maxEntries: number): { dropped: boolean } {
    const hadMore = this.hasUnwalked;
    for (const entry of entries) {
      if (this.window.length >= maxEntries) {
        this.behind = true;
        this.changes.state ||= !hadMore;
        return { dropped: true };
      }
      this.window.push(entry);
      this.windowThrough = entry.offset;
    }
    this.changes.state ||= hadMore !== this.hasUnwalked;
    return { dropped: false };
  }

  /**
   * A delayed entry that is due, or one that appeared below what was read: among what was walked it is an exception,
   * ahead of it a part of the window.
   */
  arrive(entry: LaneEntry, maxEntries: number): void {
    if (entry.offset <= this.walkedOffset) {
      if (this.exceptionAt(entry.offset) || this.runAt(entry.offset)) return;
      this.except(arrivedException(entry));
      return;
    }
    if (this.behind && entry.offset > this.windowThrough) return;
    const at = this.window.findIndex((e) => e.offset >= entry.offset);
    if (at >= 0 && this.window[at]?.offset === entry.offset) return;
    this.window.splice(at < 0 ? this.window.length : at, 0, entry);
    // A later read of this lane must not bring it again.
    if (entry.offset > this.windowThrough) this.windowThrough = entry.offset;
    this.changes.state = true;
    this.trimWindow(maxEntries);
  }

  /** Forgets the far end of a window that grew too long; it is read again. */
  private trimWindow(maxEntries: number): void {
    if (this.window.length <= maxEntries) return;
    this.window.length = maxEntries;
    this.windowThrough = (this.window[maxEntries - 1] as LaneEntry).offset;
    this.behind = true;
  }

  /** Removes a message whatever it is in: an admin call, age, or a log that has it no more. */
  drop(offset: number): boolean {
    if (offset <= this.walkedOffset) return this.settle(offset);
    if (this.window[0]?.offset === offset) {
      // Walked past, so that it is not read again after a restart.
      this.walkTo(offset);
      return true;
    }
    const kept = this.window.filter((entry) => entry.offset !== offset);
    const dropped = kept.length !== this.window.length;
    this.window = kept;
    if (dropped) this.changes.state = true;
    return dropped;
  }

  /** Starts over after `offset`: deliveries and holds of the lane end. */
  reset(offset: number, behind: boolean): void {
    for (const exception of this.exceptions) this.changes.exceptions.add(exception.offset);
    this.exceptions = [];
    this.runs = [];
    this.window = [];
    this.pending = [];
    if (this.unsaved) this.unsaved = [];
    this.walkedOffset = offset;
    this.windowThrough = offset;
    this.behind = behind;
    this.changes.state = true;
  }

  /** What was read ahead is read again: it may be another lane's now. */
  forgetWindow(): void {
    this.behind = this.hasUnwalked;
    this.window = [];
    this.windowThrough = this.walkedOffset;
  }

  private removeFromRun(offset: number): boolean {
    for (const [at, run] of this.runs.entries()) {
      const place = run.messages.findIndex((message) => message.offset === offset);
      if (place < 0) continue;
      run.messages.splice(place, 1);
      if (run.messages.length === 0) this.runs.splice(at, 1);
      this.changes.state = true;
      return true;
    }
    return false;
  }

  private exceptionIndex(offset: number): number {
    let low = 0;
    let high = this.exceptions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.exceptions[middle] as Exception).offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
