import { describe, expect, test } from "vitest";
import { Bench, ids, numbered, settled } from "./harness.ts";

const ref = { topic: "t", group: "g", partitionKey: "k" };

/** A group that has consumed five messages of one partition. */
async function setup() {
  const bench = new Bench();
  await bench.putGroup("t", "g", { maxInFlightPerPartition: 100 });
  const offsets = await bench.publish("t", numbered(5));
  await bench.publish("t", numbered(2, "other", "o"));
  const drained = await bench.drain("t", "g");
  const reset = (offset: number) => bench.call("resetOffset", { ...ref, offset });
  return { bench, offsets, drained, reset, at: (place: number): number => offsets[place] ?? 0 };
}

describe("backwards", () => {
  test("0 is the beginning, and attempts begin anew; other partitions stay as they are", async () => {
    const { bench, reset } = await setup();
    expect(await reset(0)).toEqual({ partitionKey: "k", acked: 0 });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 5, inFlight: 0 });
    const again = await bench.take("t", "g");
    expect(again.map(({ id, attempt }) => `${id} ${attempt}`)).toEqual([
      "m0 1",
      "m1 1",
      "m2 1",
      "m3 1",
      "m4 1",
    ]);
  });

  test("to the middle; a second one counts from the log, not from the first", async () => {
    const { bench, reset, at } = await setup();
    expect(await reset(at(1))).toEqual({ partitionKey: "k", acked: at(1) });
    expect(ids(await bench.drain("t", "g"))).toEqual(["m2", "m3", "m4"]);
    await reset(at(3));
    expect(ids(await bench.take("t", "g"))).toEqual(["m4"]);
    await reset(0);
    expect(ids(await bench.take("t", "g"))).toEqual(["m0", "m1", "m2", "m3", "m4"]);
  });

  test("survives the loss of the object right after it", async () => {
    const { bench, reset, at } = await setup();
    await reset(at(2));
    bench.restart();
    expect(ids(await bench.take("t", "g"))).toEqual(["m3", "m4"]);
    bench.restart();
    expect(await bench.take("t", "g")).toEqual([]);
  });

  test("G5 fencing: ends the deliveries under way", async () => {
    const { bench, reset } = await setup();
    await bench.publish("t", numbered(2, "k", "more"));
    const taken = await bench.take("t", "g");
    await reset(0);
    expect(await bench.settle("t", "g", taken)).toEqual(["stale", "stale"]);
    expect(ids(await bench.take("t", "g"))).toEqual(["m0", "m1", "m2", "m3", "m4", "more0", "more1"]);
  });

  test("G6 groups are independent: no other group sees it", async () => {
    const { bench, reset } = await setup();
    await bench.drain("t", "h");
    await reset(0);
    expect(await bench.take("t", "h")).toEqual([]);
  });

  test("wakes who waits", async () => {
    const { bench, reset } = await setup();
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await settled();
    await reset(0);
    expect(ids(await waiting)).toEqual(["m0", "m1", "m2", "m3", "m4"]);
  });

  test("holds of the partition end: a strict lane with a postponed message begins anew", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1 });
    await bench.publish("t", numbered(2));
    await bench.settle("t", "g", await bench.take("t", "g"), { action: "postpone", delayMs: 60_000 });
    await bench.call("resetOffset", { ...ref, offset: 0 });
    expect(ids(await bench.take("t", "g"))).toEqual(["m0"]);
  });
});

