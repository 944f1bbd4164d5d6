import { describe, expect, test } from "vitest";
import { Bench, numbered } from "./harness.ts";

const none = { backlog: 0, inFlight: 0, subscribers: 0, oldestUnsettledAt: null, expired: 0, dropped: 0 };

describe("getTopic", () => {
  test("an unknown topic is not found", async () => {
    expect(await new Bench().failure("getTopic", { topic: "t" })).toBe("not-found");
  });

  test("an empty topic has nothing", async () => {
    const bench = new Bench();
    await bench.call("putTopic", { topic: "t", settings: { retentionMs: 1000, maxRetentionMs: 2000 } });
    await bench.putGroup("t", "g");
    expect(await bench.call("getTopic", { topic: "t" })).toEqual({
      topic: "t",
      messages: 0,
      partitions: 0,
      oldestPublishedAt: null,
      retentionMs: 1000,
      maxRetentionMs: 2000,
      groups: [{ group: "g", ...none }],
    });
  });

  test("G6 groups are independent: each has its own backlog, wherever its messages are", async () => {
    const bench = new Bench();
    const publishedAt = bench.nowMs;
    await bench.publish("t", [...numbered(30, "a", "a"), ...numbered(2, "b", "b")]);
    await bench.advance(10);
    await bench.publish("t", numbered(1, "c", "c"));
    await bench.putGroup("t", "idle");
    const taken = await bench.take("t", "g", { maxMessages: 5 });
    await bench.settle("t", "g", taken.slice(0, 2));
    await bench.settle("t", "g", taken.slice(2, 3), { action: "nack", delayMs: 60_000 });
    const view = await bench.call("getTopic", { topic: "t" });
    expect(view).toMatchObject({ messages: 33, partitions: 3, oldestPublishedAt: publishedAt });
    expect(view.groups).toEqual([
      { ...none, group: "g", backlog: 31, inFlight: 2, subscribers: 1, oldestUnsettledAt: publishedAt },
      { ...none, group: "idle", backlog: 33, oldestUnsettledAt: publishedAt },
    ]);
    bench.restart();
    expect(await bench.call("getTopic", { topic: "t" })).toEqual(view);
  });

  test("what lapsed is in the backlog and not in flight; a dead subscriber does not count", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(2));
    await bench.take("t", "g");
    bench.nowMs += 30_000;
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 2, inFlight: 0, subscribers: 0 });
  });

  test("oldestUnsettledAt moves on as messages are settled", async () => {
    const bench = new Bench();
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      times.push(bench.nowMs);
      await bench.publish("t", numbered(1, `k${round % 2}`, `r${round}-`));
      await bench.advance(100);
    }
    const taken = await bench.take("t", "g");
    for (const [at, delivery] of taken.sort((a, b) => a.offset - b.offset).entries()) {
      expect(await bench.groupStats("t", "g")).toMatchObject({ oldestUnsettledAt: times[at] });
      await bench.settle("t", "g", [delivery]);
    }
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, oldestUnsettledAt: null });
  });

  test("delayed messages count once: before, at and after they are due", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 100 });
    await bench.publish("t", [{ id: "d0", delayMs: 5000 }, { id: "d1", delayMs: 6000 }, ...numbered(3)]);
    const backlog = async () => (await bench.groupStats("t", "g")).backlog;
    expect(await backlog()).toBe(5);
    const publishedAt = bench.nowMs;
    await bench.drain("t", "g");
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 2, oldestUnsettledAt: publishedAt });
    await bench.advance(5500);
    expect(await backlog()).toBe(2);
    const [taken] = await bench.take("t", "g");
    expect(taken?.id).toBe("d0");
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 2, inFlight: 1 });
    await bench.advance(1000);
    expect((await bench.drain("t", "g")).map(({ id }) => id)).toEqual(["d1"]);
    expect(await backlog()).toBe(1);
  });

  test("a lane that lags behind the scan is counted in the log", async () => {
    const bench = new Bench();
    for (let batch = 0; batch < 3; batch += 1) await bench.publish("t", numbered(100, "deep", `${batch}-`));
    await bench.publish("t", numbered(1, "other"));
    await bench.take("t", "g", { maxMessages: 100 });
    await bench.advance(100);
    await bench.take("t", "g", { maxMessages: 100 });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 301 });
    bench.restart();
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 301 });
  });

  test("what a lane still has to read again after a restart counts for the oldest", async () => {
    const bench = new Bench();
    const publishedAt = bench.nowMs;
    await bench.publish("t", numbered(8));
    await bench.advance(100);
    await bench.publish("t", numbered(1, "later"));
    await bench.settle("t", "g", await bench.take("t", "g", { maxMessages: 5 }));
    await bench.take("t", "g", { maxMessages: 1, subscriber: "s2", visibilityTimeoutMs: 1000 });
    bench.restart();
    expect(await bench.groupStats("t", "g")).toMatchObject({ oldestUnsettledAt: publishedAt });
  });

  test("a group from latest has nothing of what was there before", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.putGroup("t", "g", { startFrom: "latest" });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, oldestUnsettledAt: null });
    await bench.publish("t", numbered(2, "k", "new"));
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 2 });
  });

  test("dropped messages are counted for the group that dropped them", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { deadLetters: false });
    await bench.publish("t", numbered(2));
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "reject" });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, dropped: 2, expired: 0 });
  });

  test("counts are exact to 10,000 and then a lower bound that says so", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.putGroup("t", "half", { maxInFlightPerPartition: 1000 });
    const publish = async (count: number, batch: number) =>
      bench.call("publish", {
        topic: "t",
        messages: Array.from({ length: count }, (_, at) => ({
          id: `${batch}-${at}`,
          partitionKey: `k${batch % 7}`,
          body: "1",
          contentType: null,
          headers: "",
          delayMs: 0,
        })),
      });
    for (let batch = 0; batch < 100; batch += 1) await publish(100, batch);
    const exact = await bench.call("getTopic", { topic: "t" });
    expect(exact).toMatchObject({ messages: 10_000, partitions: 7 });
    expect(exact).not.toHaveProperty("atLeast");
    expect(exact.groups.map(({ backlog, atLeast }) => [backlog, atLeast])).toEqual([
      [10_000, undefined],
      [10_000, undefined],
    ]);
    await publish(1, 100);
    await bench.settle("t", "half", await bench.take("t", "half", { maxMessages: 50 }));
    const more = await bench.call("getTopic", { topic: "t" });
    expect(more).toMatchObject({ messages: 10_000, atLeast: true });
    expect(more.groups.map(({ backlog, atLeast }) => [backlog, atLeast])).toEqual([
      [10_000, true],
      [9951, undefined],
    ]);
  });
});
