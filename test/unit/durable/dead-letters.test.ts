import { describe, expect, test } from "vitest";
import { Bench, ids, numbered, settled } from "./harness.ts";

const list = { topic: "t", after: 0, limit: 100 };
const all = { topic: "t", ids: null, group: null, limit: null };

/** The group rejects everything that it has not settled. */
async function reject(bench: Bench, group = "g", topic = "t"): Promise<void> {
  await bench.putGroup(topic, group, { maxInFlightPerPartition: 1000 });
  for (;;) {
    const taken = await bench.take(topic, group, { maxMessages: 100 });
    if (taken.length === 0) return;
    await bench.settle(topic, group, taken, { action: "reject", reason: `no use to ${group}` });
  }
}

async function setup(count = 3) {
  const bench = new Bench();
  await bench.publish("t", numbered(count));
  await reject(bench);
  return bench;
}

describe("deadLetters", () => {
  test("shows group, reason, attempts and time, page by page", async () => {
    const bench = await setup(3);
    const first = await bench.call("deadLetters", { ...list, limit: 2 });
    expect(first.deadLetters[0]).toEqual({
      id: "m0",
      partitionKey: "k",
      group: "g",
      reason: "no use to g",
      attempts: 1,
      failedAt: bench.nowMs,
      offset: expect.any(Number),
    });
    expect(first.next).toBe(first.deadLetters[1]?.offset);
    const second = await bench.call("deadLetters", { ...list, limit: 2, after: Number(first.next) });
    expect(ids(second.deadLetters)).toEqual(["m2"]);
    expect(second.next).toBeNull();
  });

  test("a topic without any has none; an unknown one is not found; a dead-letter topic is refused", async () => {
    const bench = new Bench();
    expect(await bench.failure("deadLetters", list)).toBe("not-found");
    await bench.publish("t", numbered(1));
    expect(await bench.call("deadLetters", list)).toEqual({ deadLetters: [], next: null });
    await reject(bench);
    const named = { ...all, topic: "t_dlq" };
    expect(await bench.failure("deadLetters", { ...list, topic: "t_dlq" })).toBe("invalid-request");
    expect(await bench.failure("redrive", named)).toBe("invalid-request");
    expect(await bench.failure("purgeDeadLetters", { topic: "t_dlq" })).toBe("invalid-request");
  });
});

describe("redrive", () => {
  test("G6 groups are independent: puts all back for the group that failed them, for no other", async () => {
    const bench = await setup(3);
    await bench.drain("t", "h");
    expect(await bench.call("redrive", all)).toEqual({ redriven: 3 });
    expect(await bench.call("deadLetters", list)).toEqual({ deadLetters: [], next: null });
    const again = await bench.take("t", "g");
    expect(again.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["m0", 1],
      ["m1", 1],
      ["m2", 1],
    ]);
    expect(await bench.take("t", "h")).toEqual([]);
    expect(await bench.groupStats("t", "h")).toMatchObject({ backlog: 0, oldestUnsettledAt: null });
    expect(await bench.call("redrive", all)).toEqual({ redriven: 0 });
  });

  test("by ID and key, by group and by number", async () => {
    const bench = await setup(3);
    await reject(bench, "h");
    const m1 = [{ id: "m1", partitionKey: "k" }];
    expect(await bench.call("redrive", { ...all, ids: m1, group: "g" })).toEqual({ redriven: 1 });
    expect(await bench.call("redrive", { ...all, group: "h", limit: 2 })).toEqual({ redriven: 2 });
    const left = (await bench.call("deadLetters", list)).deadLetters.map(({ id, group }) => `${id} ${group}`);
    expect(left).toEqual(["m0 g", "m2 g", "m2 h"]);
    expect(await bench.call("redrive", { ...all, ids: [...m1, ...m1] })).toEqual({ redriven: 0 });
    expect(await bench.call("redrive", { ...all, ids: [{ id: "m2", partitionKey: "k" }] })).toEqual({
      redriven: 2,
    });
    expect(await bench.call("redrive", { ...all, group: "nobody" })).toEqual({ redriven: 0 });
  });

  test("a hundred by default, a thousand at most", async () => {
    const bench = new Bench();
    for (let batch = 0; batch < 12; batch += 1) await bench.publish("t", numbered(100, `k${batch}`));
    await reject(bench);
    expect(await bench.call("redrive", all)).toEqual({ redriven: 100 });
    expect(await bench.call("redrive", { ...all, limit: 5000 })).toEqual({ redriven: 1000 });
    expect(await bench.call("redrive", { ...all, limit: 1000 })).toEqual({ redriven: 100 });
  });

  test("those of a deleted group stay, are not counted, and hide no others", async () => {
    const bench = await setup(3);
    await reject(bench, "h");
    await bench.call("deleteGroup", { topic: "t", group: "g", force: true });
    expect(await bench.call("redrive", { ...all, limit: 2 })).toEqual({ redriven: 2 });
    const left = (await bench.call("deadLetters", list)).deadLetters.map(({ id, group }) => `${id} ${group}`);
    expect(left).toEqual(["m0 g", "m1 g", "m2 g", "m2 h"]);
  });

  test("wakes who waits on the original topic", async () => {
    const bench = await setup(1);
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await settled();
    await bench.call("redrive", all);
    expect(ids(await waiting)).toEqual(["m0"]);
  });

  test("ends what the groups of the dead-letter topic held of them, counted nowhere", async () => {
    const bench = await setup(2);
    const inspected = await bench.take("t_dlq", "inspect");
    await bench.call("redrive", all);
    expect(await bench.settle("t_dlq", "inspect", inspected)).toEqual(["settled", "settled"]);
    expect(await bench.groupStats("t_dlq", "inspect")).toMatchObject({ backlog: 0, inFlight: 0, expired: 0 });
  });

  test("a message fails, is redriven and fails again: one dead letter at a time", async () => {
    const bench = await setup(1);
    for (let round = 0; round < 3; round += 1) {
      expect(await bench.call("redrive", all)).toEqual({ redriven: 1 });
      await reject(bench);
      expect((await bench.call("deadLetters", list)).deadLetters).toHaveLength(1);
    }
  });

  test("an unknown topic is not found", async () => {
    expect(await new Bench().failure("redrive", all)).toBe("not-found");
  });
});

describe("purgeDeadLetters", () => {
  test("removes them and nothing else", async () => {
    const bench = await setup(3);
    expect(await bench.call("purgeDeadLetters", { topic: "t" })).toEqual({ deleted: 3 });
    expect(await bench.call("purgeDeadLetters", { topic: "t" })).toEqual({ deleted: 0 });
    expect(await bench.call("redrive", all)).toEqual({ redriven: 0 });
    const { messages } = await bench.call("listMessages", {
      topic: "t",
      partitionKey: null,
      after: 0,
      limit: 10,
    });
    expect(ids(messages)).toEqual(["m0", "m1", "m2"]);
  });

  test("a topic without any has none to purge; an unknown one is not found", async () => {
    const bench = new Bench();
    expect(await bench.failure("purgeDeadLetters", { topic: "t" })).toBe("not-found");
    await bench.publish("t", numbered(1));
    expect(await bench.call("purgeDeadLetters", { topic: "t" })).toEqual({ deleted: 0 });
  });
});
