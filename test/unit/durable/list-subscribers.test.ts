import { describe, expect, test } from "vitest";
import { Bench, numbered, settled } from "./harness.ts";
import { watchLog } from "./observing.ts";

const ref = { topic: "t", group: "g" };

async function view(bench: Bench, name: string) {
  const { subscribers } = await bench.call("subscribers", ref);
  return subscribers.find(({ subscriber }) => subscriber === name) ?? expect.fail(`no ${name}`);
}

describe("subscribers", () => {
  test("an unknown group or topic is not found", async () => {
    const bench = new Bench();
    expect(await bench.failure("subscribers", ref)).toBe("not-found");
    await bench.publish("t", numbered(1));
    expect(await bench.failure("subscribers", ref)).toBe("not-found");
  });

  test("a group that nobody reads has none", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.putGroup("t", "g");
    const reply = await bench.call("subscribers", ref);
    expect(reply).toEqual({ subscribers: [], share: 0, busyLanes: 0, freeLanes: 0 });
  });

  test("each with its lanes and deliveries, in order of names", async () => {
    const bench = new Bench();
    const keys = ["a", "b", "c", "d", "e"];
    await bench.publish(
      "t",
      keys.flatMap((key) => numbered(3, key, key)),
    );
    const seenAt = bench.nowMs;
    await bench.take("t", "g", { subscriber: "zoe", maxMessages: 3 });
    const taken = await bench.take("t", "g", { subscriber: "ann", maxMessages: 2 });
    const { subscribers, share, busyLanes, freeLanes } = await bench.call("subscribers", ref);
    expect(subscribers.map(({ subscriber }) => subscriber)).toEqual(["ann", "zoe"]);
    expect(subscribers[0]).toEqual({
      subscriber: "ann",
      asking: true,
      lanes: 2,
      busyLanes: 2,
      inFlight: 2,
      oldestDeliveryAt: seenAt,
      partitions: taken.map(({ partitionKey }) => partitionKey).sort(),
      lastSeenAt: seenAt,
      expiresAt: seenAt + 30_000,
    });
    expect(subscribers[1]).toMatchObject({ lanes: 3, inFlight: 3 });
    expect({ share, busyLanes, freeLanes }).toEqual({ share: 3, busyLanes: 5, freeLanes: 0 });
  });

  test("lanes without work are held and not busy; free ones are counted", async () => {
    const bench = new Bench();
    await bench.publish("t", [...numbered(1, "a", "a"), ...numbered(1, "b", "b"), ...numbered(1, "c", "c")]);
    await bench.settle("t", "g", await bench.take("t", "g", { maxMessages: 2 }));
    await bench.take("t", "g", { subscriber: "s2", maxMessages: 1 });
    expect(await view(bench, "s1")).toMatchObject({ lanes: 2, busyLanes: 0, inFlight: 0 });
    await bench.call("releaseLease", { ...ref, partitionKey: "c" });
    expect(await bench.call("subscribers", ref)).toMatchObject({ busyLanes: 1, freeLanes: 1 });
    expect(await view(bench, "s2")).toMatchObject({ lanes: 0, inFlight: 1, partitions: [] });
  });

  test("deliveries count for who has them, also in a lane that is another's now", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(6));
    const [first] = await bench.take("t", "g", { subscriber: "before", maxMessages: 3 });
    await bench.settle("t", "g", first ? [first] : [], { action: "nack", delayMs: 0 });
    await bench.call("releaseLease", { ...ref, partitionKey: "k" });
    await bench.take("t", "g", { subscriber: "after", maxMessages: 2 });
    expect(await view(bench, "before")).toMatchObject({ lanes: 0, busyLanes: 0, inFlight: 2 });
    expect(await view(bench, "after")).toMatchObject({ lanes: 1, busyLanes: 1, inFlight: 2 });
  });

  test("since when the oldest delivery is out, which extending does not change and a restart does not lose", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    const since = bench.nowMs;
    const [first] = await bench.take("t", "g", { maxMessages: 1 });
    bench.nowMs += 20_000;
    await bench.take("t", "g", { maxMessages: 1 });
    expect(await view(bench, "s1")).toMatchObject({ inFlight: 2, oldestDeliveryAt: since });
    await bench.settle("t", "g", first ? [first] : [], { action: "extend", visibilityTimeoutMs: 90_000 });
    expect(await view(bench, "s1")).toMatchObject({ oldestDeliveryAt: since });
    bench.restart();
    expect(await view(bench, "s1")).toMatchObject({ inFlight: 2, oldestDeliveryAt: since });
    await bench.settle("t", "g", first ? [first] : []);
    expect(await view(bench, "s1")).toMatchObject({ inFlight: 1, oldestDeliveryAt: since + 20_000 });
    bench.nowMs += 60_000;
    await bench.take("t", "g", { subscriber: "s2", maxMessages: 1 });
    await bench.call("heartbeat", { ...ref, subscriber: "s1" });
    expect(await view(bench, "s1")).toMatchObject({ inFlight: 0, oldestDeliveryAt: null });
  });

  test("asking: while a receive waits, and a moment after it", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    const waiting = bench.take("t", "g", { waitMs: 20_000 });
    await settled();
    await bench.advance(10_000);
    expect(await view(bench, "s1")).toMatchObject({ asking: true });
    await bench.publish("t", numbered(1));
    await waiting;
    expect(await view(bench, "s1")).toMatchObject({ asking: true, inFlight: 1 });
    await bench.advance(2000);
    expect(await view(bench, "s1")).toMatchObject({ asking: false, inFlight: 1 });
  });

  test("a delivery whose visibility passed is not in flight, in a paused group either", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(2));
    await bench.take("t", "g", { visibilityTimeoutMs: 1000, maxMessages: 1 });
    await bench.take("t", "g", { visibilityTimeoutMs: 5000, maxMessages: 1 });
    expect(await view(bench, "s1")).toMatchObject({ inFlight: 2 });
    await bench.putGroup("t", "g", { paused: true });
    bench.nowMs += 1000;
    expect(await view(bench, "s1")).toMatchObject({ inFlight: 1, busyLanes: 0, lanes: 1 });
  });

  test("the dead are reaped, who left is gone; a new life knows who lives", async () => {
    const bench = new Bench();
    await bench.publish("t", [...numbered(2, "a", "a"), ...numbered(2, "b", "b")]);
    await bench.take("t", "g", { subscriber: "dies", maxMessages: 1 });
    await bench.take("t", "g", { subscriber: "lives", maxMessages: 1 });
    bench.nowMs += 20_000;
    await bench.call("heartbeat", { ...ref, subscriber: "lives" });
    bench.restart();
    expect((await bench.call("subscribers", ref)).subscribers).toHaveLength(2);
    bench.nowMs += 10_000;
    const reply = await bench.call("subscribers", ref);
    expect(reply.subscribers.map(({ subscriber }) => subscriber)).toEqual(["lives"]);
    expect(reply).toMatchObject({ busyLanes: 2, freeLanes: 1 });
    await bench.call("leave", { ...ref, subscriber: "lives" });
    expect(await bench.call("subscribers", ref)).toMatchObject({ subscribers: [], freeLanes: 2 });
  });

  test("at most a hundred partitions of each, and fewer of very many subscribers", async () => {
    const bench = new Bench();
    const keys = Array.from({ length: 120 }, (_, at) => ({ id: `m${at}`, partitionKey: `k${at}` }));
    await bench.publish("t", keys.slice(0, 100));
    await bench.publish("t", keys.slice(100));
    for (let round = 0; round < 3; round += 1) await bench.take("t", "g", { maxMessages: 60 });
    const one = await view(bench, "s1");
    expect(one.lanes).toBe(120);
    expect(one.partitions).toHaveLength(100);
    for (let at = 0; at < 399; at += 1) await bench.call("heartbeat", { ...ref, subscriber: `idle-${at}` });
    const reply = await bench.call("subscribers", ref);
    expect(reply.subscribers).toHaveLength(400);
    expect((await view(bench, "s1")).partitions).toHaveLength(25);
  });

  test("reads nothing from the log", async () => {
    const bench = new Bench();
    await bench.publish("t", numbered(3));
    await bench.take("t", "g", { maxMessages: 1 });
    const asked = watchLog(bench);
    await bench.call("getGroup", ref);
    asked.length = 0;
    expect((await bench.call("subscribers", ref)).subscribers).toHaveLength(1);
    expect(asked).toEqual([]);
  });
});
