import { expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { FairlaneError } from "../../src/core/failure.ts";
import { MAX_BATCH_MESSAGES, MAX_TOPICS_PER_TENANT } from "../../src/core/limits.ts";
import type { AppendOutcome, MessageLog } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { ALL, at, clockOf, idsOf, message, messages, offsetsOf, publish, TOPIC } from "./samples.ts";

const DUPLICATE = { duplicate: true };
const STORED = { duplicate: false };
const OFFSET_EPOCH_MS = Date.UTC(2020, 0, 1);

/**
 * Dispatch is told of what a publish stored. A log with a commit horizon may also tell of duplicates that it
 * found (at `foundOffsets`), since they may be as young.
 */
function expectStored(
  log: MessageLog,
  { stored, late }: AppendOutcome,
  offsets: readonly number[],
  foundOffsets: readonly number[] = [],
): void {
  if (log.commitHorizonMs === 0) {
    const whole = { lowestOffset: offsets[0], highestOffset: offsets.at(-1) };
    expect({ stored, late }).toEqual({ stored: offsets.length === 0 ? null : whole, late: false });
    return;
  }
  expect(late).toBeTypeOf("boolean");
  if (stored === null) {
    expect(offsets).toEqual([]);
    return;
  }
  const { lowestOffset, highestOffset } = stored;
  expect(lowestOffset).toBeLessThanOrEqual(offsets[0] ?? highestOffset);
  expect(highestOffset).toBeGreaterThanOrEqual(offsets.at(-1) ?? lowestOffset);
  expect([...offsets, ...foundOffsets]).toEqual(expect.arrayContaining([lowestOffset, highestOffset]));
}

/** `t0` and so on, several at once: where a call crosses a network, a thousand in turn take long. */
async function makeTopics(log: MessageLog, count: number): Promise<void> {
  const AT_ONCE = 20;
  for (let made = 0; made < count; made += AT_ONCE) {
    const names = Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, place) => `t${made + place}`);
    await Promise.all(names.map((name) => log.saveTopic(name, { retentionMs: 1000, maxRetentionMs: 1000 })));
  }
}

