import { afterAll, beforeAll, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, ids, type Live, numbered, SECRET, setup, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const path = (topic: string, subscriber: string) => `topics/${topic}/groups/g/subscribers/${subscriber}`;
const heartbeat = (topic: string, subscriber: string) =>
  api.request<{ partitions: string[]; expiresAt: number }>("POST", `${path(topic, subscriber)}/heartbeat`);

test("a heartbeat answers the partitions held and when the subscriber expires", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { leaseDurationMs: 20_000 });
  await api.publish(topic, [...numbered(1, "k1", "a"), ...numbered(1, "k2", "b")]);
  await api.receiveCount(topic, "g", 2);
  const reply = await heartbeat(topic, "s1");
  expect(reply.status, reply.text).toBe(200);
  expect(reply.json).toEqual({ partitions: expect.any(Array), expiresAt: expect.any(Number) });
  expect([...reply.json.partitions].sort()).toEqual(["k1", "k2"]);
  expect(Math.abs(reply.json.expiresAt - Date.now() - 20_000)).toBeLessThan(1000);
});

test("a heartbeat of a subscriber that holds nothing answers no partitions", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g");
  const reply = await heartbeat(topic, "new");
  expect(reply.status, reply.text).toBe(200);
  expect(reply.json.partitions).toEqual([]);
});

test("leaving frees the partitions at once; receipts go stale; the attempt number stays", async () => {
  const topic = freshTopic();
  await api.publish(topic, numbered(2, "k"));
  const { deliveries } = await api.receive(topic, "g", { subscriber: "leaver" });
  const left = await api.request("DELETE", path(topic, "leaver"));
  expect(left.status, left.text).toBe(204);
  expect(left.text).toBe("");
  for (const { receipt } of deliveries) {
    expect(await api.settleOne(topic, "g", { receipt, action: "ack" })).toBe("stale");
  }
  const next = await api.receive(topic, "g", { subscriber: "next" });
  expect(next.deliveries.map(({ id, attempt }) => [id, attempt])).toEqual([
    ["m0", 1],
    ["m1", 1],
  ]);
  expect(next.partitions).toEqual(["k"]);
});

test("leaving wakes a receive of another subscriber", async () => {
  const topic = freshTopic();
  await api.publish(topic, numbered(1, "k"));
  await api.receive(topic, "g", { subscriber: "leaver" });
  const waiting = api.receive(topic, "g", { subscriber: "next", waitMs: 20_000 });
  await untilClock(Date.now() + 100);
  const leftAtMs = Date.now();
  await api.request("DELETE", path(topic, "leaver"));
  expect(ids((await waiting).deliveries)).toEqual(["m0"]);
  expect(Date.now() - leftAtMs).toBeLessThan(700);
});

test("leaving twice, or never having been there, is 204 as well", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g");
  expect((await api.request("DELETE", path(topic, "nobody"))).status).toBe(204);
  expect((await api.request("DELETE", path(topic, "nobody"))).status).toBe(204);
});

test("a subscriber that misses its heartbeats loses its partitions to another", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { leaseDurationMs: 1000 });
  await api.publish(topic, numbered(12, "k"));
  const silent = await api.receive(topic, "g", { subscriber: "silent" });
  expect(silent.deliveries).toHaveLength(10);
  await api.ack(topic, "g", silent.deliveries.slice(0, 1));
  const taken = await api.receive(topic, "g", { subscriber: "next", waitMs: 10_000 });
  expect(ids(taken.deliveries)).toEqual(["m10"]);
  expect(taken.partitions).toEqual(["k"]);
  // The end of a lease is not the end of a delivery.
  await api.ack(topic, "g", silent.deliveries.slice(1));
});

test("heartbeats keep a lease that would have ended", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { leaseDurationMs: 1000 });
  await api.publish(topic, numbered(12, "k"));
  const first = await api.receive(topic, "g", { subscriber: "alive", maxMessages: 1 });
  const waiting = api.receive(topic, "g", { subscriber: "next", waitMs: 2500 });
  let waits = true;
  void waiting.then(() => {
    waits = false;
  });
  let beats = 0;
  while (waits) {
    expect((await heartbeat(topic, "alive")).json.partitions).toEqual(["k"]);
    beats += 1;
    await untilClock(Date.now() + 200);
  }
  expect(beats).toBeGreaterThan(5);
  expect((await waiting).deliveries).toEqual([]);
  await api.ack(topic, "g", first.deliveries);
});

test("a waiting receive keeps its subscriber alive beyond the lease", async () => {
  const topic = freshTopic();
  await api.putGroup(topic, "g", { leaseDurationMs: 1000 });
  await api.publish(topic, numbered(10, "k"));
  const { deliveries } = await api.receive(topic, "g", { subscriber: "waiter" });
  const waiting = api.receive(topic, "g", { subscriber: "waiter", waitMs: 2500 });
  await untilClock(Date.now() + 1800);
  expect(await api.getTopic(topic)).toMatchObject({ groups: [{ group: "g", subscribers: 1 }] });
  await api.publish(topic, numbered(1, "k", "later"));
  await api.ack(topic, "g", deliveries);
  expect(ids((await waiting).deliveries)).toEqual(["later0"]);
});

test("bad names and missing scopes are refused", async () => {
  const topic = freshTopic();
  expectProblem(await heartbeat(topic, "S1"), "invalid-request", "subscriber");
  expectProblem(await heartbeat(topic, "s".repeat(129)), "invalid-request", "subscriber");
  expectProblem(await api.request("DELETE", path(topic, "a%20b")), "invalid-request", "subscriber");
  const limited = live.api("demo", tenantToken(SECRET, "demo", "publish admin"));
  expectProblem(await limited.request("POST", `${path(topic, "s1")}/heartbeat`), "forbidden");
  expectProblem(await limited.request("DELETE", path(topic, "s1")), "forbidden");
});
