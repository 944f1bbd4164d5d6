import { expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import {
  MAX_CHECKPOINT_BYTES,
  MAX_SCAN_ENTRIES,
  type MessageLog,
  type PartitionCheckpoint,
  type PartitionProgress,
} from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { checkpoint, GROUP, group, rowOf, TOPIC } from "./samples.ts";

async function load(log: MessageLog, ...keys: string[]): Promise<PartitionProgress[]> {
  const found = await log.loadProgress(TOPIC, GROUP, keys);
  return found.sort((a, b) => (a.partitionKey < b.partitionKey ? -1 : 1));
}

export function progressCases(setup: MakeLog): void {
  const withGroup: MakeLog = async () => {
    const harness = await setup();
    await harness.log.saveGroup(TOPIC, group());
    return harness;
  };

  test("a checkpoint comes back whole, per partition; unknown partitions are absent", async () => {
    const { log, reopen } = await withGroup();
    const saved = [
      checkpoint({
        partitionKey: "😀%",
        ackedOffset: 2 ** 53 - 1,
        unsettled: "a:1,\\'\"?~",
        ackedAbove: "z 9;%",
        due: { dueAtMs: 1_700_000_000_001, offset: 2 ** 53 - 2 },
      }),
      checkpoint({ partitionKey: "a", ackedOffset: 0, resetEpoch: 3 }),
    ];
    await log.saveProgress(TOPIC, GROUP, saved);
    const reopened = await reopen();
    const rows = saved.map((one) => rowOf(one));
    expect(await load(reopened, "😀%", "a", "none", "a")).toEqual([rows[1], rows[0]]);
    expect(await load(reopened)).toEqual([]);
    expect(await log.loadProgress("other", GROUP, ["a"])).toEqual([]);
    expect(await log.loadProgress(TOPIC, "other", ["a"])).toEqual([]);
    await log.saveProgress(TOPIC, GROUP, []);
  });

  test("many partitions are saved and loaded at once", async () => {
    const { log } = await withGroup();
    const saved = Array.from({ length: 300 }, (_, place) =>
      checkpoint({ partitionKey: `k${String(place).padStart(3, "0")}`, ackedOffset: place }),
    );
    await log.saveProgress(TOPIC, GROUP, saved);
    expect(await load(log, ...saved.map(({ partitionKey }) => partitionKey))).toEqual(
      saved.map((one) => rowOf(one)),
    );
  });

  test("each partition of a save is judged by itself", async () => {
    const { log } = await withGroup();
    const [a, b] = ["a", "b"].map((partitionKey) => checkpoint({ partitionKey, ackedOffset: 10 }));
    if (!a || !b) throw new Error("two partitions were made");
    await log.saveProgress(TOPIC, GROUP, [a, b]);
    const further = { ...b, ackedOffset: 11 };
    const fresh = checkpoint({ partitionKey: "c" });
    await log.saveProgress(TOPIC, GROUP, [{ ...a, ackedOffset: 9 }, further, fresh]);
    expect(await load(log, "a", "b", "c")).toEqual([a, further, fresh].map((one) => rowOf(one)));
  });

  test("saving again is idempotent, further on replaces, backwards does nothing", async () => {
    const { log } = await withGroup();
    const save = async (over: Partial<PartitionCheckpoint>) => {
      await log.saveProgress(TOPIC, GROUP, [checkpoint(over)]);
      return load(log, "k");
    };
    const saved = async (over: Partial<PartitionCheckpoint>) => {
      expect(await save(over)).toEqual([rowOf(checkpoint(over))]);
    };
    await saved({ ackedOffset: 10 });
    await saved({ ackedOffset: 10 });
    await saved({ ackedOffset: 10, ackedAbove: "12-13" });
    await saved({ ackedOffset: 10, ackedAbove: "12-13", unsettled: "3" });
    await saved({ ackedOffset: 10, ackedAbove: "12-13", unsettled: "3", due: { dueAtMs: 5, offset: 4 } });
    await saved({ ackedOffset: 10, ackedAbove: "12-13", unsettled: "3", due: { dueAtMs: 5, offset: 6 } });
    const further = { ackedOffset: 13, due: { dueAtMs: 7, offset: 1 } };
    await saved(further);
    const back = { ackedOffset: 12, ackedAbove: "14-15", unsettled: "9", due: { dueAtMs: 8, offset: 1 } };
    expect(await save(back)).toEqual([rowOf(checkpoint(further))]);
  });

  test("a higher reset epoch may go back, and fences off what was before it", async () => {
    const { log } = await withGroup();
    const before = checkpoint({ ackedOffset: 100, resetEpoch: 1, unsettled: "7", ackedAbove: "120" });
    await log.saveProgress(TOPIC, GROUP, [before]);
    const after = checkpoint({ ackedOffset: 5, resetEpoch: 2 });
    await log.saveProgress(TOPIC, GROUP, [after]);
    expect(await load(log, "k")).toEqual([rowOf(after)]);
    await log.saveProgress(TOPIC, GROUP, [{ ...before, ackedOffset: 200 }]);
    expect(await load(log, "k")).toEqual([rowOf(after)]);
  });

  test("another generation's save does not apply, in either direction", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group({ generation: 5 }));
    const own = checkpoint({ generation: 5, ackedOffset: 10 });
    await log.saveProgress(TOPIC, GROUP, [own]);
    await log.saveProgress(TOPIC, GROUP, [checkpoint({ generation: 4, ackedOffset: 20, resetEpoch: 9 })]);
    await log.saveProgress(TOPIC, GROUP, [checkpoint({ generation: 6, ackedOffset: 30 })]);
    expect(await load(log, "k")).toEqual([rowOf(own)]);
  });

  test("a save of several generations keeps the live one's", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group({ generation: 5 }));
    const saved = [4, 5, 6].map((generation) => checkpoint({ partitionKey: `g${generation}`, generation }));
    await log.saveProgress(TOPIC, GROUP, saved);
    expect((await load(log, "g4", "g5", "g6")).map(({ partitionKey }) => partitionKey)).toEqual(["g5"]);
  });

  test("a group made anew starts over the rows of the deleted one", async () => {
    const { log } = await withGroup();
    const old = checkpoint({ ackedOffset: 100, resetEpoch: 7 });
    await log.saveProgress(TOPIC, GROUP, [old]);
    await log.saveGroup(TOPIC, group({ deletedAtMs: 1 }));
    await log.saveProgress(TOPIC, GROUP, [{ ...old, ackedOffset: 200 }]);
    expect(await load(log, "k")).toEqual([rowOf(old)]);
    await log.saveGroup(TOPIC, group({ generation: 2 }));
    const anew = checkpoint({ generation: 2, ackedOffset: 3, resetEpoch: 0 });
    await log.saveProgress(TOPIC, GROUP, [anew]);
    expect(await load(log, "k")).toEqual([rowOf(anew)]);
  });

  test("a group that was never saved keeps no progress", async () => {
    const { log } = await setup();
    await log.saveProgress(TOPIC, GROUP, [checkpoint()]);
    expect(await load(log, "k")).toEqual([]);
  });

  test("a checkpoint may be as large as the limit, and no larger", async () => {
    const { log } = await withGroup();
    const half = "x".repeat(MAX_CHECKPOINT_BYTES / 2);
    const largest = [
      checkpoint({ partitionKey: "a", unsettled: half, ackedAbove: half }),
      checkpoint({ partitionKey: "b", unsettled: half + half }),
      checkpoint({ partitionKey: "c", ackedAbove: half + half }),
    ];
    await log.saveProgress(TOPIC, GROUP, largest);
    expect(await load(log, "a", "b", "c")).toEqual(largest.map((one) => rowOf(one)));
    const tooLarge = checkpoint({ ackedOffset: 11, unsettled: `${half}x`, ackedAbove: half });
    await expect(log.saveProgress(TOPIC, GROUP, [tooLarge])).rejects.toThrow(AssertionFailure);
    expect(await load(log, "k")).toEqual([]);
  });

  test("saves and loads are bounded", async () => {
    const { log } = await withGroup();
    const keys = Array.from({ length: MAX_SCAN_ENTRIES + 1 }, (_, place) => `k${place}`);
    const saved = keys.map((partitionKey) => checkpoint({ partitionKey }));
    await expect(log.saveProgress(TOPIC, GROUP, saved)).rejects.toThrow(AssertionFailure);
    await expect(log.loadProgress(TOPIC, GROUP, keys)).rejects.toThrow(AssertionFailure);
    await log.saveProgress(TOPIC, GROUP, saved.slice(1));
    expect(await load(log, ...keys.slice(1))).toHaveLength(MAX_SCAN_ENTRIES);
  });

  test("progress is forgotten by partition or for the whole group", async () => {
    const { log } = await withGroup();
    await log.saveGroup(TOPIC, group({ group: "other" }));
    const saved = ["a", "b", "c"].map((partitionKey) => checkpoint({ partitionKey }));
    await log.saveProgress(TOPIC, GROUP, saved);
    await log.saveProgress(TOPIC, "other", saved);
    const partitions = async () => (await load(log, "a", "b", "c")).map(({ partitionKey }) => partitionKey);
    await log.deleteProgress(TOPIC, GROUP, ["b", "none"]);
    expect(await partitions()).toEqual(["a", "c"]);
    await log.deleteProgress(TOPIC, GROUP, []);
    expect(await partitions()).toEqual(["a", "c"]);
    await log.deleteProgress(TOPIC, GROUP, null);
    expect(await partitions()).toEqual([]);
    expect(await log.loadProgress(TOPIC, "other", ["a", "b", "c"])).toHaveLength(3);
  });
}
