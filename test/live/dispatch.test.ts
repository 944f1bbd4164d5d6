import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until, untilClock } from "./harness.ts";
import type { WireLease } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const leases = async (topic: string) =>
  (await api.request<{ leases: WireLease[] }>("GET", `topics/${topic}/groups/g/leases`)).json.leases;

describe("stuck lanes", () => {
  test("a postponed message with a deep backlog behind it holds up no other partition", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "stuck", "head"));
    const head = only((await api.receive(topic, "g")).deliveries);
    await api.settle(topic, "g", [{ receipt: head.receipt, action: "postpone", delayMs: 60_000 }]);
    for (let i = 0; i < 10; i++) await api.publish(topic, numbered(100, "stuck", `${i}-`));
    await api.publish(topic, numbered(3, "free", "f"));
    expect(ids((await api.receive(topic, "g", { waitMs: 2000 })).deliveries)).toEqual(["f0", "f1", "f2"]);
  });

  test("nor do many strict lanes that are all in flight", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    for (let i = 0; i < 10; i++) {
      await api.publish(
        topic,
        Array.from({ length: 100 }, (_, j) => ({ id: `m${i}`, partitionKey: `k${j}`, body: i })),
      );
    }
    expect((await api.receive(topic, "g", { maxMessages: 100 })).deliveries).toHaveLength(100);
    await api.publish(topic, numbered(2, "free", "f"));
    expect(ids((await api.receive(topic, "g", { maxMessages: 100, waitMs: 2000 })).deliveries)).toEqual([
      "f0",
    ]);
  });

  test("a partition that comes later gets its turn long before a deep one is through", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1000 });
    for (let i = 0; i < 9; i++) await api.publish(topic, numbered(100, "deep", `${i}-`));
    expect((await api.receive(topic, "g")).deliveries).toHaveLength(10);
    await api.publish(topic, numbered(1, "late", "late"));
    // The look ahead runs at its own pace, so it is the order that is checked, and not the first receive.
    let deep = 10;
    let late = false;
    while (!late && deep < 900) {
      const { deliveries } = await api.receive(topic, "g", { maxMessages: 2 });
      late = deliveries.some((delivery) => delivery.id === "late0");
      deep += deliveries.length;
    }
    expect(late).toBe(true);
    expect(deep).toBeLessThan(600);
  });
});

describe("leases", () => {
  test("a lane with nothing unsettled loses its lease, though its subscriber lives", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { leaseDurationMs: 1000 });
    await api.publish(topic, numbered(1, "k"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
    expect(await leases(topic)).toHaveLength(1);
    await until("the lease ends", async () => {
      await api.receive(topic, "g", { waitMs: 200 });
      return (await leases(topic)).length === 0;
    });
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ subscribers: 1 }] });
  });

  test("an epoch is the clock's milliseconds or more, and grows over a crash", async () => {
    const topic = freshTopic();
    const beforeMs = Date.now();
    await api.publish(topic, numbered(3, "k"));
    const first = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    expect(first.leaseEpoch).toBeGreaterThanOrEqual(beforeMs - 5);
    await live.kill();
    await live.restart();
    await api.request("DELETE", `topics/${topic}/groups/g/lease?partitionKey=k`);
    const second = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    expect(second.id).toBe("m1");
    expect(second.leaseEpoch).toBeGreaterThan(first.leaseEpoch);
  });
});

describe("changes under way", () => {
  test("lowering maxInFlightPerPartition holds back what is new, not what is out", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(8, "k"));
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 4 });
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await api.ack(topic, "g", deliveries.slice(0, 3));
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    await api.ack(topic, "g", deliveries.slice(3));
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m4"]);
  });

  test("lowering maxAttempts counts at the next failure", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const { receipt } = only((await api.receive(topic, "g")).deliveries);
    await api.putGroup(topic, "g", { maxAttempts: 1 });
    expect(await api.settle(topic, "g", [{ receipt, action: "nack" }])).toEqual([
      { receipt, status: "ok", deadLettered: true },
    ]);
  });

  test("pausing keeps receipts good", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 1 });
    await api.putGroup(topic, "g", { paused: true });
    await api.ack(topic, "g", deliveries);
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    await api.putGroup(topic, "g", { paused: false });
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m1"]);
  });
});

