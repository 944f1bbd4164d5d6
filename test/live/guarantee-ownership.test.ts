import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until, untilClock } from "./harness.ts";
import type { Delivery, WireLease } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const leave = (topic: string, subscriber: string) =>
  api.request("DELETE", `topics/${topic}/groups/g/subscribers/${subscriber}`);

describe("G4 one owner", () => {
  test("G4 one owner: a partition that one subscriber holds gives nothing to another", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(5, "k"));
    const first = await api.receive(topic, "g", { subscriber: "a", maxMessages: 1 });
    expect(first.partitions).toEqual(["k"]);
    const other = await api.receive(topic, "g", { subscriber: "b", waitMs: 300 });
    expect(other).toEqual({ deliveries: [], partitions: [], partitionsHeld: 0 });
    expect(ids((await api.receive(topic, "g", { subscriber: "a" })).deliveries)).toEqual([
      "m1",
      "m2",
      "m3",
      "m4",
    ]);
  });

  test("G4 one owner: under four hungry subscribers each lease epoch has one subscriber", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 3 });
    const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
    for (let i = 0; i < 10; i++) {
      await api.publish(
        topic,
        keys.flatMap((partitionKey) => numbered(6, partitionKey, `${i}-`)),
      );
    }
    const owners = new Map<string, string>();
    const epochs = new Map<string, number>();
    const problems: string[] = [];
    let acked = 0;
    async function work(subscriber: string): Promise<void> {
      for (let round = 0; round < 400 && acked < 600; round++) {
        const { deliveries } = await api.receive(topic, "g", { subscriber, maxMessages: 7, waitMs: 100 });
        for (const { partitionKey, leaseEpoch } of deliveries) {
          const lease = `${partitionKey} ${leaseEpoch}`;
          const owner = owners.get(lease) ?? subscriber;
          owners.set(lease, owner);
          if (owner !== subscriber) problems.push(`${lease} is held by ${owner} and by ${subscriber}`);
          epochs.set(partitionKey, Math.max(leaseEpoch, epochs.get(partitionKey) ?? 0));
        }
        if (deliveries.length > 0) await api.ack(topic, "g", deliveries);
        acked += deliveries.length;
        if (round % 10 === 3) await leave(topic, subscriber);
      }
    }
    await Promise.all(["a", "b", "c", "d"].map(work));
    expect(problems).toEqual([]);
    expect(acked).toBe(600);
    expect([...epochs.keys()].sort()).toEqual([...keys].sort());
  });

  test("G4 one owner: the list of leases never names a partition twice", async () => {
    const topic = freshTopic();
    await api.publish(
      topic,
      Array.from({ length: 12 }, (_, i) => ({ id: "x", partitionKey: `k${i}`, body: 1 })),
    );
    await Promise.all(
      ["a", "b", "c"].map((subscriber) =>
        api.receive(topic, "g", { subscriber, maxMessages: 4, waitMs: 1000 }),
      ),
    );
    const { leases } = (await api.request<{ leases: WireLease[] }>("GET", `topics/${topic}/groups/g/leases`))
      .json;
    const keys = leases.map((lease) => lease.partitionKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toHaveLength(12);
  });

  test("G4 one owner: a strict lane waits for the delivery of an owner whose lease has ended", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1, leaseDurationMs: 1000, maxAttempts: 5 });
    await api.publish(topic, numbered(2, "k"));
    const first = only(
      (await api.receive(topic, "g", { subscriber: "a", visibilityTimeoutMs: 2500 })).deliveries,
    );
    const next = only((await api.receive(topic, "g", { subscriber: "b", waitMs: 10_000 })).deliveries);
    expect(next).toMatchObject({ id: "m0", attempt: 2 });
    expect(Date.now()).toBeGreaterThanOrEqual(first.visibleUntil - 5);
    expect(next.leaseEpoch).toBeGreaterThan(first.leaseEpoch);
  });

  test("G4 one owner: the receipt of an owner whose lease has ended still opens the strict lane", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 1, leaseDurationMs: 1000 });
    await api.publish(topic, numbered(2, "k"));
    const first = only((await api.receive(topic, "g", { subscriber: "a" })).deliveries);
    const waiting = api.receive(topic, "g", { subscriber: "b", waitMs: 10_000 });
    await untilClock(Date.now() + 1500);
    await api.ack(topic, "g", [first]);
    expect(ids((await waiting).deliveries)).toEqual(["m1"]);
  });

  test("G4 one owner: two asking subscribers come to hold half each", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 2 });
    const keys = Array.from({ length: 8 }, (_, i) => `k${i}`);
    for (let i = 0; i < 5; i++) {
      await api.publish(
        topic,
        keys.flatMap((partitionKey) => numbered(10, partitionKey, `${i}-`)),
      );
    }
    const take = (subscriber: string) => api.receive(topic, "g", { subscriber, maxMessages: 16 });
    const alone = await take("a");
    expect(alone.partitionsHeld).toBe(8);
    await api.ack(topic, "g", alone.deliveries);
    const halves = await until("four partitions each", async () => {
      const b = await take("b");
      await ackAll(topic, b.deliveries);
      const a = await take("a");
      await ackAll(topic, a.deliveries);
      return a.partitionsHeld === 4 && b.partitionsHeld === 4 && [...a.partitions, ...b.partitions];
    });
    expect([...halves].sort()).toEqual(keys);
  });
});

