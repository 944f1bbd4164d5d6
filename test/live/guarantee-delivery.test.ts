import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until } from "./harness.ts";
import { seeded, seedFrom } from "./seeded.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

describe("G1 durable publish", () => {
  test("G1 durable publish: what was answered is there after a crash, batch by batch", async () => {
    const topic = freshTopic();
    for (let i = 0; i < 10; i++) await api.publish(topic, numbered(20, `k${i % 3}`, `${i}-`));
    await api.publish(topic, [{ id: "last", partitionKey: "k0", body: { last: true }, headers: { a: "b" } }]);
    await live.kill();
    await live.restart();
    expect(await api.listMessages(topic)).toHaveLength(201);
    const last = await api.request("GET", `topics/${topic}/message?id=last&partitionKey=k0`);
    expect(last.json).toMatchObject({ body: { last: true }, headers: { a: "b" } });
    const again = await api.publish(topic, numbered(20, "k1", "1-"));
    expect(again.every((message) => message.duplicate)).toBe(true);
    expect(await api.receiveCount(topic, "g", 10)).toHaveLength(10);
  });

  test("G1 durable publish: a batch cut off in flight is there whole or not at all, and can be sent again", async () => {
    const topic = freshTopic();
    const batch = numbered(100, "k").map((message) => ({ ...message, body: "x".repeat(10_000) }));
    const cut = new AbortController();
    const lost = api
      .request("POST", `topics/${topic}/messages`, { json: { messages: batch }, signal: cut.signal })
      .catch(() => null);
    setImmediate(() => cut.abort());
    await lost;
    const topics = (await api.request<{ topics: string[] }>("GET", "topics")).json.topics;
    const stored = topics.includes(topic) ? (await api.listMessages(topic)).length : 0;
    expect([0, 100]).toContain(stored);
    await api.publish(topic, batch);
    expect(ids(await api.listMessages(topic))).toEqual(ids(batch));
  });
});

describe("G2 at least once", () => {
  test("G2 at least once: what is not settled comes again after its visibility timeout, attempt by attempt", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    const first = await api.receive(topic, "g", { visibilityTimeoutMs: 1000 });
    expect(first.deliveries.map((delivery) => delivery.attempt)).toEqual([1, 1]);
    const again = await api.receiveCount(topic, "g", 2, { visibilityTimeoutMs: 1000 });
    expect(again.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["m0", 2],
      ["m1", 2],
    ]);
    await api.ack(topic, "g", again);
  });

  test("G2 at least once: a group that joins late gets everything that is kept", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(5, "k"));
    await api.ack(topic, "early", await api.receiveCount(topic, "early", 5));
    expect(ids(await api.receiveCount(topic, "late", 5))).toEqual(["m0", "m1", "m2", "m3", "m4"]);
  });

  test("G2 at least once: deliveries under way when the server dies come again or can be settled", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(4, "k"));
    const { deliveries } = await api.receive(topic, "g", { visibilityTimeoutMs: 1000 });
    await live.kill();
    await live.restart();
    await api.ack(topic, "g", deliveries.slice(0, 2));
    const again = await api.receiveCount(topic, "g", 2);
    expect(again.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["m2", 2],
      ["m3", 2],
    ]);
  });

  test("G2 at least once: a delayed message keeps its time over a crash", async () => {
    const topic = freshTopic();
    const dueAtMs = Date.now() + 3000;
    await api.publish(topic, [{ id: "later", partitionKey: "k", body: 1, delayMs: 3000 }]);
    await api.receive(topic, "g");
    await live.kill();
    await live.restart();
    only(await api.receiveCount(topic, "g", 1, { waitMs: 10_000 }));
    expect(Date.now()).toBeGreaterThanOrEqual(dueAtMs);
    expect(Date.now()).toBeLessThan(dueAtMs + 2500);
  });
});