describe("forwards", () => {
  test("skips what lies before, delivered or not", async () => {
    const bench = new Bench();
    const offsets = await bench.publish("t", numbered(6));
    const taken = await bench.take("t", "g", { maxMessages: 2 });
    const offset = offsets[3] ?? 0;
    expect(await bench.call("resetOffset", { ...ref, offset })).toEqual({ partitionKey: "k", acked: offset });
    expect(await bench.settle("t", "g", taken)).toEqual(["settled", "settled"]);
    expect(ids(await bench.take("t", "g"))).toEqual(["m4", "m5"]);
  });

  test("past what the group has scanned: skips it there too, and goes on behind it", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const offsets = await bench.publish("t", numbered(5));
    await bench.publish("t", numbered(1, "other", "o"));
    await bench.call("resetOffset", { ...ref, offset: offsets[2] ?? 0 });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 3 });
    bench.restart();
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 3 });
    expect(ids(await bench.drain("t", "g")).sort()).toEqual(["m3", "m4", "o0"]);
    await bench.publish("t", numbered(1, "k", "next"));
    expect(ids(await bench.drain("t", "g"))).toEqual(["next0"]);
  });

  test("to the end or beyond: clamped to the topic's tail, and later messages come", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.publish("t", numbered(3));
    const { offset: tail } = await bench.log.tail("t");
    expect(await bench.call("resetOffset", { ...ref, offset: Number.MAX_SAFE_INTEGER })).toMatchObject({
      acked: tail,
    });
    expect(await bench.groupStats("t", "g")).toMatchObject({ backlog: 0, oldestUnsettledAt: null });
    expect(await bench.take("t", "g")).toEqual([]);
    await bench.publish("t", numbered(1, "k", "next"));
    expect(ids(await bench.take("t", "g"))).toEqual(["next0"]);
  });

  test("lag follows", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const offsets = await bench.publish("t", numbered(4));
    await bench.call("resetOffset", { ...ref, offset: offsets[1] ?? 0 });
    const { partitions } = await bench.call("lag", { topic: "t", group: "g", after: null, limit: 10 });
    expect(partitions).toEqual([{ partitionKey: "k", acked: offsets[1], latest: offsets[3], lag: 2 }]);
  });
});

describe("progress in the log", () => {
  test("is written before the object adopts it: a reset that fails there changes nothing", async () => {
    const { bench } = await setup();
    bench.withLog(() => ({
      saveReset: async () => {
        throw new Error("the log is gone");
      },
    }));
    expect(await bench.failure("resetOffset", { ...ref, offset: 0 })).toBe("internal");
    bench.restart();
    expect(await bench.take("t", "g")).toEqual([]);
  });

  test("the epoch grows, also past one that was written and never adopted", async () => {
    const { bench, reset, at } = await setup();
    await reset(at(1));
    const [saved] = await bench.log.loadProgress("t", "g", ["k"]);
    expect(saved).toMatchObject({ ackedOffset: at(1), resetEpoch: 1 });
    const generation = saved?.generation ?? 0;
    const lost = { partitionKey: "k", generation, resetEpoch: 5, offset: at(4) };
    await bench.log.saveReset("t", "g", lost);
    await reset(at(2));
    expect(await bench.log.loadProgress("t", "g", ["k"])).toMatchObject([
      { ackedOffset: at(2), resetEpoch: 6 },
    ]);
    expect(ids(await bench.take("t", "g"))).toEqual(["m3", "m4"]);
  });

  test("resets that meet all take effect in the log, and the last one stays", async () => {
    const { bench, reset, at } = await setup();
    await Promise.all([reset(at(3)), reset(0), reset(at(1))]);
    const [saved] = await bench.log.loadProgress("t", "g", ["k"]);
    const expected = ["m0", "m1", "m2", "m3", "m4"].filter(
      (_, place) => at(place) > (saved?.ackedOffset ?? 0),
    );
    expect(ids(await bench.take("t", "g"))).toEqual(expected);
  });

  test("a dead letter decided after a reset is another one than before it", async () => {
    const { bench, reset } = await setup();
    for (let round = 0; round < 2; round += 1) {
      await reset(0);
      await bench.settle("t", "g", await bench.take("t", "g", { maxMessages: 1 }), { action: "reject" });
    }
    const { deadLetters } = await bench.call("deadLetters", { topic: "t", after: 0, limit: 10 });
    expect(ids(deadLetters)).toEqual(["m0", "m0"]);
  });
});

test("an unknown group is not found", async () => {
  const { bench } = await setup();
  expect(await bench.failure("resetOffset", { ...ref, group: "x", offset: 0 })).toBe("not-found");
});

test("a partition that holds nothing can be reset", async () => {
  const { bench } = await setup();
  expect(await bench.call("resetOffset", { ...ref, partitionKey: "new", offset: 0 })).toMatchObject({
    acked: 0,
  });
  expect(bench.count("queue_offsets")).toBe(0);
  await bench.publish("t", numbered(1, "new", "n"));
  expect(ids(await bench.take("t", "g"))).toEqual(["n0"]);
});
