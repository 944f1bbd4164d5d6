import fc from "fast-check";
import { arrivedException } from "../../src/core/exceptions.ts";
import { type Exception, Lane, type LaneEntry, type Lease } from "../../src/core/lane.ts";
import { type WalkRules, walk } from "../../src/core/walk.ts";

/**
 * One partition, its log, the cursors of one group, and the rows of its lane. Drives a lane by the contract of
 * its methods, keeps beside it what is settled, and can lose the lane and read it again from the rows.
 */
export const MAX_WINDOW = 4;
const SUBSCRIBERS = ["ann", "bob"];

export type Step =
  | { kind: "publish"; gap: number; delayMs: number | null }
  | { kind: "readTail" | "readLane" | "take"; count: number }
  | { kind: "readDue" | "reload" | "settleDying" }
  | { kind: "ack" | "nack" | "postpone" | "giveBack" | "reject" | "extend"; which: number; ms: number }
  | { kind: "drop" | "reset"; which: number }
  | { kind: "lease"; owner: number | null }
  | { kind: "pass"; ms: number };

const which = fc.nat(30);
const ms = fc.integer({ min: 0, max: 300 });
const count = fc.integer({ min: 1, max: 5 });

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      gap: fc.integer({ min: 1, max: 3 }),
      delayMs: fc.option(ms, { freq: 3 }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom("readTail" as const, "readLane" as const, "take" as const),
      count,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "readDue" as const,
        "readDue" as const,
        "reload" as const,
        "settleDying" as const,
      ),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "ack" as const,
        "ack" as const,
        "nack" as const,
        "postpone" as const,
        "giveBack" as const,
        "reject" as const,
        "extend" as const,
      ),
      which,
      ms,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("drop" as const, "reset" as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("lease" as const), owner: fc.option(fc.nat(1), { nil: null }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms }) },
);

interface Rows {
  state: { walkedOffset: number; hasMore: boolean; runs: string } | null;
  exceptions: Map<number, Exception>;
  lease: Lease | null;
}

export class LaneWorld {
  lane = new Lane("p", 0);
  readonly log: LaneEntry[] = [];
  readonly settled = new Set<number>();
  scanOffset = 0;
  nowMs = 1000;
  private due = { atMs: 1000, offset: Number.MAX_SAFE_INTEGER };
  private readonly rows: Rows = { state: null, exceptions: new Map(), lease: null };
  private readonly maxInFlight: number;
  private nonce = 0;
  private lastOffset = 0;

  constructor(maxInFlight: number) {
    this.maxInFlight = maxInFlight;
  }

  get rules(): WalkRules {
    const { nowMs, maxInFlight } = this;
    return { maxInFlight, maxAttempts: null, maxRetentionMs: 2000, freshAllowed: true, nowMs, logAheadMs: 0 };
  }

  hasArrived(entry: LaneEntry): boolean {
    const { atMs, offset } = this.due;
    return !entry.delayed || entry.dueAtMs < atMs || (entry.dueAtMs === atMs && entry.offset <= offset);
  }

  take(next: Step): void {
    switch (next.kind) {
      case "publish":
        this.publish(next.gap, next.delayMs);
        break;
      case "readTail":
        this.readTail(next.count);
        break;
      case "readLane":
        this.readLane(next.count);
        break;
      case "readDue":
        this.readDue();
        break;
      case "take":
        this.grant(next.count);
        break;
      case "reload":
        this.reload();
        break;
      case "settleDying":
        for (const { offset } of this.lane.exceptions.filter((e) => e.state === "dying")) this.settle(offset);
        break;
      case "drop":
        this.drop(next.which);
        break;
      case "reset":
        this.reset(next.which);
        break;
      case "lease":
        this.lease(next.owner);
        break;
      case "pass":
        this.nowMs += next.ms;
        break;
      default:
        this.settleOne(next.kind, next.which, next.ms);
        break;
    }
  }

  private publish(gap: number, delayMs: number | null): void {
    this.lastOffset += gap;
    const offset = this.lastOffset;
    const dueAtMs = this.nowMs + (delayMs ?? 0);
    this.log.push({ offset, bodyBytes: offset % 7, dueAtMs, delayed: delayMs !== null });
  }

  private readTail(max: number): void {
    for (const entry of this.log.filter(({ offset }) => offset > this.scanOffset).slice(0, max)) {
      const { lane } = this;
      if (this.hasArrived(entry) && !lane.behind && entry.offset > lane.walkedOffset) {
        lane.extendWindow([entry], MAX_WINDOW);
      }
      this.scanOffset = entry.offset;
    }
  }

  private readLane(max: number): void {
    const { lane } = this;
    const after = Math.max(lane.windowThrough, lane.walkedOffset);
    if (!lane.behind || lane.window.length >= MAX_WINDOW || after > this.scanOffset) return;
    const rest = this.log.filter(({ offset }) => offset > after && offset <= this.scanOffset);
    const page = rest.slice(0, max);
    const reachedEnd = page.length === rest.length;
    lane.behind = false;
    lane.changes.state = true;
    const entries = page.filter((entry) => this.hasArrived(entry));
    if (lane.extendWindow(entries, MAX_WINDOW).dropped) return;
    lane.windowThrough = reachedEnd ? this.scanOffset : (page[page.length - 1]?.offset ?? after);
    lane.behind = !reachedEnd;
  }

