import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, untilClock } from "./harness.ts";
import { seeded, seedFrom } from "./seeded.ts";
import type { Delivery } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const settle = (topic: string, delivery: Delivery, action: string, more: Record<string, unknown> = {}) =>
  api.settleOne(topic, "g", { receipt: delivery.receipt, action, ...more });

/** A topic with messages `m0`… of partition `k`, and a group of these settings. */
async function lane(count: number, settings: Record<string, unknown> = {}): Promise<string> {
  const topic = freshTopic();
  await api.putGroup(topic, "g", settings);
  await api.publish(topic, numbered(count, "k"));
  return topic;
}

describe("G3 order: default lanes", () => {
  test("G3 order: publishes answered one after the other are delivered in that order", async () => {
    const topic = freshTopic();
    for (let i = 0; i < 30; i++) await api.publish(topic, [{ id: `m${i}`, partitionKey: "k", body: i }]);
    const seen: string[] = [];
    while (seen.length < 30) {
      const { deliveries } = await api.receive(topic, "g", { maxMessages: 7 });
      expect(deliveries.length).toBeGreaterThan(0);
      seen.push(...ids(deliveries));
      await api.ack(topic, "g", deliveries);
    }
    expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => `m${i}`));
  });

  test("G3 order: offsets grow in the order of publishing, across partitions and batches", async () => {
    const topic = freshTopic();
    for (let i = 0; i < 10; i++) await api.publish(topic, numbered(5, `k${i % 3}`, `${i}-`));
    const offsets = (await api.receiveCount(topic, "g", 30, { maxMessages: 100 }))
      .sort((a, b) => a.offset - b.offset)
      .map((delivery) => Number(delivery.id.split("-")[0]));
    expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
  });

  test("G3 order: a failed message does not block its lane, and comes back", async () => {
    const topic = await lane(4);
    const first = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    expect(await settle(topic, first, "nack", { delayMs: 300 })).toBe("ok");
    const rest = await api.receive(topic, "g");
    expect(ids(rest.deliveries)).toEqual(["m1", "m2", "m3"]);
    const again = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
  });

  test("G3 order: a lapsed message does not block its lane either", async () => {
    const topic = await lane(3);
    const short = { maxMessages: 1, visibilityTimeoutMs: 1000 };
    const first = only((await api.receive(topic, "g", short)).deliveries);
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m1", "m2"]);
    const again = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
    expect(Date.now()).toBeGreaterThanOrEqual(first.visibleUntil - 5);
  });

  test("G3 order: a message whose backoff is over comes before those that were never delivered", async () => {
    const topic = await lane(4);
    const first = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    await settle(topic, first, "nack", { delayMs: 0 });
    expect(ids((await api.receive(topic, "g", { maxMessages: 2 })).deliveries)).toEqual(["m0", "m1"]);
  });

  test("G3 order: a rejected message lets its lane flow", async () => {
    const topic = await lane(2);
    const first = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    await settle(topic, first, "reject");
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m1"]);
  });
});

