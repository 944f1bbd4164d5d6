import { expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { MAX_SCAN_ENTRIES, type MessageLog } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, checkpoint, GROUP, group, message, offsetsOf, reset, TOPIC } from "./samples.ts";

const EVER = Number.MAX_SAFE_INTEGER;

/** Rows of these partitions, in this order of bytes: UTF-16 would put the last two the other way round. */
const KEYS = [" a", "%", "A", "a", "a\nb", "b", "\u00e9", "\uffff", "😀"];

async function saveRows(log: MessageLog, keys: readonly string[]): Promise<void> {
  await log.saveGroup(TOPIC, group());
  await log.saveProgress(
    TOPIC,
    GROUP,
    keys.map((partitionKey) => checkpoint({ partitionKey })),
  );
}

/** Walks all pages. Every page says where to go on, ever further, or that there is no more. */
async function emptyKeysOf(log: MessageLog, maxPartitions: number, maxPages: number): Promise<string[]> {
  const found: string[] = [];
  let afterKey: string | null = null;
  for (let pages = 0; pages < maxPages; pages++) {
    const { emptyKeys, resumeAfterKey }: Awaited<ReturnType<MessageLog["listEmptyPartitions"]>> =
      await log.listEmptyPartitions(TOPIC, GROUP, { afterKey, maxPartitions });
    expect(emptyKeys.length).toBeLessThanOrEqual(maxPartitions);
    found.push(...emptyKeys);
    if (resumeAfterKey === null) return found;
    expect(resumeAfterKey).not.toBe(afterKey);
    afterKey = resumeAfterKey;
  }
  throw new Error(`no end after ${maxPages} pages`);
}

export function emptyPartitionCases(setup: MakeLog): void {
  test.each([1, 2, 3, 8, 9, 10])("pages of %i visit every row once, in byte order", async (maxPartitions) => {
    const { log } = await setup();
    await saveRows(log, KEYS);
    // A page may end exactly at the last row without knowing that: one more page tells.
    const pages = Math.ceil(KEYS.length / maxPartitions) + 1;
    expect(await emptyKeysOf(log, maxPartitions, pages)).toEqual(KEYS);
    const holding = ["%", "a", "😀"];
    await log.append(
      TOPIC,
      holding.map((partitionKey) => message("m", { partitionKey })),
    );
    expect(await emptyKeysOf(log, maxPartitions, pages)).toEqual(
      KEYS.filter((partitionKey) => !holding.includes(partitionKey)),
    );
  });

  test("a page looks through so many rows, whether they are empty or not", async () => {
    const { log } = await setup();
    await saveRows(log, ["a", "b", "c", "d", "e"]);
    await log.append(
      TOPIC,
      ["a", "b", "d"].map((partitionKey) => message("m", { partitionKey })),
    );
    const list = (afterKey: string | null, maxPartitions: number) =>
      log.listEmptyPartitions(TOPIC, GROUP, { afterKey, maxPartitions });
    expect(await list(null, 2)).toEqual({ emptyKeys: [], resumeAfterKey: "b" });
    expect(await list("b", 2)).toEqual({ emptyKeys: ["c"], resumeAfterKey: "d" });
    expect(await list("d", 2)).toEqual({ emptyKeys: ["e"], resumeAfterKey: null });
    expect(await list("bb", 1)).toEqual({ emptyKeys: ["c"], resumeAfterKey: "c" });
    expect(await list("e", 2)).toEqual({ emptyKeys: [], resumeAfterKey: null });
  });

  test("a partition is empty once its last message is gone", async () => {
    const { log } = await setup();
    await saveRows(log, ["a", "b"]);
    await log.append(TOPIC, [
      message("1", { partitionKey: "a", delayMs: 60_000 }),
      message("2", { partitionKey: "b" }),
      message("3", { partitionKey: "a" }),
    ]);
    const offsets = await offsetsOf(log);
    const remove = (place: number) =>
      log.deleteRanges(TOPIC, [{ first: at(offsets, place), last: at(offsets, place) }]);
    expect(await emptyKeysOf(log, 10, 1)).toEqual([]);
    await remove(0);
    expect(await emptyKeysOf(log, 10, 1)).toEqual([]);
    await remove(2);
    expect(await emptyKeysOf(log, 10, 1)).toEqual(["a"]);
    await log.purge(TOPIC, { throughOffset: EVER, maxEntries: 10 });
    expect(await emptyKeysOf(log, 10, 1)).toEqual(["a", "b"]);
    await log.deleteProgress(TOPIC, GROUP, ["a"]);
    expect(await emptyKeysOf(log, 10, 1)).toEqual(["b"]);
  });

  test("messages of another topic, tenant or key do not count, rows of another group are not looked at", async () => {
    const { log, otherTenantsLog } = await setup();
    await saveRows(log, ["k"]);
    await log.saveGroup(TOPIC, group({ group: "other", generation: 2 }));
    await log.saveReset(TOPIC, "other", reset({ partitionKey: "x", generation: 2 }));
    await log.append("elsewhere", [message("m")]);
    await log.append(TOPIC, [message("m", { partitionKey: "K" }), message("m", { partitionKey: "kk" })]);
    await otherTenantsLog.append(TOPIC, [message("m")]);
    expect(await emptyKeysOf(log, 10, 1)).toEqual(["k"]);
    const nothing = { emptyKeys: [], resumeAfterKey: null };
    const read = { afterKey: null, maxPartitions: 10 };
    expect(await log.listEmptyPartitions(TOPIC, "nobody", read)).toEqual(nothing);
    expect(await log.listEmptyPartitions("nothing", GROUP, read)).toEqual(nothing);
  });

  test("rows of an earlier generation are looked at too", async () => {
    const { log } = await setup();
    await saveRows(log, ["a", "b"]);
    await log.saveGroup(TOPIC, group({ generation: 2 }));
    expect(await emptyKeysOf(log, 10, 1)).toEqual(["a", "b"]);
  });

  test("the largest page is allowed and no larger one", async () => {
    const { log } = await setup();
    await saveRows(log, ["a"]);
    const list = (maxPartitions: number) =>
      log.listEmptyPartitions(TOPIC, GROUP, { afterKey: null, maxPartitions });
    expect(await list(MAX_SCAN_ENTRIES)).toEqual({ emptyKeys: ["a"], resumeAfterKey: null });
    await expect(list(MAX_SCAN_ENTRIES + 1)).rejects.toThrow(AssertionFailure);
    await expect(list(0)).rejects.toThrow(AssertionFailure);
  });
}
