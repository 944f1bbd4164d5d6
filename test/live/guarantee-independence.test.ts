import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, setup, until } from "./harness.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

/** A topic with ten messages in two partitions and two groups, `calm` having been delivered three of each. */
async function twoGroups() {
  const topic = freshTopic();
  await api.putGroup(topic, "calm", { maxInFlightPerPartition: 3 });
  await api.putGroup(topic, "wild", { maxAttempts: 1 });
  await api.publish(topic, [...numbered(5, "k1", "a"), ...numbered(5, "k2", "b")]);
  const calm = await api.receiveCount(topic, "calm", 6);
  return { topic, calm };
}

/** `calm` settles what it holds and gets the other four, each as its first attempt and in order. */
async function expectCalmUndisturbed({ topic, calm }: Awaited<ReturnType<typeof twoGroups>>): Promise<void> {
  await api.ack(topic, "calm", calm);
  const rest = await api.receiveCount(topic, "calm", 4);
  expect(rest.every((delivery) => delivery.attempt === 1)).toBe(true);
  const byKey = (key: string) => ids(rest.filter((delivery) => delivery.partitionKey === key));
  expect([byKey("k1"), byKey("k2")]).toEqual([
    ["a3", "a4"],
    ["b3", "b4"],
  ]);
  await api.ack(topic, "calm", rest);
  const group = (await api.getTopic(topic)).groups.find((one) => one.group === "calm");
  expect(group).toMatchObject({ backlog: 0, inFlight: 0, expired: 0, dropped: 0 });
}

const settleAll = async (topic: string, action: string, more: Record<string, unknown> = {}) => {
  const { deliveries } = await api.receive(topic, "wild", { maxMessages: 100 });
  expect(deliveries).toHaveLength(10);
  await api.settle(
    topic,
    "wild",
    deliveries.map(({ receipt }) => ({ receipt, action, ...more })),
  );
  return deliveries;
};

describe("G6 groups are independent", () => {
  const troubles: [string, (topic: string) => Promise<unknown>][] = [
    ["acks", (topic) => settleAll(topic, "ack")],
    ["nacks to the last attempt", (topic) => settleAll(topic, "nack")],
    ["postpones", (topic) => settleAll(topic, "postpone", { delayMs: 60_000 })],
    [
      "rejects and redrives",
      async (topic) => {
        await settleAll(topic, "reject");
        await until("the copies", async () => (await api.deadLetters(topic)).length === 10);
        const reply = await api.request("POST", `topics/${topic}/dead-letters/redrive`, { json: {} });
        expect(reply.json).toEqual({ redriven: 10 });
        expect(await api.receiveCount(topic, "wild", 10)).toHaveLength(10);
      },
    ],
    [
      "rejects and has its dead letters purged",
      async (topic) => {
        await settleAll(topic, "reject");
        await until("the copies", async () => (await api.deadLetters(topic)).length === 10);
        expect((await api.request("DELETE", `topics/${topic}/dead-letters`)).json).toEqual({ deleted: 10 });
      },
    ],
    [
      "is reset, forwards and back",
      async (topic) => {
        const [first] = await settleAll(topic, "ack");
        for (const offset of [first?.offset ?? 0, 0]) {
          for (const partitionKey of ["k1", "k2"]) {
            const json = { partitionKey, offset };
            expect((await api.request("PUT", `topics/${topic}/groups/wild/offset`, { json })).status).toBe(
              200,
            );
          }
        }
        expect(await api.receiveCount(topic, "wild", 10)).toHaveLength(10);
      },
    ],
    ["is paused", (topic) => api.putGroup(topic, "wild", { paused: true })],
    [
      "is deleted",
      async (topic) => {
        await settleAll(topic, "ack");
        expect((await api.request("DELETE", `topics/${topic}/groups/wild?force=true`)).status).toBe(204);
      },
    ],
    [
      "loses its subscribers",
      async (topic) => {
        await api.receive(topic, "wild");
        await api.request("DELETE", `topics/${topic}/groups/wild/subscribers/s1`);
      },
    ],
    [
      "has its leases freed",
      async (topic) => {
        await api.receive(topic, "wild");
        await api.request("DELETE", `topics/${topic}/groups/wild/lease?partitionKey=k1`);
      },
    ],
  ];
  test.each(troubles)("G6 groups are independent: one %s", async (_, trouble) => {
    const scene = await twoGroups();
    await trouble(scene.topic);
    await expectCalmUndisturbed(scene);
  });

  test("G6 groups are independent: a dead letter stays in the log for the others", async () => {
    const { topic } = await twoGroups();
    await settleAll(topic, "reject");
    await until("the copies", async () => (await api.deadLetters(topic)).length === 10);
    expect(await api.listMessages(topic)).toHaveLength(10);
    expect(await api.receiveCount(topic, "third", 10)).toHaveLength(10);
  });

  test("G6 groups are independent: a redriven message is for its own group, also for groups made later", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    const { receipt } = only((await api.receive(topic, "g")).deliveries);
    await api.settle(topic, "g", [{ receipt, action: "reject" }]);
    await until("the copy", async () => (await api.deadLetters(topic)).length === 1);
    await api.request("POST", `topics/${topic}/dead-letters/redrive`, { json: {} });
    const late = await api.receive(topic, "late", { maxMessages: 10, waitMs: 300 });
    expect(ids(late.deliveries)).toEqual(["m0"]);
    expect((await api.receive(topic, "late")).deliveries).toEqual([]);
    expect(only((await api.receive(topic, "g")).deliveries)).toMatchObject({ id: "m0", attempt: 1 });
  });
});
