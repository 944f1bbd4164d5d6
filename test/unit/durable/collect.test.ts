import { describe, expect, test } from "vitest";
import { MAX_RETENTION_MS, NOTHING, RETENTION_MS, collecting as setup } from "./collecting.ts";
import { ids, numbered, settled } from "./harness.ts";

describe("G10 collection is safe: what goes", () => {
  test("G10: settled by every group and retention passed, not a millisecond before", async () => {
    const { bench, collect, stored } = await setup();
    await bench.publish("t", numbered(3));
    await bench.drain("t", "g");
    await bench.advance(RETENTION_MS - 1);
    expect(await collect()).toBe(0);
    await bench.advance(1);
    expect(await bench.call("collect", {})).toMatchObject({ ...NOTHING, deletedMessages: 3 });
    expect(await stored()).toEqual([]);
    expect(await collect()).toBe(0);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, expired: 0 });
  });

  test("G10: what a group has not settled stays, whatever state it is in", async () => {
    const { bench, collect, stored } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 100, leaseDurationMs: 3_600_000 });
    await bench.publish("t", [...numbered(6), { id: "late", delayMs: RETENTION_MS + 5000 }]);
    await bench.publish("t", numbered(2, "other", "o"));
    const taken = await bench.take("t", "g", { maxMessages: 7, visibilityTimeoutMs: 50_000 });
    const of = (id: string) => taken.filter((delivery) => delivery.id === id);
    await bench.settle("t", "g", of("m1"));
    await bench.settle("t", "g", of("m2"), { action: "nack", delayMs: 50_000 });
    await bench.settle("t", "g", of("m3"), { action: "postpone", delayMs: 50_000 });
    await bench.settle("t", "g", of("o0"));
    await bench.advance(RETENTION_MS);
    expect(await collect()).toBe(2);
    expect(await stored()).toEqual(["m0", "m2", "m3", "m4", "m5", "late", "o1"]);
    bench.restart();
    expect(await collect()).toBe(0);
  });

  test("G6 groups are independent: every group must have settled it, and a deleted one holds nothing", async () => {
    const { bench, collect } = await setup();
    await bench.putGroup("t", "slow");
    await bench.putGroup("t", "gone");
    await bench.publish("t", numbered(3));
    await bench.drain("t", "fast");
    await bench.advance(RETENTION_MS);
    expect(await collect()).toBe(0);
    await bench.drain("t", "slow");
    expect(await collect()).toBe(0);
    await bench.call("deleteGroup", { topic: "t", group: "gone", force: false });
    expect(await collect()).toBe(3);
  });

  test("G10: without a group only age takes a message", async () => {
    const { bench, collect } = await setup();
    await bench.publish("t", numbered(3));
    await bench.advance(MAX_RETENTION_MS - 1);
    expect(await collect()).toBe(0);
    await bench.advance(1);
    expect(await collect()).toBe(3);
  });

  test("G10: a group that begins later holds back what it still has to read", async () => {
    const { bench, collect } = await setup();
    await bench.publish("t", numbered(3));
    await bench.drain("t", "g");
    await bench.advance(RETENTION_MS);
    await bench.putGroup("t", "late");
    expect(await collect()).toBe(0);
    await bench.putGroup("t", "latest", { startFrom: "latest" });
    await bench.drain("t", "late");
    expect(await collect()).toBe(3);
  });

  test("G8 dedup: an ID is remembered as long as its message is retained, consumed or not", async () => {
    const { bench, collect } = await setup();
    await bench.publish("t", numbered(1));
    await bench.drain("t", "g");
    await bench.advance(RETENTION_MS - 1);
    await collect();
    expect(await bench.publish("t", numbered(1))).toEqual([]);
    await bench.advance(1);
    await collect();
    expect(await bench.publish("t", numbered(1))).toHaveLength(1);
  });

  test("G6 groups are independent: a redriven copy waits for its own group only", async () => {
    const { bench, collect } = await setup();
    await bench.putGroup("t", "h");
    await bench.publish("t", numbered(1));
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "reject" });
    await bench.drain("t", "h");
    await bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    await bench.advance(RETENTION_MS);
    await bench.take("t", "h");
    expect(await collect()).toBe(1);
    await bench.drain("t", "g");
    expect(await collect()).toBe(1);
  });
});