describe("G3 order: strict lanes", () => {
  const STRICT = { maxInFlightPerPartition: 1 };

  test("G3 order: nothing is delivered until the message before it is settled", async () => {
    const topic = await lane(3, STRICT);
    for (const id of ["m0", "m1", "m2"]) {
      const delivery = only((await api.receive(topic, "g", { maxMessages: 100 })).deliveries);
      expect(delivery.id).toBe(id);
      expect((await api.receive(topic, "g")).deliveries).toEqual([]);
      expect((await api.receive(topic, "g", { subscriber: "s2" })).deliveries).toEqual([]);
      await api.ack(topic, "g", [delivery]);
    }
  });

  test("G3 order: the nacked one is the next, after its backoff", async () => {
    const topic = await lane(2, STRICT);
    const first = only((await api.receive(topic, "g")).deliveries);
    const nackedAtMs = Date.now();
    await settle(topic, first, "nack", { delayMs: 400 });
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    const again = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
    expect(Date.now() - nackedAtMs).toBeGreaterThanOrEqual(395);
    await api.ack(topic, "g", [again]);
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m1"]);
  });

  test("G3 order: the lapsed one is the next, at once", async () => {
    const topic = await lane(2, STRICT);
    const first = only((await api.receive(topic, "g", { visibilityTimeoutMs: 1000 })).deliveries);
    const again = only((await api.receive(topic, "g", { waitMs: 5000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
    expect(Date.now() - first.visibleUntil).toBeLessThan(700);
  });

  test("G3 order: a dead-lettered message lets the next one go", async () => {
    const topic = await lane(2, { ...STRICT, maxAttempts: 1 });
    const first = only((await api.receive(topic, "g")).deliveries);
    await settle(topic, first, "nack", { reason: "poison" });
    expect(ids((await api.receive(topic, "g", { waitMs: 5000 })).deliveries)).toEqual(["m1"]);
  });

  test("G3 order: a stuck strict lane does not hold up another", async () => {
    const topic = await lane(2, STRICT);
    await api.publish(topic, numbered(3, "other", "o"));
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 100 });
    expect(ids(deliveries).sort()).toEqual(["m0", "o0"]);
    for (const id of ["o1", "o2"]) {
      await api.ack(
        topic,
        "g",
        deliveries.splice(
          deliveries.findIndex((one) => one.partitionKey === "other"),
          1,
        ),
      );
      const next = only((await api.receive(topic, "g", { maxMessages: 100 })).deliveries);
      expect(next.id).toBe(id);
      deliveries.push(next);
    }
  });
});

describe("G3 order: the barrier of a postponed message", () => {
  test.each([1, 10])(
    "G3 order: everything waits behind it (%i in flight), and it comes first",
    async (inFlight) => {
      const topic = await lane(3, { maxInFlightPerPartition: inFlight });
      const first = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
      const sentAtMs = Date.now();
      expect(await settle(topic, first, "postpone", { delayMs: 500 })).toBe("ok");
      expect((await api.receive(topic, "g", { waitMs: 200 })).deliveries).toEqual([]);
      const next = await api.receive(topic, "g", { waitMs: 5000 });
      expect(Date.now() - sentAtMs).toBeGreaterThanOrEqual(495);
      expect(ids(next.deliveries)).toEqual(["m0", "m1", "m2"].slice(0, inFlight));
      expect(next.deliveries[0]?.attempt).toBe(1);
    },
  );

  test("G3 order: what is in flight behind it may finish, and fail, but nothing new passes", async () => {
    const topic = await lane(4);
    const [m0, m1, m2] = (await api.receive(topic, "g", { maxMessages: 3 })).deliveries;
    if (!m0 || !m1 || !m2) return expect.fail("three deliveries");
    await settle(topic, m0, "postpone", { delayMs: 600 });
    expect(await settle(topic, m1, "ack")).toBe("ok");
    expect(await settle(topic, m2, "nack", { delayMs: 0 })).toBe("ok");
    expect((await api.receive(topic, "g", { waitMs: 200 })).deliveries).toEqual([]);
    const after = await api.receive(topic, "g", { waitMs: 5000 });
    expect(after.deliveries.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["m0", 1],
      ["m2", 2],
      ["m3", 1],
    ]);
  });

  test("G3 order: another partition and another group are not held up", async () => {
    const topic = await lane(2);
    await api.publish(topic, numbered(1, "other", "o"));
    const deliveries = await api.receive(topic, "g", { maxMessages: 2 });
    const m0 = deliveries.deliveries.find((delivery) => delivery.id === "m0") ?? expect.fail("m0");
    await settle(topic, m0, "postpone", { delayMs: 60_000 });
    await api.publish(topic, numbered(1, "other", "p"));
    expect(ids((await api.receive(topic, "g", { waitMs: 2000 })).deliveries)).toEqual(["p0"]);
    expect((await api.receive(topic, "h")).deliveries).toHaveLength(4);
  });

  test("G3 order: deleting the postponed message opens the lane", async () => {
    const topic = await lane(2);
    const first = only((await api.receive(topic, "g", { maxMessages: 1 })).deliveries);
    await settle(topic, first, "postpone", { delayMs: 60_000 });
    const waiting = api.receive(topic, "g", { waitMs: 10_000 });
    await untilClock(Date.now() + 100);
    const deletedAtMs = Date.now();
    await api.request("DELETE", `topics/${topic}/message?id=m0&partitionKey=k`);
    expect(ids((await waiting).deliveries)).toEqual(["m1"]);
    expect(Date.now() - deletedAtMs).toBeLessThan(1500);
  });
});

describe("G3 order: delayed messages", () => {
  test("G3 order: one that is not due holds nothing up, and takes its place when due", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    const dueAtMs = Date.now() + 600;
    await api.publish(topic, [{ id: "delayed", partitionKey: "k", body: 1, delayMs: 600 }]);
    await api.publish(topic, numbered(3, "k"));
    const first = only((await api.receive(topic, "g")).deliveries);
    expect(first.id).toBe("m0");
    await untilClock(dueAtMs + 150);
    await api.ack(topic, "g", [first]);
    for (const id of ["delayed", "m1", "m2"]) {
      const next = only((await api.receive(topic, "g", { waitMs: 2000 })).deliveries);
      expect(next.id).toBe(id);
      await api.ack(topic, "g", [next]);
    }
  });

  test("G3 order: several come in the order of their places once all are due", async () => {
    const topic = freshTopic();
    await api.publish(topic, [
      { id: "b", partitionKey: "k", body: 1, delayMs: 500 },
      { id: "a", partitionKey: "k", body: 1, delayMs: 200 },
      { id: "c", partitionKey: "k", body: 1 },
    ]);
    await untilClock(Date.now() + 700);
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["b", "a", "c"]);
  });

  test("G3 order: each wakes a waiting receive at its own time", async () => {
    const topic = freshTopic();
    const startMs = Date.now();
    await api.publish(topic, [
      { id: "second", partitionKey: "k", body: 1, delayMs: 700 },
      { id: "first", partitionKey: "k", body: 1, delayMs: 300 },
    ]);
    expect(ids((await api.receive(topic, "g", { waitMs: 5000 })).deliveries)).toEqual(["first"]);
    expect(Date.now() - startMs).toBeLessThan(700);
    expect(ids((await api.receive(topic, "g", { waitMs: 5000 })).deliveries)).toEqual(["second"]);
    expect(Date.now() - startMs).toBeGreaterThanOrEqual(695);
  });
});

