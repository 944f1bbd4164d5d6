import fc from "fast-check";
import { expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import { migrate } from "../../src/durable/migrate.ts";
import type { Entry, NewMessage } from "../../src/log/message-log.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import { ALL, GROUP, group } from "../conformance/samples.ts";
import { NodeSql } from "../sim/node-sql.ts";
import { byDue, LogModel, modelEntryOf, ProgressModel } from "./log-model.ts";

const EVER = Number.MAX_SAFE_INTEGER;
const topic = fc.constantFrom("a", "b");
const KEYS = ["k", "K", "é", "😀", "%"];
const key = fc.constantFrom(...KEYS);
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

/** Few values, so that saves meet: the same key and epoch, the same offset, one more, one less. */
const fence = {
  partitionKey: fc.constantFrom("k", "😀"),
  ahead: fc.constantFrom(0, 0, 0, 0, -1, 1),
  resetEpoch: fc.nat(3),
};
const saved = fc.record({
  ...fence,
  ackedOffset: fc.nat(4),
  unsettled: fc.constantFrom("", "", "1"),
  ackedAbove: fc.constantFrom("", "", "7"),
  due: fc.record({ dueAtMs: fc.nat(1), offset: fc.nat(1) }),
});
const reset = fc.record({ ...fence, offset: fc.nat(4) });

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
const progressStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("checkpoint"), topic, saves: fc.array(saved, { maxLength: 4 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("reset"), topic, reset }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remakeGroup"), topic }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("forget"), topic, keys: fc.option(fc.uniqueArray(key)) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("append"), topic, batch: batchOf(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("purge"), topic, through: place, max: fc.nat(9) }) },
);
type StepOf<A> = A extends fc.Arbitrary<infer S> ? S : never;
type Step = StepOf<typeof step> | StepOf<typeof progressStep>;
type Saved = StepOf<typeof saved>;

function batchOf(maxLength: number) {
  return fc.array(newMessage, { minLength: 1, maxLength });
}

/** The log and its model, side by side. */
class Pair {
  readonly model = new LogModel();
  private readonly progress = new Map(["a", "b"].map((each) => [each, new ProgressModel()]));
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
      case "checkpoint":
        return this.checkpoint(one.topic, one.saves);
      case "reset": {
        const { ahead, ...rest } = one.reset;
        const made = { ...rest, generation: this.progressOf(one.topic).generation + ahead };
        this.progressOf(one.topic).reset(made);
        return this.log.saveReset(one.topic, GROUP, made);
      }
      case "remakeGroup": {
        const generation = ++this.progressOf(one.topic).generation;
        return this.log.saveGroup(one.topic, group({ generation }));
      }
      case "forget":
        this.progressOf(one.topic).forget(one.keys);
        return this.log.deleteProgress(one.topic, GROUP, one.keys);
    }
  }

  private progressOf(topic: string): ProgressModel {
    const found = this.progress.get(topic);
    if (!found) throw new Error(`no group reads ${topic}`);
    return found;
  }

  private async checkpoint(of: string, saves: readonly Saved[]): Promise<void> {
    const model = this.progressOf(of);
    const made = saves.map(({ ahead, ...rest }) => ({ ...rest, generation: model.generation + ahead }));
    for (const one of made) model.save(one);
    await this.log.saveProgress(of, GROUP, made);
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
    expect(outcome.late).toBe(false);
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

  /** What the groups settled agrees with the model, and so do the partitions that hold nothing. */
  async checkGroups(): Promise<void> {
    for (const each of this.progress.keys()) await this.checkProgress(each);
  }

  private async checkProgress(of: string): Promise<void> {
    const model = this.progressOf(of);
    const rows = await this.log.loadProgress(of, GROUP, KEYS);
    expect(rows.sort((a, b) => (a.partitionKey < b.partitionKey ? -1 : 1))).toEqual(model.all());
    for (const generation of [model.generation, model.generation - 1]) {
      const highest = await this.log.highestResetEpoch(of, GROUP, generation);
      expect(highest).toBe(model.highestResetEpoch(generation));
    }
    const holding = new Set(this.model.entries(of).map(({ partitionKey }) => partitionKey));
    const found: string[] = [];
    let afterKey: string | null = null;
    for (let pages = 0; pages === 0 || afterKey !== null; pages++) {
      if (pages > KEYS.length) throw new Error("the pages of partitions do not end");
      const read: { afterKey: string | null; maxPartitions: number } = { afterKey, maxPartitions: 2 };
      const page = await this.log.listEmptyPartitions(of, GROUP, read);
      found.push(...page.emptyKeys);
      afterKey = page.resumeAfterKey;
    }
    const empty = model.all().filter(({ partitionKey }) => !holding.has(partitionKey));
    expect(found.sort()).toEqual(empty.map(({ partitionKey }) => partitionKey));
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
    const middle = entries[Math.floor(entries.length / 2)]?.offset ?? 0;
    expect(await this.log.scanTopic(of, { ...ALL, throughOffset: middle })).toMatchObject({
      entries: entries.filter(({ offset }) => offset <= middle),
      reachedEnd: true,
    });
    for (const [id, partitionKey] of new Map(listed.map((entry) => [entry.id, entry.partitionKey]))) {
      const namesakes = await this.log.findEntries(of, id, partitionKey);
      expect(namesakes.sort((a, b) => a.offset - b.offset)).toEqual(
        listed.filter((entry) => entry.id === id && entry.partitionKey === partitionKey),
      );
    }
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
/** Some 30 ms a run, on a busy machine several times that. */
const TIMEOUT_MS = 20_000 + RUNS * 200;

// fast-check prints the seed and the shortest failing sequence.
async function holdsAfterEach(
  steps: fc.Arbitrary<Step[]>,
  check: (pair: Pair) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const pair = new Pair();
      try {
        await pair.start();
        for (const one of sequence) {
          await pair.run(one);
          await check(pair);
        }
      } finally {
        pair.close();
      }
    }),
    { numRuns: RUNS },
  );
}

test(
  "G8, G9, G12: any sequence of operations leaves the log as a simple list would be",
  () => holdsAfterEach(fc.array(step, { maxLength: 25 }), (pair) => pair.check()),
  TIMEOUT_MS,
);

test(
  "any sequence of checkpoints, resets and new groups leaves progress fenced",
  () => holdsAfterEach(fc.array(progressStep, { maxLength: 25, size: "max" }), (pair) => pair.checkGroups()),
  TIMEOUT_MS,
);