describe("G10 collection is safe: age", () => {
  test("G10: too old goes unsettled from wherever it is, and counts as expired for that group only", async () => {
    const { bench, collect, stored } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 2, maxAttempts: 1000 });
    await bench.putGroup("t", "never");
    await bench.publish("t", numbered(30));
    const [m0, ...others] = await bench.take("t", "g", { visibilityTimeoutMs: 200_000 });
    await bench.settle("t", "g", others, { action: "nack", delayMs: 200_000 });
    await bench.drain("t", "done");
    await bench.drain("t", "g");
    await bench.advance(MAX_RETENTION_MS);
    expect(await collect()).toBe(30);
    expect(await stored()).toEqual([]);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, inFlight: 0 });
    expect(await bench.groupStats("t", "never")).toMatchObject({ backlog: 0, expired: 30 });
    expect(await bench.groupStats("t", "done")).toMatchObject({ backlog: 0, expired: 0 });
    expect(await bench.settle("t", "g", m0 ? [m0] : [])).toEqual(["settled"]);
    expect(await collect()).toBe(0);
    expect(await bench.groupStats("t", "never")).toMatchObject({ expired: 30 });
  });

  test("G10: each unsettled message is counted once, also when a pass and a receive meet", async () => {
    const { bench, collect } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 3 });
    await bench.publish("t", numbered(50));
    const [m0] = await bench.take("t", "g", { maxMessages: 3 });
    await bench.settle("t", "g", m0 ? [m0] : []);
    await bench.advance(MAX_RETENTION_MS);
    await Promise.all([
      collect(),
      bench.take("t", "g"),
      bench.take("t", "g", { subscriber: "s2" }),
      collect(),
    ]);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, expired: 49 });
  });

  test("frees a strict lane and wakes who waits for it", async () => {
    const { bench, collect } = await setup();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1, leaseDurationMs: 3_600_000 });
    await bench.publish("t", numbered(1));
    await bench.take("t", "g", { visibilityTimeoutMs: 200_000 });
    await bench.advance(MAX_RETENTION_MS);
    await bench.publish("t", numbered(1, "k", "next"));
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await settled();
    expect(await collect()).toBe(1);
    expect(ids(await waiting)).toEqual(["next0"]);
  });

  test("what a reset passed over does not count as expired, although nobody ever scanned it", async () => {
    const { bench, collect } = await setup();
    await bench.putGroup("t", "g");
    const offsets = await bench.publish("t", numbered(3));
    await bench.call("resetOffset", { topic: "t", group: "g", partitionKey: "k", offset: offsets[1] ?? 0 });
    await bench.advance(MAX_RETENTION_MS);
    expect(await collect()).toBe(3);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, expired: 1 });
  });

  test("counts from when a message was due", async () => {
    const { bench, collect } = await setup();
    await bench.putGroup("t", "g");
    await bench.publish("t", [{ id: "late", delayMs: 20_000 }, ...numbered(1)]);
    await bench.advance(MAX_RETENTION_MS);
    expect(await collect()).toBe(1);
    await bench.advance(20_000 - 1);
    expect(await collect()).toBe(0);
    await bench.advance(1);
    expect(await collect()).toBe(1);
    expect(await bench.groupStats("t", "g")).toMatchObject({ expired: 2 });
  });

  test("a message whose dead letter is decided stays until the copy is made", async () => {
    const { bench, collect, stored } = await setup();
    await bench.publish("t", numbered(1));
    bench.withLog(() => ({
      copyToDeadLetters: async () => {
        throw new Error("the log is gone");
      },
    }));
    const taken = await bench.take("t", "g");
    await bench.engine.call("settle", {
      topic: "t",
      group: "g",
      subscriber: null,
      settlements: taken.map(({ receipt }) => ({ receipt, action: "reject" as const })),
    });
    bench.nowMs += MAX_RETENTION_MS;
    expect(await bench.failure("collect", {})).toBe("internal");
    expect(await stored()).toEqual(["m0"]);
    bench.restart();
    expect(await collect()).toBe(1);
    expect(await stored("t_dlq")).toEqual(["m0"]);
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, expired: 0 });
  });

  test("G11 no leak: a pass that dies at any step leaves no hold behind, and the next one finishes", async () => {
    for (const step of ["before the rows go", "after"]) {
      const { bench, collect } = await setup();
      await bench.putGroup("t", "g", { maxInFlightPerPartition: 2 });
      await bench.putGroup("t", "never");
      await bench.publish("t", numbered(5));
      await bench.take("t", "g", { visibilityTimeoutMs: 200_000 });
      await bench.advance(MAX_RETENTION_MS);
      bench.withLog((log) => ({
        deleteRanges: async (topic, ranges) => {
          if (step === "after") await log.deleteRanges(topic, ranges);
          throw new Error("the object dies");
        },
      }));
      expect(await bench.failure("collect", {})).toBe("internal");
      bench.restart();
      await collect();
      expect(await bench.call("getTopic", { topic: "t" })).toMatchObject({ messages: 0 });
      expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, inFlight: 0, expired: 5 });
      // Of the first page of two, what was never delivered misses in the figure; nothing is counted twice.
      expect(await bench.groupStats("t", "never")).toMatchObject({
        backlog: 0,
        expired: step === "after" ? 3 : 5,
      });
    }
  });
});
