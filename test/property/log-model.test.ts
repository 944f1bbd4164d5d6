import fc from "fast-check";
import { expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import { migrate } from "../../src/durable/migrate.ts";
import type { Entry, NewMessage } from "../../src/log/message-log.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { ALL, GROUP, group } from "../conformance/samples.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { byDue, LogModel, modelEntryOf } from "./log-model.ts";

const EVER = Number.MAX_SAFE_INTEGER;
const topic = fc.constantFrom("a", "b");
const key = fc.constantFrom("k", "K", "é", "😀", "%");
const place = fc.nat(30);

const newMessage: fc.Arbitrary<NewMessage> = fc
  .record({
    id: fc.constantFrom("1", "2", "3", "4", "5", "6", "7", "8"),
    partitionKey: key,
    body: fc.oneof(fc.json(), fc.uint8Array({ maxLength: 20 })),
    headers: fc.constantFrom("", '{"a":"b"}'),
    delayMs: fc.constantFrom(0, 0, 0, 5, 1000),
  })
  .map((made) => ({ ...made, contentType: typeof made.body === "string" ? null : "x/y" }));

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("append"), topic, batch: batchOf(40) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rolledBack"), topic, batch: batchOf(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete"), topic, from: place, to: place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("purge"), topic, through: place, max: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("bury"), topic, places: fc.uniqueArray(place) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("redrive"), topic, places: fc.uniqueArray(place) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("clock"), byMs: fc.integer({ min: -9999, max: 9999 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reopen") }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function batchOf(maxLength: number) {
  return fc.array(newMessage, { minLength: 1, maxLength });
}

/** The log and its model, side by side. */
class Pair {
  readonly model = new LogModel();
  private nowMs = Date.UTC(2026, 0, 1);
  private readonly clock = { nowMs: () => this.nowMs };
  private readonly sql = new NodeSql();
  private log: ObjectLog;

  constructor() {
    migrate(this.sql, this.clock, OBJECT_SCHEMA);
    this.log = new ObjectLog("acme", this.sql, this.clock);
  }

  async run(one: Step): Promise<void> {
    switch (one.do) {
      case "append":
        return this.append(one.topic, one.batch);
      case "rolledBack":
        return this.rolledBack(one.topic, one.batch);
      case "delete":
        return this.delete(one.topic, one.from, one.to);
      case "purge":
        return this.purge(one.topic, one.through, one.max + 1);
      case "bury":
        return this.bury(one.topic, one.places);
      case "redrive":
        return this.redrive(one.topic, one.places);
      case "clock":
        this.nowMs += one.byMs;
        return;
      case "reopen":
        this.log = new ObjectLog("acme", this.sql, this.clock);
        return;
    }
  }

  async start(): Promise<void> {
    for (const each of ["a", "b"]) await this.log.saveGroup(each, group());
  }

  private async append(into: string, batch: readonly NewMessage[]): Promise<void> {
    const duplicates = this.model.duplicates(into, batch);
    const tail = this.model.tail(into);
    const outcome = await this.log.append(into, batch);
    expect(outcome.results.map(({ duplicate }) => duplicate)).toEqual(duplicates);
    const fresh = batch.filter((_, at) => !duplicates[at]);
    const added = (await this.log.scanTopic(into, { afterOffset: tail, maxEntries: 1000 })).entries;
    expect(added).toHaveLength(fresh.length);
    const [lowest, highest] = [added[0]?.offset, added.at(-1)?.offset];
    expect(outcome.stored).toEqual(
      fresh.length === 0 ? null : { lowestOffset: lowest, highestOffset: highest },
    );
    for (const [at, { id, partitionKey, body, delayMs }] of fresh.entries()) {
      const offset = added[at]?.offset ?? 0;
      this.model.store(into, { offset, id, partitionKey, body, delayMs, origin: "", targetGroup: null });
    }
  }

  private rolledBack(into: string, batch: readonly NewMessage[]): void {
    const attempt = () =>
      this.sql.transaction(() => {
        this.log.appendBatch(into, batch);
        throw new Error("rolled back");
      });
    expect(attempt).toThrow("rolled back");
  }

  private offsetAt(of: string, at: number): number {
    const entries = this.model.entries(of);
    return entries[Math.min(at, entries.length - 1)]?.offset ?? 1;
  }

  private async delete(from: string, first: number, last: number): Promise<void> {
    const [low, high] = [
      this.offsetAt(from, Math.min(first, last)),
      this.offsetAt(from, Math.max(first, last)),
    ];
    const deleted = this.model.remove(from, ({ offset }) => offset >= low && offset <= high);
    expect(await this.log.deleteRanges(from, [{ first: low, last: high }])).toEqual({ deleted });
  }

  private async purge(from: string, through: number, maxEntries: number): Promise<void> {
    const throughOffset = this.offsetAt(from, through);
    const deleted = this.model.remove(from, ({ offset }, at) => offset <= throughOffset && at < maxEntries);
    expect(await this.log.purge(from, { throughOffset, maxEntries })).toEqual({ deleted });
  }

  private async bury(from: string, places: readonly number[]): Promise<void> {
    const dead = deadLetterTopicOf(from);
    const picked = places.flatMap((at) => this.model.entries(from)[at] ?? []);
    const fresh = picked.filter(
      (one) => !this.model.isStored(dead, one.id, one.partitionKey, `d${one.offset}`),
    );
    const tail = this.model.tail(dead);
    const copies = picked.map(({ offset }) => {
      return { offset, group: GROUP, attempts: 2, failedAtMs: 7, reason: "'\"\n", origin: `d${offset}` };
    });
    expect(await this.log.copyToDeadLetters(from, copies)).toEqual({ copied: fresh.length });
    const added = (await this.log.scanTopic(dead, { afterOffset: tail, maxEntries: 1000 })).entries;
    expect(added).toHaveLength(fresh.length);
    for (const [at, one] of fresh.entries()) {
      const offset = added[at]?.offset ?? 0;
      const origin = `d${one.offset}`;
      this.model.store(dead, { ...one, offset, origin, delayMs: 0, targetGroup: null });
    }
  }

  private async redrive(to: string, places: readonly number[]): Promise<void> {
    const dead = deadLetterTopicOf(to);
    const picked = places
      .flatMap((at) => this.model.entries(dead)[at] ?? [])
      .sort((a, b) => a.offset - b.offset);
    const tail = this.model.tail(to);
    const offsets = picked.map(({ offset }) => offset);
    expect(await this.log.redrive(to, [...offsets, 3])).toEqual({ redriven: picked.length });
    this.model.remove(dead, ({ offset }) => offsets.includes(offset));
    const added = (await this.log.scanTopic(to, { afterOffset: tail, maxEntries: 1000 })).entries;
    expect(added).toHaveLength(picked.length);
    for (const [at, one] of picked.entries()) {
      const offset = added[at]?.offset ?? 0;
      this.model.store(to, { ...one, offset, origin: `redrive:${one.offset}`, targetGroup: GROUP });
    }
  }

  /** Every read agrees with the model. */
  async check(): Promise<void> {
    for (const each of ["a", "a_dlq", "b", "b_dlq"]) await this.checkTopic(each);
  }

  private async checkTopic(of: string): Promise<void> {
    const expected = this.model.entries(of);
    const listed = await this.log.listMessages(of, ALL);
    const found = await this.log.readMessages(
      of,
      listed.map(({ offset }) => offset),
    );
    const bodies = new Map(found.map(({ offset, body }) => [offset, body]));
    expect(listed.map((entry) => modelEntryOf(entry, bodies.get(entry.offset) ?? ""))).toEqual(expected);
    expect((await this.log.tail(of)).offset).toBeGreaterThanOrEqual(this.model.tail(of));

    const { entries } = await this.log.scanTopic(of, ALL);
    const keys = [...new Set(entries.map(({ partitionKey }) => partitionKey))];
    const tails = await this.log.listPartitions(of, { afterKey: null, maxPartitions: 100 });
    expect(new Map(tails.map((tail) => [tail.partitionKey, tail.latestOffset]))).toEqual(
      new Map(entries.map((entry) => [entry.partitionKey, entry.offset])),
    );
    const pages = await this.log.scanPartitions(
      of,
      keys.map((partitionKey) => ({ partitionKey, afterOffset: 0, throughOffset: EVER, maxEntries: 1000 })),
    );
    const ofKey = (partitionKey: string) => entries.filter((entry) => entry.partitionKey === partitionKey);
    expect(pages.map((page) => page.entries)).toEqual(keys.map(ofKey));
    expect(await this.dueInPages(of)).toEqual(entries.filter(({ delayed }) => delayed).sort(byDue));
    const count = { afterOffset: 0, maxCount: 1000, forGroup: "other" };
    expect(await this.log.countEntries(of, count)).toBe(
      expected.filter(({ targetGroup }) => targetGroup === null).length,
    );
  }

  private async dueInPages(of: string): Promise<Entry[]> {
    const seen: Entry[] = [];
    for (let pages = 0; pages < 1000; pages++) {
      const last = seen.at(-1);
      const after = last ? { dueAtMs: last.dueAtMs, offset: last.offset } : { dueAtMs: 0, offset: 0 };
      const page = await this.log.scanDue(of, { after, throughDueMs: EVER, maxEntries: 3 });
      seen.push(...page.entries);
      if (page.reachedEnd) return seen;
    }
    throw new Error("the pages of due entries do not end");
  }

  close(): void {
    this.sql.close();
  }
}

const RUNS = Number(process.env.FAIRLANE_LOG_RUNS ?? 150);

// fast-check prints the seed and the shortest failing sequence.
test("G8, G9, G12: any sequence of operations leaves the log as a simple list would be", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const pair = new Pair();
      try {
        await pair.start();
        for (const one of steps) {
          await pair.run(one);
          await pair.check();
        }
      } finally {
        pair.close();
      }
    }),
    { numRuns: RUNS },
  );
});
