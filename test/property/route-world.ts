import fc from "fast-check";
import type { Lane } from "../../src/core/lane.ts";
import { DEFAULT_GROUP_SETTINGS, defaultTopicSettings } from "../../src/core/settings.ts";
import { walk } from "../../src/core/walk.ts";
import { AppliedRead, type LaneRead } from "../../src/durable/applied-read.ts";
import { grant } from "../../src/durable/grant.ts";
import type { GroupState } from "../../src/durable/group-state.ts";
import { releaseIdleLeases } from "../../src/durable/idle-leases.ts";
import { loadGroup } from "../../src/durable/load-group.ts";
import { LogClock } from "../../src/durable/log-clock.ts";
import { migrate } from "../../src/durable/migrate.ts";
import { beginRoute, endRoute } from "../../src/durable/route-life.ts";
import { pendingRead, sortReads } from "../../src/durable/sort-messages.ts";
import { Tables } from "../../src/durable/tables/tables.ts";
import type { Entry, PartitionPage, PartitionRead } from "../../src/log/message-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { NodeSql } from "../sim/node-sql.ts";

/** Names that the header has; filters take some of them, and over time the same ones. */
const LETTERS = ["a", "b", "c", "d"];
const KEYS = ["p", "q"];
const NOTHING_PAST = { resetEpoch: 0, byKey: new Map() };

export type Step =
  | { kind: "publish"; key: number; letter: number }
  | { kind: "begin"; letters: number[] }
  | { kind: "end"; which: number; giveBack: boolean }
  | { kind: "tail" | "lane" | "pending" | "take"; which: number; count: number }
  | { kind: "sort" | "reload" | "pass" }
  | { kind: "ack" | "nack" | "postpone"; which: number };

const which = fc.nat(20);
const count = fc.integer({ min: 1, max: 10 });

export const step = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({ kind: fc.constant("publish" as const), key: fc.nat(1), letter: fc.nat(3) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("begin" as const),
      letters: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("end" as const), which, giveBack: fc.boolean() }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom("tail" as const, "lane" as const, "pending" as const, "take" as const),
      which,
      count,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("sort" as const, "reload" as const, "pass" as const) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("ack" as const, "ack" as const, "nack" as const, "postpone" as const),
      which,
    }),
  },
);

interface Message extends Entry {
  letter: string;
}

/** One delivery as a subscriber would know it. */
interface Delivery {
  message: Message;
  routeId: number;
  nonce: string;
}

/**
 * A group with its routes, read and delivered from as the object does it, without the object; beside it what a list says:
 * the messages, whose they are, and which of them are settled.
 */
export class RouteWorld {
  readonly log: Message[] = [];
  readonly settled = new Set<number>();
  readonly delivered = new Set<number>();
  /** What was broken, for the property to tell. */
  broken: string | null = null;
  private readonly sql = new NodeSql();
  private readonly tables: Tables;
  private readonly routes = new Map<number, string[]>();
  private out: Delivery[] = [];
  private nowMs = 1_000_000;
  private nextOffset = 10;
  private grants = 0;
  group: GroupState;

  constructor() {
    migrate(this.sql, { nowMs: () => this.nowMs }, OBJECT_SCHEMA);
    this.tables = new Tables(this.sql);
    this.group = this.load();
  }

  close(): void {
    this.sql.close();
  }

  take(next: Step): void {
    switch (next.kind) {
      case "publish":
        this.publish(next);
        break;
      case "begin":
        this.begin(next.letters.map((at) => LETTERS[at] as string));
        break;
      case "end":
        this.end(next.which, next.giveBack);
        break;
      case "tail":
        this.readTail(next.count);
        break;
      case "lane":
        this.readLane(next.which, next.count);
        break;
      case "pending":
        this.readPending(next.which, next.count);
        break;
      case "take":
        this.deliver(next.which, next.count);
        break;
      case "sort":
        this.sort();
        break;
      case "reload":
        this.group = this.load();
        break;
      case "pass":
        this.pass();
        break;
      case "ack":
        for (let at = 0; at < 4; at += 1) this.settle("ack", next.which);
        break;
      case "nack":
      case "postpone":
        this.settle(next.kind, next.which);
        break;
    }
  }

