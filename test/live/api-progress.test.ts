import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";
import type { WireLag, WireLease } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const groupPath = (topic: string) => `topics/${topic}/groups/g`;
type LagPage = { partitions: WireLag[]; next: string | number | null };

describe("GET lag", () => {
  test("shows offsets acked and latest, and how many messages are left", async () => {
    const topic = freshTopic();
    await api.publish(topic, [...numbered(4, "k1", "a"), ...numbered(2, "k2", "b")]);
    const deliveries = await api.receiveCount(topic, "g", 6);
    const of = (id: string) => deliveries.find((delivery) => delivery.id === id) ?? expect.fail(id);
    await api.ack(topic, "g", [of("a0"), of("a1"), of("a3"), of("b0"), of("b1")]);
    const reply = await api.request<LagPage>("GET", `${groupPath(topic)}/lag`);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json.next).toBeNull();
    const byKey = new Map(reply.json.partitions.map((partition) => [partition.partitionKey, partition]));
    expect([...byKey.keys()].sort()).toEqual(["k1", "k2"]);
    expect(byKey.get("k1")).toMatchObject({ acked: of("a1").offset, latest: of("a3").offset, lag: 1 });
    expect(byKey.get("k2")).toMatchObject({ acked: of("b1").offset, latest: of("b1").offset, lag: 0 });
  });

  test("pages through all partitions once", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    const keys = Array.from({ length: 25 }, (_, i) => `k-${i}-🚚`);
    await api.publish(
      topic,
      keys.map((partitionKey) => ({ id: "x", partitionKey, body: 1 })),
    );
    const seen: string[] = [];
    let after = "";
    for (let page = 0; page < 5; page++) {
      const { json } = await api.request<LagPage>("GET", `${groupPath(topic)}/lag?limit=10${after}`);
      expect(json.partitions.length).toBeLessThanOrEqual(10);
      seen.push(...json.partitions.map((partition) => partition.partitionKey));
      if (json.next === null) break;
      after = `&after=${encodeURIComponent(String(json.next))}`;
    }
    expect(seen).toHaveLength(25);
    expect([...seen].sort()).toEqual([...keys].sort());
  });

  test("an unknown group is not found; odd parameters are refused", async () => {
    const topic = freshTopic();
    expectProblem(await api.request("GET", `${groupPath(topic)}/lag`), "not-found");
    await api.putGroup(topic, "g");
    expectProblem(await api.request("GET", `${groupPath(topic)}/lag?limit=101`), "invalid-request", "limit");
    expectProblem(await api.request("GET", `${groupPath(topic)}/lag?lmit=1`), "invalid-request", "lmit");
  });
});

describe("PUT offset", () => {
  const reset = (topic: string, partitionKey: string, offset: unknown) =>
    api.request<{ partitionKey: string; acked: number }>("PUT", `${groupPath(topic)}/offset`, {
      json: { partitionKey, offset },
    });

  test("0 delivers the partition from the beginning, and no other partition", async () => {
    const topic = freshTopic();
    await api.publish(topic, [...numbered(3, "k1", "a"), ...numbered(1, "k2", "b")]);
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 4));
    const reply = await reset(topic, "k1", 0);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toEqual({ partitionKey: "k1", acked: 0 });
    const again = await api.receive(topic, "g");
    expect(again.deliveries.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["a0", 1],
      ["a1", 1],
      ["a2", 1],
    ]);
  });

  test("to the middle, backwards and forwards", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(5, "k"));
    const deliveries = await api.receiveCount(topic, "g", 5);
    await api.ack(topic, "g", deliveries);
    expect((await reset(topic, "k", deliveries[1]?.offset)).json.acked).toBe(deliveries[1]?.offset);
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m2", "m3", "m4"]);
    await reset(topic, "k", deliveries[3]?.offset);
    expect(ids((await api.receive(topic, "g")).deliveries)).toEqual(["m4"]);
  });

  test("wakes a waiting receive", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    await api.ack(topic, "g", await api.receiveCount(topic, "g", 1));
    const waiting = api.receive(topic, "g", { waitMs: 20_000 });
    await untilClock(Date.now() + 100);
    const resetAtMs = Date.now();
    await reset(topic, "k", 0);
    expect(ids((await waiting).deliveries)).toEqual(["m0"]);
    expect(Date.now() - resetAtMs).toBeLessThan(700);
  });

  test.each([
    [{ offset: 0 }, "partitionKey"],
    [{ partitionKey: "k" }, "offset"],
    [{ partitionKey: "k", offset: -1 }, "offset"],
    [{ partitionKey: "k", offset: 1.5 }, "offset"],
    [{ partitionKey: "k", offset: 2 ** 53 }, "offset"],
    [{ partitionKey: "k", offset: "0" }, "offset"],
    [{ partitionKey: "", offset: 0 }, "partitionKey"],
    [{ partitionKey: "k", offset: 0, force: true }, "force"],
  ])("refuses %j", async (json, field) => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    expectProblem(await api.request("PUT", `${groupPath(topic)}/offset`, { json }), "invalid-request", field);
  });

  test("an unknown group is not found", async () => {
    expectProblem(await reset(freshTopic(), "k", 0), "not-found");
  });
});

