import { expect, test } from "vitest";
import { deadLetterTopicOf } from "../../src/core/settings.ts";
import type { DeadLetterCopy } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { ALL, at, GROUP, group, message, messages, offsetsOf, publish, TOPIC } from "./samples.ts";

const LIMIT = 1000;
const MAX_FOUND = 100;

/** One message's dead letters, each of another failure. */
function copiesOf(offset: number, count: number): DeadLetterCopy[] {
  return Array.from({ length: count }, (_, place) => {
    return { offset, group: GROUP, attempts: 1, failedAtMs: 1, reason: "r", origin: `o${place}` };
  });
}

export function readCases(setup: MakeLog): void {
  test("lists entries with their metadata, of one partition or all", async () => {
    const { log } = await setup();
    const bytes = { body: new Uint8Array([1, 2, 3]), contentType: "image/png", headers: '{"a":"b"}' };
    const offsets = await publish(log, [
      message("a", { partitionKey: "x" }),
      message("b", { partitionKey: "y", ...bytes }),
    ]);
    const listed = await log.listMessages(TOPIC, { afterOffset: 0, maxEntries: 10 });
    expect(listed.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(listed[1]).toEqual({
      offset: offsets[1],
      partitionKey: "y",
      dueAtMs: at(listed, 1).publishedAtMs,
      delayed: false,
      targetGroup: null,
      bodyBytes: 3,
      id: "b",
      origin: "",
      publishedAtMs: expect.any(Number),
      contentType: "image/png",
      headers: '{"a":"b"}',
      deadLetter: null,
    });
    const ofX = await log.listMessages(TOPIC, { partitionKey: "x", afterOffset: 0, maxEntries: 10 });
    expect(ofX.map(({ id }) => id)).toEqual(["a"]);
    const after = { partitionKey: "x", afterOffset: at(offsets, 0), maxEntries: 10 };
    expect(await log.listMessages(TOPIC, after)).toEqual([]);
    expect(await log.listMessages(TOPIC, { afterOffset: 0, maxEntries: 1 })).toHaveLength(1);
  });

  test("lists from the end: the last ones, in offset order, of one partition or all", async () => {
    const { log } = await setup();
    const batch = messages(7).map((one, place) => ({ ...one, partitionKey: `p${place % 2}` }));
    const offsets = await publish(log, batch);
    const last = async (read: { maxEntries: number; afterOffset?: number; partitionKey?: string }) =>
      (await log.listMessages(TOPIC, { afterOffset: 0, fromEnd: true, ...read })).map(({ id }) => id);
    expect(await last({ maxEntries: 3 })).toEqual(["m4", "m5", "m6"]);
    expect(await last({ maxEntries: 7 })).toEqual(await last({ maxEntries: LIMIT }));
    expect(await last({ maxEntries: LIMIT })).toEqual(batch.map(({ id }) => id));
    expect(await last({ maxEntries: 3, afterOffset: at(offsets, 4) })).toEqual(["m5", "m6"]);
    expect(await last({ maxEntries: 3, afterOffset: at(offsets, 6) })).toEqual([]);
    expect(await last({ maxEntries: 2, partitionKey: "p1" })).toEqual(["m3", "m5"]);
    expect(await last({ maxEntries: 5, partitionKey: "p1" })).toEqual(["m1", "m3", "m5"]);
    expect(await last({ maxEntries: 2, partitionKey: "none" })).toEqual([]);
    const whole = { afterOffset: 0, maxEntries: 2, fromEnd: true };
    expect(await log.listMessages(TOPIC, whole)).toEqual((await log.listMessages(TOPIC, ALL)).slice(-2));
    expect(await log.listMessages("nothing", whole)).toEqual([]);
  });

  test("finds an entry by ID and key, and nothing else", async () => {
    const { log } = await setup();
    const bytes = { body: new Uint8Array([1, 2, 3]), contentType: "image/png", headers: '{"a":"b"}' };
    await log.append(TOPIC, [
      message("a", { ...bytes, delayMs: 60_000 }),
      message("a", { partitionKey: "other" }),
      message("a2"),
    ]);
    const listed = await log.listMessages(TOPIC, ALL);
    expect(await log.findEntries(TOPIC, "a", "k")).toEqual([listed[0]]);
    expect(await log.findEntries(TOPIC, "a", "other")).toEqual([listed[1]]);
    expect(await log.findEntries(TOPIC, "b", "k")).toEqual([]);
    expect(await log.findEntries("nothing", "a", "k")).toEqual([]);
  });

  test("finding and listing bring no bodies", async () => {
    const { log } = await setup();
    await log.append(TOPIC, [message("a", { body: '"large"' })]);
    const [found, listed] = [await log.findEntries(TOPIC, "a", "k"), await log.listMessages(TOPIC, ALL)];
    expect([found.length, listed.length]).toEqual([1, 1]);
    expect(found[0]).not.toHaveProperty("body");
    expect(listed[0]).not.toHaveProperty("body");
  });

  test("the published entry is found first, its redriven copies after it", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group());
    const [offset = 0] = await publish(log, [message("a")]);
    await log.copyToDeadLetters(TOPIC, copiesOf(offset, 2));
    await log.redrive(TOPIC, await offsetsOf(log, deadLetterTopicOf(TOPIC)));
    const found = await log.findEntries(TOPIC, "a", "k");
    expect(found.map(({ targetGroup }) => targetGroup)).toEqual([null, GROUP, GROUP]);
    expect(at(found, 0)).toMatchObject({ origin: "", offset });
  });

  test(`of many entries of one ID, ${MAX_FOUND} are found`, async () => {
    const { log } = await setup();
    const [offset = 0] = await publish(log, [message("a")]);
    const copies = copiesOf(offset, MAX_FOUND + 1);
    await log.copyToDeadLetters(TOPIC, copies.slice(0, 60));
    const dead = deadLetterTopicOf(TOPIC);
    expect(await log.findEntries(dead, "a", "k")).toHaveLength(60);
    await log.copyToDeadLetters(TOPIC, copies.slice(60));
    expect(await log.findEntries(dead, "a", "k")).toHaveLength(MAX_FOUND);
    expect(await offsetsOf(log, dead)).toHaveLength(MAX_FOUND + 1);
  });

  test("counts between two offsets, no further than asked", async () => {
    const { log } = await setup();
    const batch = messages(10).map((one, place) => ({ ...one, partitionKey: `p${place % 2}` }));
    const offsets = await publish(log, batch);
    const count = (read: Parameters<typeof log.countEntries>[1]) => log.countEntries(TOPIC, read);
    expect(await count({ afterOffset: 0, maxCount: LIMIT })).toBe(10);
    expect(await count({ afterOffset: 0, maxCount: 10 })).toBe(10);
    expect(await count({ afterOffset: 0, maxCount: 4 })).toBe(4);
    expect(await count({ afterOffset: 0, maxCount: 0 })).toBe(0);
    expect(await count({ afterOffset: at(offsets, 2), maxCount: LIMIT })).toBe(7);
    expect(await count({ afterOffset: 0, throughOffset: at(offsets, 2), maxCount: LIMIT })).toBe(3);
    expect(await count({ partitionKey: "p1", afterOffset: 0, maxCount: LIMIT })).toBe(5);
    expect(await count({ partitionKey: "p1", afterOffset: 0, maxCount: 3 })).toBe(3);
    const between = { afterOffset: at(offsets, 1), throughOffset: at(offsets, 5), maxCount: LIMIT };
    expect(await count({ partitionKey: "p1", ...between })).toBe(2);
    expect(await log.countEntries("nothing", { afterOffset: 0, maxCount: LIMIT })).toBe(0);
  });

  test("G6: a count for a group leaves out what is targeted at another", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group());
    const offsets = await publish(log, messages(4));
    const copy = { group: GROUP, attempts: 1, failedAtMs: 1, reason: "r" };
    await log.copyToDeadLetters(TOPIC, [
      { ...copy, offset: at(offsets, 0), origin: "o0" },
      { ...copy, offset: at(offsets, 1), origin: "o1" },
    ]);
    await log.redrive(TOPIC, await offsetsOf(log, deadLetterTopicOf(TOPIC)));
    const count = (more: object) => log.countEntries(TOPIC, { afterOffset: 0, maxCount: LIMIT, ...more });
    expect(await count({})).toBe(6);
    expect(await count({ forGroup: GROUP })).toBe(6);
    expect(await count({ forGroup: "other" })).toBe(4);
    expect(await count({ forGroup: "other", partitionKey: "k" })).toBe(4);
  });
}