  /** Everything ends well: routes end, all is read and acknowledged. */
  finish(): void {
    for (const routeId of [...this.routes.keys()]) this.endNow(routeId, false);
    for (let round = 0; round < 4 * this.log.length + 8; round += 1) {
      this.take({ kind: "pass" });
      this.readTail(50);
      this.sort();
      for (let at = 0; at < 4; at += 1) {
        this.readPending(at, 50);
        this.readLane(at, 50);
        this.deliver(at, 50);
      }
      while (this.out.length > 0) this.settle("ack", 0);
    }
  }

  /** Deliveries lapse, backoffs end, and lanes with nothing unsettled lose their leases. */
  private pass(): void {
    this.nowMs += 40_000;
    this.group.placeAll(this.nowMs);
    this.change(() => releaseIdleLeases(this.group, this.nowMs));
  }

  private publish({ key, letter }: { key: number; letter: number }): void {
    const name = LETTERS[letter] as string;
    this.nextOffset += 1 + (this.log.length % 3);
    this.log.push({
      offset: this.nextOffset,
      partitionKey: KEYS[key] as string,
      dueAtMs: this.nowMs,
      delayed: false,
      targetGroup: null,
      bodyBytes: 1,
      headers: JSON.stringify({ "x-dev": name }),
      letter: name,
    });
  }

  private begin(letters: string[]): void {
    const free = letters.filter((letter) => ![...this.routes.values()].flat().includes(letter));
    if (free.length === 0) return;
    this.change(() => {
      const filter = { header: "x-dev", in: free };
      const route = beginRoute(
        this.group,
        { route: `r${this.grants}-${free[0]}`, filter, ttlMs: 1e9 },
        this.nowMs,
      );
      this.routes.set(route.routeId, free);
    });
  }

  private end(at: number, giveBack: boolean): void {
    const routeIds = [...this.routes.keys()];
    const routeId = routeIds[at % Math.max(1, routeIds.length)];
    if (routeId !== undefined) this.endNow(routeId, giveBack);
  }

  private endNow(routeId: number, giveBack: boolean): void {
    this.change(() => endRoute(this.group, routeId, { giveBack }, this.nowMs));
    this.routes.delete(routeId);
    if (giveBack) this.out = this.out.filter((one) => one.routeId !== routeId);
  }

  private readTail(maxEntries: number): void {
    const { scanOffset } = this.group.progress;
    const above = this.log.filter(({ offset }) => offset > scanOffset);
    const entries = above.slice(0, maxEntries);
    const reachedEnd = entries.length === above.length;
    this.apply((read) => read.tail({ entries, afterOffset: scanOffset, reachedEnd, logNowMs: this.nowMs }));
  }

  private readLane(at: number, maxEntries: number): void {
    const { scanOffset } = this.group.progress;
    const behind = [...this.group.lanes.lanes()].filter((lane) => lane.behind && lane.pending.length === 0);
    const lane = behind[at % Math.max(1, behind.length)];
    if (!lane) return;
    const afterOffset = Math.max(lane.windowThrough, lane.walkedOffset);
    if (afterOffset > scanOffset) return;
    const { partitionKey, routeId } = lane;
    this.readPage({
      kind: "window",
      routeId,
      partitionKey,
      afterOffset,
      throughOffset: scanOffset,
      maxEntries,
    });
  }

  private readPending(at: number, maxEntries: number): void {
    const lanes = [...this.group.pendingLanes];
    const lane = lanes[at % Math.max(1, lanes.length)];
    if (lane) this.readPendingOf(lane, maxEntries);
  }

  private readPendingOf(lane: Lane, maxEntries: number): void {
    const read = pendingRead(this.group, lane);
    if (read) this.readPage({ ...read, routeId: lane.routeId, kind: "pending", maxEntries });
  }

  private readPage(read: LaneRead): void {
    this.apply((applied) => applied.lanes([read], [this.pageOf(read)]));
  }

  private sort(): void {
    const reads = sortReads(this.group, this.nowMs);
    this.apply((applied) =>
      applied.sorts(
        reads,
        reads.map((read) => this.pageOf(read)),
      ),
    );
  }