describe("G5 fencing", () => {
  test("G5 fencing: a lapsed receipt works until the next delivery, then it is stale", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    const [m0, m1] = (await api.receive(topic, "g", { visibilityTimeoutMs: 1000 })).deliveries;
    if (!m0 || !m1) return expect.fail("two deliveries");
    await untilClock(m1.visibleUntil + 100);
    await api.ack(topic, "g", [m1]);
    const again = only((await api.receive(topic, "g", { subscriber: "s2", waitMs: 5000 })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 2 });
    expect(await api.settleOne(topic, "g", { receipt: m0.receipt, action: "ack" })).toBe("stale");
    await api.ack(topic, "g", [again]);
    expect(await api.settleOne(topic, "g", { receipt: m0.receipt, action: "ack" })).toBe("settled");
  });

  test("G5 fencing: leaving ends the receipts, and the next delivery's receipt is another", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const first = only((await api.receive(topic, "g")).deliveries);
    await leave(topic, "s1");
    expect(await api.settleOne(topic, "g", { receipt: first.receipt, action: "nack" })).toBe("stale");
    const again = only((await api.receive(topic, "g", { subscriber: "s2" })).deliveries);
    expect(again).toMatchObject({ id: "m0", attempt: 1 });
    expect(again.receipt).not.toBe(first.receipt);
    expect(await api.settleOne(topic, "g", { receipt: first.receipt, action: "ack" })).toBe("stale");
    await api.ack(topic, "g", [again]);
  });

  test("G5 fencing: a reset ends the receipts of its partition and of no other", async () => {
    const topic = freshTopic();
    await api.publish(topic, [...numbered(1, "k1", "a"), ...numbered(1, "k2", "b")]);
    const deliveries = await api.receiveCount(topic, "g", 2);
    const [reset, kept] = ["k1", "k2"].map((key) => deliveries.find((one) => one.partitionKey === key));
    if (!reset || !kept) return expect.fail("one delivery of each partition");
    const json = { partitionKey: "k1", offset: 0 };
    expect((await api.request("PUT", `topics/${topic}/groups/g/offset`, { json })).status).toBe(200);
    expect(await api.settleOne(topic, "g", { receipt: reset.receipt, action: "ack" })).toBe("stale");
    await api.ack(topic, "g", [kept]);
    expect(only((await api.receive(topic, "g")).deliveries)).toMatchObject({ id: "a0", attempt: 1 });
    expect(await api.settleOne(topic, "g", { receipt: reset.receipt, action: "ack" })).toBe("stale");
  });

  test("G5 fencing: after a reset past the message its receipt settles nothing", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    const [m0, m1] = (await api.receive(topic, "g")).deliveries;
    if (!m0 || !m1) return expect.fail("two deliveries");
    const json = { partitionKey: "k", offset: m1.offset };
    await api.request("PUT", `topics/${topic}/groups/g/offset`, { json });
    for (const { receipt } of [m0, m1]) {
      expect(["stale", "settled"]).toContain(await api.settleOne(topic, "g", { receipt, action: "nack" }));
    }
    expect((await api.receive(topic, "g", { waitMs: 200 })).deliveries).toEqual([]);
  });

  test("G5 fencing: a dead-letter decision ends the receipt", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g", { maxAttempts: 1, visibilityTimeoutMs: 1000 });
    await api.publish(topic, numbered(1, "k"));
    const { receipt } = only((await api.receive(topic, "g")).deliveries);
    await until("the dead letter", async () => (await api.deadLetters(topic)).length === 1);
    for (const action of ["ack", "nack", "reject"]) {
      expect(["settled", "stale"]).toContain(await api.settleOne(topic, "g", { receipt, action }));
    }
    expect(await api.deadLetters(topic)).toHaveLength(1);
  });

  test("G5 fencing: the same message deleted and published again does not take the old receipt", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const first = only((await api.receive(topic, "g")).deliveries);
    await api.request("DELETE", `topics/${topic}/message?id=m0&partitionKey=k`);
    await api.publish(topic, numbered(1, "k"));
    const second = only((await api.receive(topic, "g", { waitMs: 2000 })).deliveries);
    expect(["settled", "stale"]).toContain(
      await api.settleOne(topic, "g", { receipt: first.receipt, action: "ack" }),
    );
    await api.ack(topic, "g", [second]);
  });

  test("G5 fencing: receipts outlive a crash of the server, and still only once", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(3, "k"));
    const { deliveries } = await api.receive(topic, "g", { visibilityTimeoutMs: 60_000 });
    await api.ack(topic, "g", deliveries.slice(0, 1));
    await live.kill();
    await live.restart();
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    expect(await api.settleOne(topic, "g", { receipt: deliveries[0]?.receipt ?? "", action: "ack" })).toBe(
      "settled",
    );
    await api.ack(topic, "g", deliveries.slice(1));
    expect(await api.getTopic(topic)).toMatchObject({ groups: [{ backlog: 0, inFlight: 0 }] });
  });
});

async function ackAll(topic: string, deliveries: Delivery[]): Promise<void> {
  if (deliveries.length > 0) await api.ack(topic, "g", deliveries);
}
