import { expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { FairlaneError } from "../../src/core/failure.ts";
import { MAX_BATCH_MESSAGES, MAX_TOPICS_PER_TENANT } from "../../src/core/limits.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, idsOf, message, messages, offsetsOf, TOPIC } from "./samples.ts";

const DUPLICATE = { duplicate: true };
const STORED = { duplicate: false };

export function appendCases(setup: MakeLog): void {
  test("G1: stores a batch in order and says where it lies", async () => {
    const { log } = await setup();
    const outcome = await log.append(TOPIC, messages(7));
    const offsets = await offsetsOf(log);
    expect(outcome.results).toEqual(Array(7).fill(STORED));
    expect(outcome.stored).toEqual({ lowestOffset: offsets[0], highestOffset: offsets[6] });
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
    expect(await log.append(TOPIC, [])).toEqual({ results: [], stored: null });
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
    expect(again).toEqual({ results: [DUPLICATE], stored: null });
    expect(await offsetsOf(log)).toEqual(offsets);
    expect(at(await log.readMessages(TOPIC, offsets), 0).body).toBe("1");
  });

  test("G8: the second of two equal in one batch is the duplicate", async () => {
    const { log } = await setup();
    const batch = [message("a", { body: "1" }), message("b"), message("a", { body: "2" })];
    const outcome = await log.append(TOPIC, batch);
    expect(outcome.results).toEqual([STORED, STORED, DUPLICATE]);
    expect(await idsOf(log)).toEqual(["a", "b"]);
    expect(at(await log.findMessages(TOPIC, "a", "k"), 0).body).toBe("1");
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
    expect(outcome.stored).toEqual({ lowestOffset: fresh[0], highestOffset: fresh.at(-1) });
    expect(fresh).toHaveLength(97);
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
    await log.append(TOPIC, messages(40));
    const again = await (await reopen()).append(TOPIC, messages(40));
    expect(again).toEqual({ results: Array(40).fill(DUPLICATE), stored: null });
    expect(await offsetsOf(log)).toHaveLength(40);
  });

  test("G9: offsets grow from batch to batch, across a restart too", async () => {
    const { log, reopen } = await setup();
    await log.append(TOPIC, messages(3));
    await log.append(TOPIC, [message("x")]);
    await (await reopen()).append(TOPIC, [message("y")]);
    expect(await idsOf(log)).toEqual(["m0", "m1", "m2", "x", "y"]);
    expect((await offsetsOf(log)).every(Number.isSafeInteger)).toBe(true);
  });

  test("G9: offsets grow when the clock steps back", async (context) => {
    const { log, stepClock, reopen } = await setup();
    if (!stepClock) return context.skip("the log's clock cannot be moved");
    await log.append(TOPIC, [message("a")]);
    stepClock(-3_600_000);
    await log.append(TOPIC, [message("b")]);
    stepClock(-3_600_000);
    await (await reopen()).append(TOPIC, [message("c")]);
    expect(await idsOf(log)).toEqual(["a", "b", "c"]);
  });

  test("the tail is the highest offset given", async () => {
    const { log } = await setup();
    expect((await log.tail(TOPIC)).offset).toBe(0);
    const { stored } = await log.append(TOPIC, messages(5));
    expect((await log.tail(TOPIC)).offset).toBe(stored?.highestOffset);
  });

  test("a first publish makes the topic with the default settings", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a")]);
    const settings = { retentionMs: 3_600_000, maxRetentionMs: 604_800_000 };
    expect(await log.loadTopics()).toEqual([{ topic: TOPIC, settings }]);
  });

  test("the topic above the limit is refused with a reason; known ones go on", async () => {
    const { log } = await setup();
    for (let made = 0; made < MAX_TOPICS_PER_TENANT; made++) await log.append(`t${made}`, [message("a")]);
    const refused = log.append("one-more", [message("a")]);
    await expect(refused).rejects.toThrow(/1000 topics/);
    await expect(refused).rejects.toMatchObject({ failure: { code: "rate-limited" } });
    await expect(log.saveTopic("one-more", { retentionMs: 1000, maxRetentionMs: 1000 })).rejects.toThrow(
      FairlaneError,
    );
    expect(await log.loadTopics()).toHaveLength(MAX_TOPICS_PER_TENANT);
    expect((await log.append("t7", [message("b")])).results).toEqual([STORED]);
  });

  test("a full log refuses publishes, not reads and deletes, and accepts again once there is room", async (context) => {
    const { log, reopen, hasStorageLimit } = await setup();
    if (!hasStorageLimit) return context.skip("the log has no storage limit of its own");
    const body = JSON.stringify("x".repeat(100_000));
    await log.append(TOPIC, messages(20, { body }));
    const full = await reopen({ maxBytes: 1_500_000 });
    const refused = full.append(TOPIC, [message("more")]);
    await expect(refused).rejects.toMatchObject({
      failure: { code: "rate-limited", detail: "tenant storage full", retryAfterMs: expect.any(Number) },
    });
    expect(await idsOf(full)).toHaveLength(20);
    expect(await full.purge(TOPIC, { throughOffset: Number.MAX_SAFE_INTEGER, maxEntries: 15 })).toEqual({
      deleted: 15,
    });
    expect((await full.append(TOPIC, [message("more")])).results).toEqual([STORED]);
  });
}