describe("G8 dedup", () => {
  test("G8 dedup: the first one wins, consumed or not", async () => {
    const topic = freshTopic();
    const publish = async (body: string) =>
      only(await api.publish(topic, [{ id: "x", partitionKey: "k", body }])).duplicate;
    expect(await publish("first")).toBe(false);
    expect(await publish("second")).toBe(true);
    const delivery = only(await api.receiveCount(topic, "g", 1));
    expect(delivery.body).toBe("first");
    expect(await publish("third")).toBe(true);
    await api.ack(topic, "g", [delivery]);
    expect(await publish("fourth")).toBe(true);
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
  });

  test("G8 dedup: is within tenant, topic and partition key", async () => {
    const topic = freshTopic();
    const other = freshTopic();
    const message = { id: "x", partitionKey: "k", body: 1 };
    expect(only(await api.publish(topic, [message])).duplicate).toBe(false);
    expect(only(await api.publish(other, [message])).duplicate).toBe(false);
    expect(only(await api.publish(topic, [{ ...message, partitionKey: "l" }])).duplicate).toBe(false);
    expect(only(await live.api("acme").publish(topic, [message])).duplicate).toBe(false);
    expect(only(await api.publish(topic, [message])).duplicate).toBe(true);
  });

  test("G8 dedup: twenty concurrent publishes of one ID store one message", async () => {
    const topic = freshTopic();
    const published = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.publish(topic, [{ id: "x", partitionKey: "k", body: i }])),
    );
    expect(published.flat().filter((message) => !message.duplicate)).toHaveLength(1);
    expect(await api.listMessages(topic)).toHaveLength(1);
  });
});

test("G9 no skipped message: with many concurrent publishers each partition arrives whole", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { maxInFlightPerPartition: 100 });
  const publishers = 12;
  const each = 15;
  const seen = new Map<string, string[]>();
  const publishing = Promise.all(
    Array.from({ length: publishers }, async (_, p) => {
      for (let i = 0; i < each; i++) {
        await api.publish(topic, [{ id: `p${p}-${i}`, partitionKey: `k${p % 4}`, body: i }]);
      }
    }),
  );
  let total = 0;
  for (let round = 0; round < 500 && total < publishers * each; round++) {
    const { deliveries } = await api.receive(topic, "g", { maxMessages: 50, waitMs: 200 });
    for (const { id } of deliveries) {
      const publisher = id.split("-")[0] ?? "";
      seen.set(publisher, [...(seen.get(publisher) ?? []), id]);
    }
    total += deliveries.length;
    if (deliveries.length > 0) await api.ack(topic, "g", deliveries);
  }
  await publishing;
  expect(total).toBe(publishers * each);
  for (const [publisher, order] of seen) {
    expect(order).toEqual(Array.from({ length: each }, (_, i) => `${publisher}-${i}`));
  }
});

test("G11 no leak: after random trouble nothing stays stuck and every count ends at nought", async () => {
  const seed = seedFrom("LEAK_SEED");
  const random = seeded(seed);
  const topic = freshTopic();
  await api.putGroup(topic, "g", {
    maxAttempts: 3,
    leaseDurationMs: 1000,
    retry: { initialBackoffMs: 10, maxBackoffMs: 50 },
  });
  for (let i = 0; i < 6; i++) await api.publish(topic, numbered(20, `k${i}`, `k${i}-`));
  for (let round = 0; round < 60; round++) {
    const subscriber = random.pick(["a", "b", "c"]);
    const { deliveries } = await api.receive(topic, "g", {
      subscriber,
      maxMessages: random.between(1, 20),
      visibilityTimeoutMs: 1000,
    });
    const settlements = deliveries.flatMap(({ receipt }) =>
      random.pick([
        [],
        [{ receipt, action: "ack" }],
        [{ receipt, action: "nack", delayMs: random.between(0, 50) }],
        [{ receipt, action: "postpone", delayMs: random.between(0, 50) }],
        [{ receipt, action: "reject" }],
        [{ receipt, action: "extend", visibilityTimeoutMs: 1000 }],
      ]),
    );
    if (settlements.length > 0) await api.settle(topic, "g", settlements);
    if (round % 9 === 4) await api.request("DELETE", `topics/${topic}/groups/g/subscribers/${subscriber}`);
    if (round % 20 === 7) {
      const key = `k${random.between(0, 5)}`;
      await api.request("DELETE", `topics/${topic}/groups/g/lease?partitionKey=${key}`);
    }
  }
  await until(
    `everything settled, seed ${seed}`,
    async () => {
      const { deliveries } = await api.receive(topic, "g", { maxMessages: 100, subscriber: "drain" });
      if (deliveries.length > 0) await api.ack(topic, "g", deliveries);
      const [group] = (await api.getTopic(topic)).groups;
      return group?.backlog === 0 && group.inFlight === 0;
    },
    20_000,
  );
  const { leases } = (await api.request<{ leases: unknown[] }>("GET", `topics/${topic}/groups/g/leases`))
    .json;
  expect(leases.length).toBeLessThanOrEqual(6);
  await until(
    "no leases and no subscribers",
    async () => {
      const left = (await api.request<{ leases: unknown[] }>("GET", `topics/${topic}/groups/g/leases`)).json
        .leases;
      const [group] = (await api.getTopic(topic)).groups;
      return left.length === 0 && group?.subscribers === 0;
    },
    15_000,
  );
});
