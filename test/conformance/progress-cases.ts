import { expect, test } from "vitest";
import type { MessageLog, PartitionProgress } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { GROUP, group, progress, TOPIC } from "./samples.ts";

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

  test("progress comes back per partition; unknown partitions are absent", async () => {
    const { log, reopen } = await withGroup();
    const saved = [
      progress({ partitionKey: "😀%", ackedOffset: 2 ** 53 - 1, ackedAbove: '[[1,"é"]]' }),
      progress({ partitionKey: "a", ackedOffset: 0, resetEpoch: 3 }),
    ];
    await log.saveProgress(TOPIC, GROUP, saved);
    const reopened = await reopen();
    expect(await load(reopened, "😀%", "a", "none", "a")).toEqual([saved[1], saved[0]]);
    expect(await load(reopened)).toEqual([]);
    expect(await log.loadProgress("other", GROUP, ["a"])).toEqual([]);
    expect(await log.loadProgress(TOPIC, "other", ["a"])).toEqual([]);
  });

  test("many partitions are saved and loaded at once", async () => {
    const { log } = await withGroup();
    const saved = Array.from({ length: 300 }, (_, place) =>
      progress({ partitionKey: `k${String(place).padStart(3, "0")}`, ackedOffset: place }),
    );
    await log.saveProgress(TOPIC, GROUP, saved);
    expect(await load(log, ...saved.map(({ partitionKey }) => partitionKey))).toEqual(saved);
  });

  test("saving again is idempotent, further on replaces, backwards does nothing", async () => {
    const { log } = await withGroup();
    const save = async (over: Partial<PartitionProgress>) => {
      await log.saveProgress(TOPIC, GROUP, [progress(over)]);
      return load(log, "k");
    };
    expect(await save({ ackedOffset: 10 })).toEqual([progress({ ackedOffset: 10 })]);
    expect(await save({ ackedOffset: 10 })).toEqual([progress({ ackedOffset: 10 })]);
    const above = progress({ ackedOffset: 10, ackedAbove: "12-13" });
    expect(await save(above)).toEqual([above]);
    const further = progress({ ackedOffset: 13, ackedAbove: "" });
    expect(await save(further)).toEqual([further]);
    expect(await save({ ackedOffset: 12, ackedAbove: "14-15" })).toEqual([further]);
  });

  test("a reset may go back, and fences off what was before it", async () => {
    const { log } = await withGroup();
    await log.saveProgress(TOPIC, GROUP, [progress({ ackedOffset: 100, resetEpoch: 1 })]);
    const reset = progress({ ackedOffset: 5, resetEpoch: 2 });
    await log.saveProgress(TOPIC, GROUP, [reset]);
    expect(await load(log, "k")).toEqual([reset]);
    await log.saveProgress(TOPIC, GROUP, [progress({ ackedOffset: 200, resetEpoch: 1 })]);
    expect(await load(log, "k")).toEqual([reset]);
  });

  test("another generation's save does not apply, in either direction", async () => {
    const { log } = await setup();
    await log.saveGroup(TOPIC, group({ generation: 5 }));
    const own = progress({ generation: 5, ackedOffset: 10 });
    await log.saveProgress(TOPIC, GROUP, [own]);
    await log.saveProgress(TOPIC, GROUP, [progress({ generation: 4, ackedOffset: 20, resetEpoch: 9 })]);
    await log.saveProgress(TOPIC, GROUP, [progress({ generation: 6, ackedOffset: 30 })]);
    expect(await load(log, "k")).toEqual([own]);
  });

  test("a group made anew starts over the rows of the deleted one", async () => {
    const { log } = await withGroup();
    await log.saveProgress(TOPIC, GROUP, [progress({ ackedOffset: 100, resetEpoch: 7 })]);
    await log.saveGroup(TOPIC, group({ deletedAtMs: 1 }));
    await log.saveProgress(TOPIC, GROUP, [progress({ ackedOffset: 200, resetEpoch: 7 })]);
    expect(await load(log, "k")).toEqual([progress({ ackedOffset: 100, resetEpoch: 7 })]);
    await log.saveGroup(TOPIC, group({ generation: 2 }));
    const anew = progress({ generation: 2, ackedOffset: 3, resetEpoch: 0 });
    await log.saveProgress(TOPIC, GROUP, [anew]);
    expect(await load(log, "k")).toEqual([anew]);
  });

  test("a group that was never saved keeps no progress", async () => {
    const { log } = await setup();
    await log.saveProgress(TOPIC, GROUP, [progress()]);
    expect(await load(log, "k")).toEqual([]);
  });

  test("progress is forgotten by partition or for the whole group", async () => {
    const { log } = await withGroup();
    await log.saveGroup(TOPIC, group({ group: "other" }));
    const saved = ["a", "b", "c"].map((partitionKey) => progress({ partitionKey }));
    await log.saveProgress(TOPIC, GROUP, saved);
    await log.saveProgress(TOPIC, "other", saved);
    await log.deleteProgress(TOPIC, GROUP, ["b", "none"]);
    expect(await load(log, "a", "b", "c")).toEqual([saved[0], saved[2]]);
    await log.deleteProgress(TOPIC, GROUP, []);
    expect(await load(log, "a", "b", "c")).toHaveLength(2);
    await log.deleteProgress(TOPIC, GROUP, null);
    expect(await load(log, "a", "b", "c")).toEqual([]);
    expect(await log.loadProgress(TOPIC, "other", ["a", "b", "c"])).toHaveLength(3);
  });
}