  private readDue(): void {
    const arriving = this.log.filter((entry) => !this.hasArrived(entry) && entry.dueAtMs <= this.nowMs);
    arriving.sort((a, b) => a.dueAtMs - b.dueAtMs || a.offset - b.offset);
    for (const entry of arriving) {
      if (entry.offset <= this.scanOffset && !this.settled.has(entry.offset))
        this.lane.arrive(entry, MAX_WINDOW);
    }
    this.due = { atMs: Math.max(this.due.atMs, this.nowMs), offset: Number.MAX_SAFE_INTEGER };
  }

  private grant(max: number): void {
    const { lane, nowMs } = this;
    const { grants, expired, deferred } = walk(lane, this.rules, max);
    for (const offset of expired) if (lane.drop(offset)) this.settled.add(offset);
    if (grants.length === 0) return;
    this.nonce += 1;
    const holder = { nonce: `n${this.nonce}`, subscriber: "ann", epoch: 1 };
    const visibleUntilMs = nowMs + 100;
    const fresh = grants.filter((message) => message.fresh);
    for (const { offset, bodyBytes, dueAtMs, attempt, fresh: first } of grants) {
      if (first) continue;
      const reason = lane.exceptionAt(offset)?.reason ?? "";
      lane.except({
        offset,
        bodyBytes,
        dueAtMs,
        state: "inFlight",
        attempt,
        atMs: visibleUntilMs,
        ...holder,
        reason,
      });
    }
    if (fresh.length === 0) return;
    lane.grantRun(
      { ...holder, visibleUntilMs },
      fresh.map(({ offset, bodyBytes, dueAtMs }) => ({ offset, bodyBytes, dueAtMs, delayed: false })),
    );
    for (const entry of deferred) if (entry.offset < lane.walkedOffset) lane.except(arrivedException(entry));
  }

  private settleOne(
    action: "ack" | "nack" | "postpone" | "giveBack" | "reject" | "extend",
    chosen: number,
    afterMs: number,
  ): void {
    const { lane, nowMs } = this;
    const delivered = this.log.filter(({ offset }) => lane.holderOf(offset) !== null);
    const offset = delivered[chosen % Math.max(1, delivered.length)]?.offset;
    const holder = offset === undefined ? null : lane.holderOf(offset);
    if (offset === undefined || !holder) return;
    if (action === "ack") {
      this.settle(offset);
      return;
    }
    const { attempt, nonce, subscriber, epoch, bodyBytes, dueAtMs } = holder;
    const nobody = { offset, bodyBytes, dueAtMs, nonce: "", subscriber: "", epoch: 0, reason: action };
    const atMs = nowMs + afterMs;
    if (action === "nack") lane.except({ ...nobody, state: "backingOff", attempt, atMs });
    if (action === "postpone") lane.except({ ...nobody, state: "postponed", attempt: 0, atMs });
    if (action === "giveBack") lane.except({ ...nobody, state: "returned", attempt: attempt - 1, atMs: 0 });
    if (action === "reject") lane.except({ ...nobody, state: "dying", attempt, atMs: nowMs });
    if (action === "extend") {
      lane.except({ ...nobody, state: "inFlight", attempt, atMs, nonce, subscriber, epoch });
    }
  }

  private settle(offset: number): void {
    if (!this.lane.settle(offset)) throw new Error(`${offset} was unsettled and did not settle`);
    if (this.lane.settle(offset)) throw new Error(`${offset} settled twice`);
    this.settled.add(offset);
  }

  /** An admin call removes a message from the log and from the lane. */
  private drop(chosen: number): void {
    const [entry] = this.log.splice(chosen % Math.max(1, this.log.length), 1);
    if (entry) this.lane.drop(entry.offset);
  }

  private reset(chosen: number): void {
    const offsets = [
      0,
      ...this.log.map(({ offset }) => offset).filter((offset) => offset <= this.scanOffset),
    ];
    const offset = offsets[chosen % offsets.length] as number;
    this.lane.reset(offset, offset < this.scanOffset);
    this.settled.clear();
    for (const entry of this.log) if (entry.offset <= offset) this.settled.add(entry.offset);
  }

  private lease(owner: number | null): void {
    const subscriber = SUBSCRIBERS[owner ?? 0] as string;
    this.lane.setLease(owner === null ? null : { subscriber, epoch: this.nowMs, acquiredAtMs: this.nowMs });
  }

  /** Writes what the lane says has changed, and nothing else. */
  flush(): void {
    const { lane, rows } = this;
    const { changes } = lane;
    lane.changes = { state: false, lease: false, exceptions: new Set() };
    for (const offset of changes.exceptions) {
      const exception = lane.exceptionAt(offset);
      if (exception) rows.exceptions.set(offset, { ...exception });
      else rows.exceptions.delete(offset);
    }
    if (changes.lease) rows.lease = lane.lease;
    if (!changes.state) return;
    const { walkedOffset, hasMore, runs } = lane;
    rows.state = lane.hasUnsettled ? { walkedOffset, hasMore, runs: JSON.stringify(runs) } : null;
  }

  /** The lane as the rows say it; one without rows has everything settled that the scan has passed. */
  stored(): Lane {
    const { state, exceptions, lease } = this.rows;
    const lane = new Lane("p", state?.walkedOffset ?? this.scanOffset);
    lane.behind = state?.hasMore ?? false;
    lane.runs = state ? (JSON.parse(state.runs) as Lane["runs"]) : [];
    lane.exceptions = state ? [...exceptions.values()].sort((a, b) => a.offset - b.offset) : [];
    lane.lease = lease;
    return lane;
  }

  private reload(): void {
    this.flush();
    this.lane = this.stored();
  }
}