  private pageOf({ partitionKey, afterOffset, throughOffset, maxEntries }: PartitionRead): PartitionPage {
    const found = this.log.filter(
      (one) => one.partitionKey === partitionKey && one.offset > afterOffset && one.offset <= throughOffset,
    );
    const entries = found.slice(0, maxEntries);
    return { entries, reachedEnd: entries.length === found.length };
  }

  private deliver(at: number, count: number): void {
    const lanes = [...this.group.lanes.lanes()];
    const lane = lanes[at % Math.max(1, lanes.length)];
    if (!lane) return;
    // As a receive does: what began as another party's comes first.
    this.sort();
    const rules = this.group.activeRules(this.nowMs, lane.routeId);
    if (walk(lane, rules, count).grants.length === 0) return;
    this.grants += 1;
    const nonce = `n${this.grants}`;
    const terms = {
      subscriber: `of-${lane.routeId}`,
      nonce,
      visibleUntilMs: this.nowMs + 30_000,
      nowMs: this.nowMs,
    };
    const granted = this.change(() => grant(this.group, [{ lane, count }], terms));
    for (const { offset } of granted) this.noteGranted(offset, lane.routeId, nonce);
  }

  private noteGranted(offset: number, routeId: number, nonce: string): void {
    const message = this.log.find((one) => one.offset === offset);
    if (!message) throw new Error(`offset ${offset} was never published`);
    if (this.ownerOf(message) !== routeId) this.broken ??= `${offset} (${message.letter}) went to ${routeId}`;
    if (this.settled.has(offset)) this.broken ??= `${offset} came after it was settled`;
    const before = this.log.find(
      (one) =>
        one.partitionKey === message.partitionKey &&
        one.offset < offset &&
        this.ownerOf(one) === routeId &&
        !this.delivered.has(one.offset),
    );
    if (before && !this.delivered.has(offset)) this.broken ??= `${offset} came first before ${before.offset}`;
    this.delivered.add(offset);
    this.out = this.out.filter((one) => one.message !== message);
    this.out.push({ message, routeId, nonce });
  }

  private ownerOf({ letter }: Message): number {
    for (const [routeId, letters] of this.routes) if (letters.includes(letter)) return routeId;
    return 0;
  }

  private settle(action: "ack" | "nack" | "postpone", at: number): void {
    const [one] = this.out.splice(at % Math.max(1, this.out.length), 1);
    if (!one) return;
    const { partitionKey, offset } = one.message;
    const lane = this.group.lanes.holding(partitionKey, offset);
    const holder = lane?.holderOf(offset);
    if (!lane || holder?.nonce !== one.nonce) {
      this.broken ??= `the receipt of ${offset} does not work`;
      return;
    }
    this.change(() => {
      const held = lane.heldAt(offset);
      if (action === "ack" || !held) lane.settle(offset);
      else {
        const state = action === "nack" ? "backingOff" : "postponed";
        lane.except({ ...held, state, atMs: this.nowMs + 10_000, nonce: "", subscriber: "", epoch: 0 });
      }
      this.group.touch(lane, this.nowMs);
    });
    if (action === "ack") this.settled.add(offset);
  }

  private apply(act: (read: AppliedRead) => void): void {
    this.change(() => {
      const read = new AppliedRead(this.group, NOTHING_PAST, this.nowMs);
      act(read);
      read.finish();
    });
  }

  private change<T>(act: () => T): T {
    return this.sql.transaction(() => {
      const value = act();
      this.group.flush(this.tables);
      return value;
    });
  }

  private load(): GroupState {
    const settings = { ...DEFAULT_GROUP_SETTINGS, maxInFlightPerPartition: 50, leaseDurationMs: 1000 };
    const record = {
      ...{ group: "g", generation: 1, settings, createdBy: "admin" as const },
      ...{ startOffset: 0, deletedAtMs: null },
    };
    const log = { clock: new LogClock({ commitHorizonMs: 0 }), isOutside: false };
    const key = { tenant: "acme", topic: "t", group: "g" };
    return loadGroup(this.tables, key, record, defaultTopicSettings("t"), log, this.nowMs);
  }
}