export function appendCases(setup: MakeLog): void {
  test("G1: stores a batch in order and says where it lies", async () => {
    const { log } = await setup();
    const outcome = await log.append(TOPIC, messages(7));
    const offsets = await offsetsOf(log);
    expect(outcome.results).toEqual(Array(7).fill(STORED));
    expect(offsets).toHaveLength(7);
    expectStored(log, outcome, offsets);
    expect(await idsOf(log)).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
  });

  test.each([1, 2, 31, 32, 33, 63, MAX_BATCH_MESSAGES])("stores a batch of %i whole", async (count) => {
    const { log } = await setup();
    await log.append(TOPIC, messages(count));
    expect(await idsOf(log)).toEqual(messages(count).map(({ id }) => id));
  });

  test.each([1, 15, 16, 17, MAX_BATCH_MESSAGES])("stores %i messages with every field", async (count) => {
    const { log } = await setup();
    const batch = Array.from({ length: count }, (_, place) =>
      message(`m${place}`, {
        partitionKey: `k${place % 3}`,
        headers: `{"n":"${place}"}`,
        contentType: place % 2 === 0 ? null : `text/x-${place}`,
        body: place % 2 === 0 ? `[${place}]` : new Uint8Array([place]),
        delayMs: place % 5,
      }),
    );
    await log.append(TOPIC, batch);
    const found = await log.readMessages(TOPIC, await offsetsOf(log));
    const back = found
      .sort((a, b) => a.offset - b.offset)
      .map(({ id, partitionKey, headers, contentType, body, dueAtMs, publishedAtMs }) => {
        return { id, partitionKey, headers, contentType, body, delayMs: dueAtMs - publishedAtMs };
      });
    expect(back).toEqual(batch);
  });

  test("an empty batch stores nothing", async () => {
    const { log } = await setup();
    expect(await log.append(TOPIC, [])).toEqual({ results: [], stored: null, late: false });
    expect(await offsetsOf(log)).toEqual([]);
  });

  test("a batch above the limit is refused whole", async () => {
    const { log } = await setup();
    await expect(log.append(TOPIC, messages(MAX_BATCH_MESSAGES + 1))).rejects.toThrow(AssertionFailure);
    expect(await offsetsOf(log)).toEqual([]);
  });

  test("G8: the same ID and key again is a duplicate and the first one wins", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a", { body: "1" })]);
    const offsets = await offsetsOf(log);
    const again = await log.append(TOPIC, [message("a", { body: "2", headers: '{"h":"1"}' })]);
    expect(again.results).toEqual([DUPLICATE]);
    expectStored(log, again, [], offsets);
    expect(await offsetsOf(log)).toEqual(offsets);
    expect(at(await log.readMessages(TOPIC, offsets), 0).body).toBe("1");
  });

  test("G8: the second of two equal in one batch is the duplicate", async () => {
    const { log } = await setup();
    const batch = [message("a", { body: "1" }), message("b"), message("a", { body: "2" })];
    const outcome = await log.append(TOPIC, batch);
    const offsets = await offsetsOf(log);
    expect(outcome.results).toEqual([STORED, STORED, DUPLICATE]);
    expect(await idsOf(log)).toEqual(["a", "b"]);
    expect(at(await log.readMessages(TOPIC, offsets.slice(0, 1)), 0).body).toBe("1");
    expectStored(log, outcome, offsets);
  });

  test("G8: a mixed batch stores what is new, in order, and says which is not", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("m1"), message("m50"), message("m99")]);
    const before = await offsetsOf(log);
    const outcome = await log.append(TOPIC, messages(100));
    const fresh = (await offsetsOf(log)).slice(before.length);
    expect(outcome.results.flatMap(({ duplicate }, place) => (duplicate ? [place] : []))).toEqual([
      1, 50, 99,
    ]);
    expect(fresh).toHaveLength(97);
    expectStored(log, outcome, fresh, before);
    expect((await idsOf(log)).slice(3)).toEqual(
      messages(100).flatMap(({ id }) => (["m1", "m50", "m99"].includes(id) ? [] : [id])),
    );
  });

  test("G8: an ID is known per partition key and topic, byte for byte", async () => {
    const { log } = await setup();
    const outcome = await log.append(TOPIC, [
      message("a", { partitionKey: "x" }),
      message("a", { partitionKey: "X" }),
      message("A", { partitionKey: "x" }),
      message("\u00e9", { partitionKey: "x" }),
      message("e\u0301", { partitionKey: "x" }),
      message("e", { partitionKey: "x" }),
    ]);
    expect(outcome.results).toEqual(Array(6).fill(STORED));
    expect((await log.append("invoices", [message("a", { partitionKey: "x" })])).results).toEqual([STORED]);
  });

  test("G8: after an unknown outcome the same batch may be sent again by another process", async () => {
    const { log, reopen } = await setup();
    const offsets = await publish(log, messages(40));
    const again = await (await reopen()).append(TOPIC, messages(40));
    expect(again.results).toEqual(Array(40).fill(DUPLICATE));
    expectStored(log, again, [], offsets);
    expect(await offsetsOf(log)).toEqual(offsets);
  });

  test("G8: the same batch published several times at once is stored once", async () => {
    const { log } = await setup();
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => log.append(TOPIC, messages(10))));
    const results = outcomes.flatMap((outcome) => outcome.results);
    expect(results.filter(({ duplicate }) => !duplicate)).toHaveLength(10);
    expect(await idsOf(log)).toEqual(messages(10).map(({ id }) => id));
  });

  test("G9: batches published at once have offsets of their own, each batch in its order", async () => {
    const { log } = await setup();
    const batches = Array.from({ length: 8 }, (_, batch) =>
      Array.from({ length: 10 }, (_, place) => message(`${batch}-${place}`, { partitionKey: `k${batch}` })),
    );
    await Promise.all(batches.map((batch) => log.append(TOPIC, batch)));
    expect(new Set(await offsetsOf(log)).size).toBe(80);
    for (const [batch, published] of batches.entries()) {
      const listed = await log.listMessages(TOPIC, { ...ALL, partitionKey: `k${batch}` });
      expect(listed.map(({ id }) => id)).toEqual(published.map(({ id }) => id));
    }
  });

  test("G9: an offset is the log's clock in microseconds since 2020 and says when it was published", async () => {
    const { log } = await setup();
    const before = await clockOf(log);
    await log.append(TOPIC, [message("a"), message("b", { delayMs: 60_000 })]);
    const after = await clockOf(log);
    const listed = await log.listMessages(TOPIC, ALL);
    const [a, b] = [at(listed, 0), at(listed, 1)];
    expect(a.offset).toBeGreaterThanOrEqual((before - OFFSET_EPOCH_MS) * 1000);
    expect(a.offset).toBeLessThan((after + 1 - OFFSET_EPOCH_MS) * 1000);
    expect(a.publishedAtMs).toBeGreaterThanOrEqual(before);
    expect(a.publishedAtMs).toBeLessThanOrEqual(after);
    expect([a.dueAtMs, b.publishedAtMs, b.dueAtMs]).toEqual([
      a.publishedAtMs,
      a.publishedAtMs,
      a.publishedAtMs + 60_000,
    ]);
  });

  test("the log says how late an entry may appear", async () => {
    const { log } = await setup();
    expect(Number.isSafeInteger(log.commitHorizonMs)).toBe(true);
    expect(log.commitHorizonMs).toBeGreaterThanOrEqual(0);
  });

  test("G9: offsets grow from batch to batch, across a restart too", async () => {
    const { log, reopen } = await setup();
    await log.append(TOPIC, messages(3));
    await log.append(TOPIC, [message("x")]);
    await (await reopen()).append(TOPIC, [message("y")]);
    expect(await idsOf(log)).toEqual(["m0", "m1", "m2", "x", "y"]);
    expect((await offsetsOf(log)).every(Number.isSafeInteger)).toBe(true);
  });

  test("the tail is the highest offset there is", async () => {
    const { log } = await setup();
    expect((await log.tail(TOPIC)).offset).toBe(0);
    const offsets = await publish(log, messages(5));
    expect((await log.tail(TOPIC)).offset).toBe(offsets[4]);
  });

  test("a first publish makes the topic with the default settings", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a")]);
    const settings = { retentionMs: 3_600_000, maxRetentionMs: 604_800_000 };
    expect(await log.loadTopics()).toEqual([{ topic: TOPIC, settings }]);
  });

  test("the topic above the limit is refused with a reason; known ones go on", async () => {
    const { log } = await setup();
    await makeTopics(log, MAX_TOPICS_PER_TENANT);
    await log.append("t7", [message("a")]);
    const refused = log.append("one-more", [message("a")]);
    await expect(refused).rejects.toThrow(/1000 topics/);
    await expect(refused).rejects.toMatchObject({ failure: { code: "rate-limited" } });
    await expect(log.saveTopic("one-more", { retentionMs: 1000, maxRetentionMs: 1000 })).rejects.toThrow(
      FairlaneError,
    );
    expect(await log.loadTopics()).toHaveLength(MAX_TOPICS_PER_TENANT);
    expect((await log.append("t7", [message("b")])).results).toEqual([STORED]);
  });
}