describe("leases", () => {
  const leases = async (topic: string, query = "") => {
    const reply = await api.request<{ leases: WireLease[] }>("GET", `${groupPath(topic)}/leases${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.json.leases;
  };

  test("are listed with holder, epoch and times", async () => {
    const topic = freshTopic();
    const beforeMs = Date.now();
    await api.publish(topic, numbered(1, "k"));
    const delivery = only((await api.receive(topic, "g", { subscriber: "holder" })).deliveries);
    const lease = only(await leases(topic));
    expect(lease).toMatchObject({ partitionKey: "k", subscriber: "holder", epoch: delivery.leaseEpoch });
    expect(lease.acquiredAt).toBeGreaterThanOrEqual(beforeMs - 5);
    expect(lease.renewedAt).toBeGreaterThanOrEqual(lease.acquiredAt);
    expect(Math.abs(lease.expiresAt - lease.renewedAt - 30_000)).toBeLessThan(50);
  });

  test("staleForMs shows only those not renewed for so long", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(1, "k"));
    await api.receive(topic, "g");
    expect(await leases(topic, "?staleForMs=60000")).toEqual([]);
    expect(await leases(topic, "?staleForMs=0")).toHaveLength(1);
    expectProblem(
      await api.request("GET", `${groupPath(topic)}/leases?staleForMs=-1`),
      "invalid-request",
      "staleForMs",
    );
  });

  test("DELETE lease frees the partition: the next epoch is higher and the receipt still works", async () => {
    const topic = freshTopic();
    await api.publish(topic, numbered(2, "k"));
    const first = only((await api.receive(topic, "g", { subscriber: "a", maxMessages: 1 })).deliveries);
    expect((await api.receive(topic, "g", { subscriber: "b" })).deliveries).toEqual([]);
    const freed = await api.request("DELETE", `${groupPath(topic)}/lease?partitionKey=k`);
    expect(freed.status, freed.text).toBe(204);
    expect(await leases(topic)).toEqual([]);
    const second = only((await api.receive(topic, "g", { subscriber: "b" })).deliveries);
    expect(second.id).toBe("m1");
    expect(second.leaseEpoch).toBeGreaterThan(first.leaseEpoch);
    await api.ack(topic, "g", [first, second]);
  });

  test("refuses what it does not know", async () => {
    const topic = freshTopic();
    await api.putGroup(topic, "g");
    const lease = (query: string) => api.request("DELETE", `${groupPath(topic)}/lease${query}`);
    expectProblem(await lease(""), "invalid-request", "partitionKey");
    expectProblem(await lease("?partitionKey=a&partitionKey=b"), "invalid-request", "partitionKey");
    expectProblem(await api.request("GET", `topics/${topic}/groups/nobody/leases`), "not-found");
  });
});

test("every admin call needs the scope admin", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g");
  await api.publish(topic, numbered(1, "k"));
  const limited = live.api("demo", tenantToken(SECRET, "demo", "publish consume"));
  const calls: [string, string, unknown?][] = [
    ["GET", `topics/${topic}/messages`],
    ["GET", `topics/${topic}/message?id=m0&partitionKey=k`],
    ["DELETE", `topics/${topic}/message?id=m0&partitionKey=k`],
    ["DELETE", `topics/${topic}/messages`],
    ["GET", `${groupPath(topic)}/lag`],
    ["PUT", `${groupPath(topic)}/offset`, { partitionKey: "k", offset: 0 }],
    ["GET", `${groupPath(topic)}/leases`],
    ["DELETE", `${groupPath(topic)}/lease?partitionKey=k`],
    ["GET", `topics/${topic}/dead-letters`],
    ["POST", `topics/${topic}/dead-letters/redrive`, {}],
    ["DELETE", `topics/${topic}/dead-letters`],
    ["POST", "gc"],
  ];
  for (const [method, path, json] of calls) {
    const options = json === undefined ? {} : { json };
    expectProblem(await limited.request(method, path, options), "forbidden");
  }
  expect(ids(await api.listMessages(topic))).toEqual(["m0"]);
});