test("G3 order: first deliveries stay in order through random settlements and two subscribers", async () => {
  const seed = seedFrom("ORDER_SEED");
  const random = seeded(seed);
  const topic = freshTopic();
  await api.putGroup(topic, "g", { maxAttempts: 1000, maxInFlightPerPartition: 4 });
  const partitions = 6;
  const perPartition = 40;
  for (let i = 0; i < perPartition; i++) {
    await api.publish(
      topic,
      Array.from({ length: partitions }, (_, p) => ({ id: `m${i}`, partitionKey: `k${p}`, body: i })),
    );
  }
  const firsts = new Map<string, number[]>();
  let acked = 0;
  for (let round = 0; round < 2000 && acked < partitions * perPartition; round++) {
    const subscriber = random.pick(["s1", "s2"]);
    const reply = await api.receive(topic, "g", {
      subscriber,
      maxMessages: random.between(1, 12),
      waitMs: 20,
    });
    for (const delivery of reply.deliveries) {
      if (delivery.attempt === 1) {
        const order = firsts.get(delivery.partitionKey) ?? [];
        firsts.set(delivery.partitionKey, [...order, delivery.body as number]);
      }
      if (random.fraction() < 0.3) {
        expect(await settle(topic, delivery, "nack", { delayMs: random.between(0, 30) })).toBe("ok");
      } else {
        expect(await settle(topic, delivery, "ack")).toBe("ok");
        acked += 1;
      }
    }
  }
  expect(acked, `seed ${seed}`).toBe(partitions * perPartition);
  expect(firsts.size).toBe(partitions);
  for (const [key, order] of firsts) {
    expect(order, `seed ${seed}, partition ${key}`).toEqual(
      Array.from({ length: perPartition }, (_, i) => i),
    );
  }
});
