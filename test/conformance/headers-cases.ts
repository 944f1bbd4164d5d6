import { expect, test } from "vitest";
import {
  type DuePosition,
  type Entry,
  MAX_SCAN_ENTRIES,
  MAX_SCAN_HEADERS_BYTES,
  type MessageLog,
  type NewMessage,
  type PartitionRead,
} from "../../src/log/message-log.ts";
import { Prng } from "../sim/prng.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { ALL, at, message, messages, offsetsOf, TOPIC } from "./samples.ts";

const START: DuePosition = { dueAtMs: 0, offset: 0 };
const EVER = Number.MAX_SAFE_INTEGER;
/** The largest that a publish may have, and 129 of them are more than a page may. */
const LARGE = headersOf(8100);

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Headers of so many bytes, all told. */
function headersOf(bytes: number, char = "x"): string {
  const frame = '{"x-fill":""}';
  return frame.replace('""', `"${char.repeat((bytes - frame.length) / byteLength(char))}"`);
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { headers }) => sum + byteLength(headers ?? ""), 0);
}

async function store(log: MessageLog, batch: readonly NewMessage[]): Promise<void> {
  for (let first = 0; first < batch.length; first += 100) {
    await log.append(TOPIC, batch.slice(first, first + 100));
  }
}

export function headersCases(setup: MakeLog): void {
  test("every scan brings them as they were published, when it is asked to", async () => {
    const { log } = await setup();
    const all = ["", '{"x-user":"alice"}', '{"b":"é\\u0001\\"","a":"\u{1f600}"}', LARGE];
    await store(
      log,
      all.map((headers, place) => message(`m${place}`, { headers, delayMs: 1 + place })),
    );
    const partition = { partitionKey: "k", afterOffset: 0, throughOffset: EVER, maxEntries: 10 };
    const due = { after: START, throughDueMs: EVER, maxEntries: 10 };
    const scans = async (flag: { withHeaders?: boolean }): Promise<Entry[][]> => [
      (await log.scanTopic(TOPIC, { ...ALL, ...flag })).entries,
      ...(await log.scanPartitions(TOPIC, [{ ...partition, ...flag }])).map(({ entries }) => entries),
      (await log.scanDue(TOPIC, { ...due, ...flag })).entries,
    ];
    const plain = await scans({});
    expect(plain.map((entries) => entries.length)).toEqual([4, 4, 4]);
    for (const entry of plain.flat()) expect(entry).not.toHaveProperty("headers");
    expect(await scans({ withHeaders: false })).toEqual(plain);
    const headed = plain.map((entries) =>
      entries.map((entry, place) => ({ ...entry, headers: at(all, place) })),
    );
    expect(await scans({ withHeaders: true })).toEqual(headed);
  });

  test("a topic that does not exist, or holds nothing there, scans as empty", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a", { headers: LARGE, delayMs: 5 })]);
    const withHeaders = true;
    for (const [topic, afterOffset] of [
      ["nothing", 0],
      [TOPIC, EVER],
    ] as const) {
      const page = await log.scanTopic(topic, { afterOffset, maxEntries: 10, withHeaders });
      expect(page).toEqual({ entries: [], reachedEnd: true, nowMs: expect.any(Number) });
      const read = { partitionKey: "k", afterOffset, throughOffset: EVER, maxEntries: 10, withHeaders };
      expect(await log.scanPartitions(topic, [read])).toEqual([{ entries: [], reachedEnd: true }]);
    }
    expect(await log.scanPartitions(TOPIC, [])).toEqual([]);
    const [{ dueAtMs }] = (await log.scanTopic(TOPIC, ALL)).entries as [Entry];
    const due = { after: START, throughDueMs: dueAtMs - 1, maxEntries: 10, withHeaders };
    expect(await log.scanDue(TOPIC, due)).toEqual({ entries: [], reachedEnd: true, nextDueAtMs: dueAtMs });
  });

  test("the largest page holds usual headers whole, and no larger one is allowed", async () => {
    const { log } = await setup();
    const headers = headersOf(1000);
    await store(
      log,
      messages(MAX_SCAN_ENTRIES + 1).map((one) => ({ ...one, headers })),
    );
    const read = { afterOffset: 0, maxEntries: MAX_SCAN_ENTRIES, withHeaders: true };
    const page = await log.scanTopic(TOPIC, read);
    expect([page.entries.length, page.reachedEnd]).toEqual([MAX_SCAN_ENTRIES, false]);
    expect(page.entries.every((entry) => entry.headers === headers)).toBe(true);
    const rest = await log.scanTopic(TOPIC, { ...read, afterOffset: at(page.entries, -1).offset });
    expect([rest.entries.length, rest.reachedEnd]).toEqual([1, true]);
    const tooMany = { ...read, maxEntries: MAX_SCAN_ENTRIES + 1 };
    await expect(log.scanTopic(TOPIC, tooMany)).rejects.toThrow("page size out of bounds");
  });

  test.each([1, 2, 7, 128, 129, 1000])("pages of %i end early, and visit each entry once", async (most) => {
    const { log } = await setup();
    const random = new Prng(most);
    const count = Math.min(300, 20 * most);
    const sizes = Array.from({ length: count }, () => random.pick([0, 60, 1047, 1048, 1049, 4000, 8100]));
    const batch = sizes.map((bytes, place) =>
      message(`m${place}`, { headers: bytes === 0 ? "" : headersOf(bytes) }),
    );
    await store(log, batch);
    const seen: Entry[] = [];
    for (let reachedEnd = false, pages = 0; !reachedEnd; pages += 1) {
      expect(pages).toBeLessThan(count + 1);
      const afterOffset = seen.at(-1)?.offset ?? 0;
      const page = await log.scanTopic(TOPIC, { afterOffset, maxEntries: most, withHeaders: true });
      expect(page.entries.length).toBeLessThanOrEqual(most);
      seen.push(...page.entries);
      reachedEnd = page.reachedEnd;
      expect(reachedEnd).toBe(seen.length === count);
      const bytes = bytesOf(page.entries);
      expect(bytes).toBeLessThanOrEqual(MAX_SCAN_HEADERS_BYTES);
      if (reachedEnd || page.entries.length === most) continue;
      // It ended where the next one did not fit.
      expect(bytes + at(sizes, seen.length)).toBeGreaterThan(MAX_SCAN_HEADERS_BYTES);
    }
    expect(seen.map(({ offset }) => offset)).toEqual(await offsetsOf(log));
    expect(seen.map(({ headers }) => headers)).toEqual(batch.map(({ headers }) => headers));
  });

  test("it is the bytes that count, not the characters", async () => {
    const { log } = await setup();
    const headers = headersOf(8013, "é");
    await store(
      log,
      messages(140).map((one) => ({ ...one, headers })),
    );
    const { entries, reachedEnd } = await log.scanTopic(TOPIC, { ...ALL, withHeaders: true });
    expect(byteLength(headers)).toBe(8013);
    expect([entries.length, reachedEnd]).toEqual([Math.floor(MAX_SCAN_HEADERS_BYTES / 8013), false]);
  });

  test("pages of partitions share the bytes; each has one entry at least", async () => {
    const { log } = await setup();
    const sizeOf = (place: number) => (place % 4 === 3 ? 40 : 8100);
    const batch = Array.from({ length: 400 }, (_, place) =>
      message(`m${place}`, { partitionKey: `p${place % 4}`, headers: headersOf(sizeOf(place)) }),
    );
    await store(log, batch);
    const offsets = await offsetsOf(log);
    const readOf = (partition: number, over: Partial<PartitionRead> = {}): PartitionRead => {
      const partitionKey = `p${partition}`;
      return {
        partitionKey,
        afterOffset: 0,
        throughOffset: EVER,
        maxEntries: 200,
        withHeaders: true,
        ...over,
      };
    };
    const pages = await log.scanPartitions(TOPIC, [
      readOf(0),
      readOf(1, { withHeaders: false }),
      readOf(1),
      readOf(2),
      readOf(3),
      readOf(3, { afterOffset: at(offsets, 395) }),
      readOf(0, { maxEntries: 1, withHeaders: false }),
      readOf(4),
      readOf(0, { afterOffset: at(offsets, 8) }),
    ]);
    const placesOf = (partition: number, first: number, count: number) =>
      Array.from({ length: count }, (_, place) => partition + 4 * (first + place));
    const left = Math.floor(MAX_SCAN_HEADERS_BYTES / 8100) - 100;
    expect(
      pages.map(({ entries, reachedEnd }) => [
        entries.map(({ offset }) => offsets.indexOf(offset)),
        reachedEnd,
      ]),
    ).toEqual([
      [placesOf(0, 0, 100), true],
      [placesOf(1, 0, 100), true],
      [placesOf(1, 0, left), false],
      [placesOf(2, 0, 1), false],
      [placesOf(3, 0, 1), false],
      [placesOf(3, 99, 1), true],
      [placesOf(0, 0, 1), false],
      [[], true],
      [placesOf(0, 3, 1), false],
    ]);
    const headed = pages.map(({ entries }) => entries.every(({ headers }) => headers !== undefined));
    expect(headed).toEqual([true, false, true, true, true, true, false, true, true]);
    const [first, , second] = pages;
    expect(first?.entries[0]?.headers).toBe(headersOf(8100));
    expect(second?.entries[0]?.headers).toBe(headersOf(8100));
  });

  test("what is due is cut at a pair, and the page says when the next one is", async () => {
    const { log } = await setup();
    const batch = Array.from({ length: 150 }, (_, place) =>
      message(`m${place}`, { headers: LARGE, delayMs: 1 + (place % 2) }),
    );
    await store(log, batch);
    const plain = await log.scanDue(TOPIC, { after: START, throughDueMs: EVER, maxEntries: 200 });
    const read = { throughDueMs: EVER, maxEntries: 200, withHeaders: true };
    const first = await log.scanDue(TOPIC, { ...read, after: START });
    const fitting = Math.floor(MAX_SCAN_HEADERS_BYTES / LARGE.length);
    expect([first.entries.length, first.reachedEnd]).toEqual([fitting, false]);
    expect(first.nextDueAtMs).toBe(at(plain.entries, fitting).dueAtMs);
    const { dueAtMs, offset } = at(first.entries, -1);
    const second = await log.scanDue(TOPIC, { ...read, after: { dueAtMs, offset } });
    expect([second.reachedEnd, second.nextDueAtMs]).toEqual([true, null]);
    const seen = [...first.entries, ...second.entries];
    expect(seen).toEqual(plain.entries.map((entry) => ({ ...entry, headers: LARGE })));
  });
}
