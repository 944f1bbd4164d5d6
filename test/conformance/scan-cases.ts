import { expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { MAX_SCAN_ENTRIES } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, clockOf, message, messages, offsetsOf, publish, TOPIC } from "./samples.ts";

export function scanCases(setup: MakeLog): void {
  test("a topic that does not exist scans as empty", async () => {
    const { log } = await setup();
    const page = await log.scanTopic("nothing", { afterOffset: 0, maxEntries: 10 });
    expect(page).toEqual({ entries: [], reachedEnd: true, nowMs: expect.any(Number) });
    expect(await log.listPartitions("nothing", { afterKey: null, maxPartitions: 10 })).toEqual([]);
    const [partition] = await log.scanPartitions("nothing", [
      { partitionKey: "k", afterOffset: 0, throughOffset: 10, maxEntries: 10 },
    ]);
    expect(partition).toEqual({ entries: [], reachedEnd: true });
    // Reading makes no topic.
    expect(await log.loadTopics()).toEqual([]);
  });

  test("an entry says what dispatch needs", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a", { body: '"é"' }), message("b", { delayMs: 5000 })]);
    const { entries, nowMs } = await log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 10 });
    const [a, b] = [at(entries, 0), at(entries, 1)];
    expect(a).toEqual({
      offset: a.offset,
      partitionKey: "k",
      dueAtMs: a.dueAtMs,
      delayed: false,
      targetGroup: null,
      bodyBytes: 4,
    });
    expect(b).toMatchObject({ delayed: true, dueAtMs: a.dueAtMs + 5000 });
    expect(a.dueAtMs).toBeLessThanOrEqual(nowMs);
  });

  test.each([1, 2, 3, 9, 10, 11])("pages of %i visit every entry once, in order", async (maxEntries) => {
    const { log } = await setup();
    const offsets = await publish(log, messages(10));
    const seen: number[] = [];
    let reachedEnd = false;
    for (let pages = 0; !reachedEnd && pages < 20; pages++) {
      const page = await log.scanTopic(TOPIC, { afterOffset: seen.at(-1) ?? 0, maxEntries });
      expect(page.entries.length).toBeLessThanOrEqual(maxEntries);
      seen.push(...page.entries.map(({ offset }) => offset));
      reachedEnd = page.reachedEnd;
      expect(reachedEnd).toBe(seen.length === 10);
    }
    expect(seen).toEqual(offsets);
  });

  test("a scan starts after the given offset, whether it is stored or not", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(4));
    const after = async (afterOffset: number) => {
      const { entries } = await log.scanTopic(TOPIC, { afterOffset, maxEntries: 10 });
      return entries.map(({ offset }) => offset);
    };
    expect(await after(at(offsets, 1))).toEqual(offsets.slice(2));
    expect(await after(at(offsets, 0) - 1)).toEqual(offsets);
    expect(await after(at(offsets, 3))).toEqual([]);
    expect(await after(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test("a scan ends at an offset, that offset included", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(6));
    const scan = async (afterOffset: number, throughOffset: number, maxEntries = 10) => {
      const page = await log.scanTopic(TOPIC, { afterOffset, throughOffset, maxEntries });
      return [page.entries.map(({ offset }) => offsets.indexOf(offset)), page.reachedEnd];
    };
    expect(await scan(0, at(offsets, 3))).toEqual([[0, 1, 2, 3], true]);
    expect(await scan(0, at(offsets, 5))).toEqual([[0, 1, 2, 3, 4, 5], true]);
    expect(await scan(0, Number.MAX_SAFE_INTEGER)).toEqual([[0, 1, 2, 3, 4, 5], true]);
    expect(await scan(at(offsets, 1), at(offsets, 4))).toEqual([[2, 3, 4], true]);
    expect(await scan(at(offsets, 1), at(offsets, 4), 3)).toEqual([[2, 3, 4], true]);
    expect(await scan(at(offsets, 1), at(offsets, 4), 2)).toEqual([[2, 3], false]);
    expect(await scan(at(offsets, 2), at(offsets, 2))).toEqual([[], true]);
    expect(await scan(at(offsets, 4), at(offsets, 2))).toEqual([[], true]);
    expect(await scan(0, at(offsets, 0) - 1)).toEqual([[], true]);
  });

  test("scans and tails tell the log's clock, of a topic without entries too", async () => {
    const { log, stepClock } = await setup();
    await log.append(TOPIC, [message("a")]);
    const scan = { afterOffset: 0, maxEntries: 10 };
    const seen = async () => [
      await clockOf(log),
      (await log.scanTopic(TOPIC, scan)).nowMs,
      (await log.scanTopic(TOPIC, { ...scan, afterOffset: Number.MAX_SAFE_INTEGER })).nowMs,
      (await log.scanTopic("nothing", scan)).nowMs,
      (await log.tail("nothing")).nowMs,
    ];
    const before = await seen();
    expect(before.every(Number.isSafeInteger)).toBe(true);
    expect(before).toEqual([...before].sort((a, b) => a - b));
    stepClock?.(5000);
    const after = await seen();
    expect(Math.min(...after)).toBeGreaterThanOrEqual(at(before, -1) + (stepClock ? 5000 : 0));
  });

  test("partitions are read each by itself, in the order asked, between both ends", async () => {
    const { log } = await setup();
    const batch = Array.from({ length: 12 }, (_, place) =>
      message(`m${place}`, { partitionKey: `p${place % 3}` }),
    );
    const offsets = await publish(log, batch);
    const pages = await log.scanPartitions(TOPIC, [
      { partitionKey: "p2", afterOffset: 0, throughOffset: at(offsets, 11), maxEntries: 10 },
      { partitionKey: "p0", afterOffset: at(offsets, 0), throughOffset: at(offsets, 6), maxEntries: 10 },
      { partitionKey: "p1", afterOffset: 0, throughOffset: at(offsets, 11), maxEntries: 2 },
      { partitionKey: "p1", afterOffset: at(offsets, 4), throughOffset: at(offsets, 10), maxEntries: 2 },
      { partitionKey: "p1", afterOffset: 0, throughOffset: at(offsets, 4), maxEntries: 2 },
      { partitionKey: "none", afterOffset: 0, throughOffset: at(offsets, 11), maxEntries: 10 },
    ]);
    const places = pages.map(({ entries, reachedEnd }) => [
      entries.map(({ offset }) => offsets.indexOf(offset)),
      reachedEnd,
    ]);
    expect(places).toEqual([
      [[2, 5, 8, 11], true],
      [[3, 6], true],
      [[1, 4], false],
      [[7, 10], true],
      [[1, 4], true],
      [[], true],
    ]);
    expect(pages[0]?.entries.every(({ partitionKey }) => partitionKey === "p2")).toBe(true);
  });

  test("partitions are listed once each with their latest offset, in pages", async () => {
    const { log } = await setup();
    const batch = Array.from({ length: 25 }, (_, place) =>
      message(`m${place}`, { partitionKey: `p${place % 5}` }),
    );
    const offsets = await publish(log, batch);
    const expected = [0, 1, 2, 3, 4].map((place) => ({
      partitionKey: `p${place}`,
      latestOffset: at(offsets, 20 + place),
    }));
    const list = (afterKey: string | null, maxPartitions: number) =>
      log.listPartitions(TOPIC, { afterKey, maxPartitions });
    expect(await list(null, 10)).toEqual(expected);
    expect(await list(null, 5)).toEqual(expected);
    expect(await list(null, 2)).toEqual(expected.slice(0, 2));
    expect(await list("p1", 2)).toEqual(expected.slice(2, 4));
    expect(await list("p1a", 10)).toEqual(expected.slice(2));
    expect(await list("p4", 10)).toEqual([]);
  });

  test("messages are read by offset; absent ones are absent, repeated ones come once", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(100));
    const found = await log.readMessages(TOPIC, [...offsets, at(offsets, 3), 1, at(offsets, 99) + 1]);
    expect(found.map(({ offset }) => offset).sort((a, b) => a - b)).toEqual(offsets);
    expect(await log.readMessages(TOPIC, [])).toEqual([]);
    expect(await log.readMessages(TOPIC, [1])).toEqual([]);
    expect(await log.readMessages("nothing", offsets)).toEqual([]);
  });

  test.each([1, 4, 5, 16, 17, 63, 64, 65, 80])("reads %i messages at once", async (count) => {
    const { log } = await setup();
    const offsets = (await publish(log, messages(100))).slice(0, count).reverse();
    const found = await log.readMessages(TOPIC, offsets);
    expect(new Set(found.map(({ offset }) => offset))).toEqual(new Set(offsets));
    expect(found).toHaveLength(count);
  });

  test("the largest page is allowed and no larger one", async () => {
    const { log } = await setup();
    for (let batch = 0; batch < 11; batch++) {
      await log.append(
        TOPIC,
        messages(100).map((one) => ({ ...one, id: `${batch}-${one.id}` })),
      );
    }
    const page = await log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: MAX_SCAN_ENTRIES });
    expect([page.entries.length, page.reachedEnd]).toEqual([MAX_SCAN_ENTRIES, false]);
    const tooMany = { afterOffset: 0, maxEntries: MAX_SCAN_ENTRIES + 1 };
    await expect(log.scanTopic(TOPIC, tooMany)).rejects.toThrow(AssertionFailure);
    await expect(log.listMessages(TOPIC, tooMany)).rejects.toThrow(AssertionFailure);
    await expect(log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 0 })).rejects.toThrow(AssertionFailure);
  });

  test("a topic shows only its own entries", async () => {
    const { log } = await setup();
    await log.append(TOPIC, messages(3));
    await log.append(`${TOPIC}2`, messages(2));
    expect(await offsetsOf(log)).toHaveLength(3);
    expect(await offsetsOf(log, `${TOPIC}2`)).toHaveLength(2);
  });
}
