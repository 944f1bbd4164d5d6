import { expect, test } from "vitest";
import { AssertionFailure } from "../../src/core/assert.ts";
import { MAX_DELETE_RANGE_ENTRIES } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, idsOf, message, messages, offsetsOf, publish, TOPIC } from "./samples.ts";

const EVER = Number.MAX_SAFE_INTEGER;

export function deleteCases(setup: MakeLog): void {
  test("ranges are deleted with both their ends, once", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(8));
    const ranges = [
      { first: at(offsets, 1), last: at(offsets, 3) },
      { first: at(offsets, 6), last: at(offsets, 6) },
    ];
    expect(await log.deleteRanges(TOPIC, ranges)).toEqual({ deleted: 4 });
    expect(await idsOf(log)).toEqual(["m0", "m4", "m5", "m7"]);
    expect(await log.deleteRanges(TOPIC, ranges)).toEqual({ deleted: 0 });
    expect(await log.deleteRanges(TOPIC, [])).toEqual({ deleted: 0 });
    expect(await log.deleteRanges("nothing", ranges)).toEqual({ deleted: 0 });
  });

  test("what is deleted is gone from every read", async () => {
    const { log } = await setup();
    const [gone, kept] = await publish(log, [
      message("gone", { partitionKey: "x", delayMs: 5 }),
      message("kept", { partitionKey: "y", delayMs: 5 }),
    ]);
    await log.deleteRanges(TOPIC, [{ first: gone ?? 0, last: gone ?? 0 }]);
    expect(await offsetsOf(log)).toEqual([kept]);
    expect(await log.readMessages(TOPIC, [gone ?? 0])).toEqual([]);
    expect(await log.findEntries(TOPIC, "gone", "x")).toEqual([]);
    expect(await log.listPartitions(TOPIC, { afterKey: null, maxPartitions: 10 })).toEqual([
      { partitionKey: "y", latestOffset: kept },
    ]);
    const due = { after: { dueAtMs: 0, offset: 0 }, throughDueMs: EVER, maxEntries: 10 };
    expect((await log.scanDue(TOPIC, due)).entries.map(({ offset }) => offset)).toEqual([kept]);
    expect(await log.countEntries(TOPIC, { afterOffset: 0, maxCount: 10 })).toBe(1);
  });

  test("G8: a deleted message's ID is forgotten", async () => {
    const { log } = await setup();
    const [offset] = await publish(log, [message("a"), message("b")]);
    await log.deleteRanges(TOPIC, [{ first: offset ?? 0, last: offset ?? 0 }]);
    const { results } = await log.append(TOPIC, [message("a"), message("b")]);
    expect(results).toEqual([{ duplicate: false }, { duplicate: true }]);
  });

  test("G9: offsets grow after everything was deleted, across a restart", async () => {
    const { log, reopen } = await setup();
    const offsets = await publish(log, messages(3));
    await log.deleteRanges(TOPIC, [{ first: 0, last: at(offsets, 2) }]);
    const reopened = await reopen();
    expect((await reopened.tail(TOPIC)).offset).toBeLessThanOrEqual(at(offsets, 2));
    const [next] = await publish(reopened, [message("a")]);
    expect(next).toBeGreaterThan(at(offsets, 2));
  });

  test("deleting an unbounded range does not move the tail up", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(3));
    expect(await log.deleteRanges(TOPIC, [{ first: 0, last: EVER }])).toEqual({ deleted: 3 });
    expect((await log.tail(TOPIC)).offset).toBeLessThanOrEqual(at(offsets, 2));
    const [next] = await publish(log, [message("a")]);
    expect(next).toBeGreaterThan(at(offsets, 2));
    expect((await log.tail(TOPIC)).offset).toBe(next);
  });

  test("a purge takes the oldest first, no more than asked and none above the offset", async () => {
    const { log } = await setup();
    const offsets = await publish(log, messages(6));
    const purge = (throughOffset: number, maxEntries: number) =>
      log.purge(TOPIC, { throughOffset, maxEntries });
    expect(await purge(at(offsets, 0) - 1, 10)).toEqual({ deleted: 0 });
    expect(await purge(at(offsets, 3), 3)).toEqual({ deleted: 3 });
    expect(await idsOf(log)).toEqual(["m3", "m4", "m5"]);
    expect(await purge(at(offsets, 3), 3)).toEqual({ deleted: 1 });
    expect(await purge(at(offsets, 3), 3)).toEqual({ deleted: 0 });
    expect(await purge(EVER, 2)).toEqual({ deleted: 2 });
    expect(await offsetsOf(log)).toEqual([]);
    expect(await log.purge("nothing", { throughOffset: EVER, maxEntries: 2 })).toEqual({ deleted: 0 });
  });

  test("a purge is bounded", async () => {
    const { log } = await setup();
    const tooMany = { throughOffset: EVER, maxEntries: MAX_DELETE_RANGE_ENTRIES + 1 };
    await expect(log.purge(TOPIC, tooMany)).rejects.toThrow(AssertionFailure);
    await expect(log.purge(TOPIC, { throughOffset: EVER, maxEntries: 0 })).rejects.toThrow(AssertionFailure);
  });

  test("purging one topic leaves another", async () => {
    const { log } = await setup();
    await log.append("other", messages(2));
    await publish(log, messages(2));
    await log.purge(TOPIC, { throughOffset: EVER, maxEntries: 10 });
    expect(await offsetsOf(log, "other")).toHaveLength(2);
  });
}