describe("a group that starts from latest", () => {
  test("does not get a delayed message that was there before it", async () => {
    const topic = freshTopic();
    await api.publish(topic, [{ id: "old", partitionKey: "k", body: 1, delayMs: 300 }]);
    const dueByMs = Date.now() + 300;
    await api.putGroup(topic, "g", { startFrom: "latest" });
    await api.publish(topic, [{ id: "new", partitionKey: "k", body: 1, delayMs: 300 }]);
    await untilClock(dueByMs);
    expect(ids(await api.receiveCount(topic, "g", 1))).toEqual(["new"]);
    expect((await api.receive(topic, "g", { waitMs: 300 })).deliveries).toEqual([]);
  });

  test("gets the old messages of a partition that is reset to the beginning", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(3, "k", "old"));
    await api.putGroup(topic, "g", { startFrom: "latest" });
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    const json = { partitionKey: "k", offset: 0 };
    expect((await api.request("PUT", `topics/${topic}/groups/g/offset`, { json })).status).toBe(200);
    expect(ids((await api.receive(topic, "g", { waitMs: 2000 })).deliveries)).toEqual([
      "old0",
      "old1",
      "old2",
    ]);
  });
});

describe("a reset", () => {
  test("forwards over what is in flight and what is postponed opens the lane", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 2 });
    await api.publish(topic, numbered(4, "k"));
    const [m0, m1] = (await api.receive(topic, "g")).deliveries;
    if (!m0 || !m1) return expect.fail("two deliveries");
    await api.settle(topic, "g", [{ receipt: m0.receipt, action: "postpone", delayMs: 60_000 }]);
    const json = { partitionKey: "k", offset: m1.offset };
    await api.request("PUT", `topics/${topic}/groups/g/offset`, { json });
    expect(ids((await api.receive(topic, "g", { waitMs: 2000 })).deliveries)).toEqual(["m2", "m3"]);
  });

  test("back and forth leaves exact counts", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(6, "k"));
    const deliveries = await api.receiveCount(topic, "g", 6);
    await api.ack(topic, "g", deliveries);
    for (const [offset, backlog] of [
      [0, 6],
      [deliveries[3]?.offset, 2],
      [deliveries[5]?.offset, 0],
      [deliveries[1]?.offset, 4],
    ]) {
      await api.request("PUT", `topics/${topic}/groups/g/offset`, { json: { partitionKey: "k", offset } });
      expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog, inFlight: 0 }] });
    }
  });

  test("lasts over a crash", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 2));
    await api.request("PUT", `topics/${topic}/groups/g/offset`, { json: { partitionKey: "k", offset: 0 } });
    await live.kill();
    await live.restart();
    expect(ids((await api.receive(topic, "g", { waitMs: 2000 })).deliveries)).toEqual(["m0", "m1"]);
  });
});

test("an enormous postponed or delayed time, and an enormous visibility, are kept over a crash", async () => {
  const topic = freshTopic();
  await api.publish(topic, [
    { id: "delayed", partitionKey: "a", body: 1, delayMs: 604_800_000 },
    { id: "postponed", partitionKey: "b", body: 1 },
    { id: "held", partitionKey: "c", body: 1 },
  ]);
  const longest = { visibilityTimeoutMs: 43_200_000 };
  const deliveries = await api.receiveCount(topic, "g", 2, longest);
  const postponed = deliveries.find((delivery) => delivery.id === "postponed");
  await api.settle(topic, "g", [
    { receipt: postponed?.receipt ?? "", action: "postpone", delayMs: 604_800_000 },
  ]);
  await live.kill();
  await live.restart();
  expect((await api.receive(topic, "g", { waitMs: 300 })).deliveries).toEqual([]);
  expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 3, inFlight: 1 }] });
});
