import { expect, test } from "vitest";
import type { MessageLog, PartitionProgress } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { checkpoint, GROUP, group, reset, rowOf, rowOfReset, TOPIC } from "./samples.ts";

async function rowIn(log: MessageLog, partitionKey = "k"): Promise<PartitionProgress | undefined> {
  const [row] = await log.loadProgress(TOPIC, GROUP, [partitionKey]);
  return row;
}

export function resetCases(setup: MakeLog): void {
  const withGroup: MakeLog = async () => {
    const harness = await setup();
    await harness.log.saveGroup(TOPIC, group());
    return harness;
  };
  const full = checkpoint({
    ackedOffset: 100,
    resetEpoch: 1,
    unsettled: "7",
    ackedAbove: "120",
    due: { dueAtMs: 9, offset: 3 },
  });

  test("a reset replaces all of the row, back or forth", async () => {
    const { log, reopen } = await withGroup();
    await log.saveProgress(TOPIC, GROUP, [full]);
    const back = reset({ resetEpoch: 2, offset: 5 });
    await log.saveReset(TOPIC, GROUP, back);
    expect(await rowIn(await reopen())).toEqual(rowOfReset(back));
    const forth = reset({ resetEpoch: 4, offset: 2 ** 53 - 1 });
    await log.saveReset(TOPIC, GROUP, forth);
    expect(await rowIn(log)).toEqual(rowOfReset(forth));
    const toTheStart = reset({ resetEpoch: 5, offset: 0 });
    await log.saveReset(TOPIC, GROUP, toTheStart);
    expect(await rowIn(log)).toEqual(rowOfReset(toTheStart));
  });

  test("a reset of a partition without progress makes its row, and of no other partition", async () => {
    const { log } = await withGroup();
    await log.saveProgress(TOPIC, GROUP, [full]);
    const other = reset({ partitionKey: "K", resetEpoch: 2, offset: 7 });
    await log.saveReset(TOPIC, GROUP, other);
    expect(await rowIn(log, "K")).toEqual(rowOfReset(other));
    expect(await rowIn(log)).toEqual(rowOf(full));
  });

  test("a reset of the same or a lower epoch does nothing, so it may be sent again", async () => {
    const { log } = await withGroup();
    const done = reset({ resetEpoch: 3, offset: 5 });
    await log.saveReset(TOPIC, GROUP, done);
    const further = checkpoint({ resetEpoch: 3, ackedOffset: 8, ackedAbove: "10" });
    await log.saveProgress(TOPIC, GROUP, [further]);
    await log.saveReset(TOPIC, GROUP, done);
    await log.saveReset(TOPIC, GROUP, reset({ resetEpoch: 3, offset: 50 }));
    await log.saveReset(TOPIC, GROUP, reset({ resetEpoch: 2, offset: 50 }));
    expect(await rowIn(log)).toEqual(rowOf(further, 5));
  });

  test("a checkpoint leaves the reset offset as it is, of a higher epoch too", async () => {
    const { log } = await withGroup();
    await log.saveReset(TOPIC, GROUP, reset({ resetEpoch: 2, offset: 50 }));
    const sameEpoch = checkpoint({ resetEpoch: 2, ackedOffset: 60, unsettled: "1", ackedAbove: "2" });
    await log.saveProgress(TOPIC, GROUP, [sameEpoch]);
    expect(await rowIn(log)).toEqual(rowOf(sameEpoch, 50));
    // Another partition was reset meanwhile: the epoch is the group's.
    const higherEpoch = checkpoint({ resetEpoch: 3, ackedOffset: 70 });
    await log.saveProgress(TOPIC, GROUP, [higherEpoch]);
    expect(await rowIn(log)).toEqual(rowOf(higherEpoch, 50));
  });

  test("a checkpoint from before a reset does not apply", async () => {
    const { log } = await withGroup();
    const done = reset({ resetEpoch: 2, offset: 5 });
    await log.saveReset(TOPIC, GROUP, done);
    await log.saveProgress(TOPIC, GROUP, [{ ...full, ackedOffset: 200 }]);
    expect(await rowIn(log)).toEqual(rowOfReset(done));
    await log.saveProgress(TOPIC, GROUP, [checkpoint({ resetEpoch: 2, ackedOffset: 4 })]);
    expect(await rowIn(log)).toEqual(rowOfReset(done));
  });

  test("another generation's reset does not apply, in either direction", async () => {
    const { log } = await setup();
    await log.saveReset(TOPIC, GROUP, reset());
    expect(await rowIn(log)).toBeUndefined();
    await log.saveGroup(TOPIC, group({ generation: 5 }));
    await log.saveReset(TOPIC, GROUP, reset({ generation: 4, resetEpoch: 9 }));
    await log.saveReset(TOPIC, GROUP, reset({ generation: 6, resetEpoch: 9 }));
    expect(await rowIn(log)).toBeUndefined();
    const own = reset({ generation: 5, resetEpoch: 1 });
    await log.saveReset(TOPIC, GROUP, own);
    await log.saveReset(TOPIC, GROUP, reset({ generation: 4, resetEpoch: 9 }));
    expect(await rowIn(log)).toEqual(rowOfReset(own));
  });

  test("a group made anew has neither the rows nor the resets of the deleted one", async () => {
    const { log } = await withGroup();
    const keys = ["k", "K"];
    for (const partitionKey of keys) {
      await log.saveReset(TOPIC, GROUP, reset({ partitionKey, resetEpoch: 7, offset: 100 }));
    }
    await log.saveGroup(TOPIC, group({ deletedAtMs: 1 }));
    await log.saveReset(TOPIC, GROUP, reset({ resetEpoch: 8, offset: 1 }));
    expect((await rowIn(log))?.resetOffset).toBe(100);
    await log.saveGroup(TOPIC, group({ generation: 2 }));
    const anew = reset({ generation: 2, resetEpoch: 1, offset: 3 });
    await log.saveReset(TOPIC, GROUP, anew);
    expect(await rowIn(log)).toEqual(rowOfReset(anew));
    const checkpointed = checkpoint({ partitionKey: "K", generation: 2, ackedOffset: 4 });
    await log.saveProgress(TOPIC, GROUP, [checkpointed]);
    expect(await rowIn(log, "K")).toEqual(rowOf(checkpointed, 0));
  });

  test("the highest reset epoch is that of the generation's rows, 0 without any", async () => {
    const { log } = await withGroup();
    await log.saveGroup(TOPIC, group({ group: "other" }));
    const highest = (generation: number) => log.highestResetEpoch(TOPIC, GROUP, generation);
    expect(await highest(1)).toBe(0);
    await log.saveProgress(TOPIC, GROUP, [
      checkpoint({ partitionKey: "a", resetEpoch: 2 }),
      checkpoint({ partitionKey: "b", resetEpoch: 5 }),
      checkpoint({ partitionKey: "c" }),
    ]);
    expect(await highest(1)).toBe(5);
    await log.saveReset(TOPIC, GROUP, reset({ partitionKey: "a", resetEpoch: 1_700_000_000_000 }));
    await log.saveReset(TOPIC, "other", reset({ resetEpoch: 1_700_000_000_001 }));
    expect(await highest(1)).toBe(1_700_000_000_000);
    expect(await highest(2)).toBe(0);
    expect(await log.highestResetEpoch("nothing", GROUP, 1)).toBe(0);

    await log.saveGroup(TOPIC, group({ generation: 2 }));
    await log.saveReset(TOPIC, GROUP, reset({ partitionKey: "a", generation: 2, resetEpoch: 3 }));
    expect([await highest(2), await highest(1)]).toEqual([3, 5]);
    await log.deleteProgress(TOPIC, GROUP, null);
    expect([await highest(2), await highest(1)]).toEqual([0, 0]);
  });
}
