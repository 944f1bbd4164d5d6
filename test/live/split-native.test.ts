import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, until, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { dev, messagesFor, routesOf } from "./split-calls.ts";
import { tenantToken } from "./tokens.ts";
import type { Delivery } from "./wire.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

const api = () => live.api("demo");
const ALICE = { subscriber: "alice-1", route: "alice" };

describe("a route", () => {
  test("takes the messages that match from its start on, and the application all others", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    await api().publish(topic, messagesFor(["a0", "m0"]));
    const before = Date.now();
    const started = await routes.start("alice", dev("alice"));
    expect(started).toMatchObject({ route: "alice", filter: dev("alice"), ttlMs: 30_000, subscribers: 0 });
    expect(started.startedAt).toBeGreaterThan(before - 5000);
    expect(started.expiresAt - started.startedAt).toBe(30_000);
    await api().publish(topic, messagesFor(["a1", "m1", "b1", "a2", "m2"]));
    const hers = await api().receiveCount(topic, "g", 3, ALICE);
    expect(ids(hers)).toEqual(["a0", "a1", "a2"]);
    const others = await api().receiveCount(topic, "g", 4);
    expect(ids(others)).toEqual(["m0", "m1", "b1", "m2"]);
    const { routes: all, application } = (await routes.list()).json;
    expect(only(all)).toMatchObject({
      route: "alice",
      delivered: 3,
      backlog: 3,
      inFlight: 3,
      subscribers: 1,
    });
    expect(application).toMatchObject({ delivered: 4, backlog: 4, inFlight: 4, subscribers: 1 });
    await api().ack(topic, "g", [...hers, ...others]);
    expect((await routes.get("alice")).json).toMatchObject({ delivered: 3, backlog: 0, inFlight: 0 });
    expect(only((await api().getTopic(topic)).groups).backlog).toBe(0);
  });

  test("is of its own group, topic and tenant alone", async () => {
    const topic = freshTopic();
    await routesOf(live, topic).start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1"]));
    expect(ids(await api().receiveCount(topic, "other", 1))).toEqual(["a1"]);
    await live.api("acme").publish(topic, messagesFor(["a1"]));
    expect(ids(await live.api("acme").receiveCount(topic, "g", 1))).toEqual(["a1"]);
    expectProblem(await routesOf(live, topic, { tenant: "acme" }).get("alice"), "not-found");
    expect((await routesOf(live, topic, { tenant: "acme" }).list()).json.routes).toEqual([]);
    expectProblem(await routesOf(live, topic, { group: "other" }).get("alice"), "not-found");
  });

  test("leaves with the application what is in flight; the next attempt follows the filter", async () => {
    const topic = freshTopic();
    await api().publish(topic, messagesFor(["a1", "a2"]));
    const [first, second] = (await api().receiveCount(topic, "g", 2)) as [Delivery, Delivery];
    await routesOf(live, topic).start("alice", dev("alice"));
    expect((await api().receive(topic, "g", ALICE)).deliveries).toEqual([]);
    expect(await api().settleOne(topic, "g", { receipt: first.receipt, action: "ack" })).toBe("ok");
    await api().settleOne(topic, "g", { receipt: second.receipt, action: "nack", delayMs: 0 });
    expect(await api().receiveCount(topic, "g", 1, ALICE)).toMatchObject([{ id: "a2", attempt: 2 }]);
  });

  test("is what its subscriber names last: one without a name is the application's again", async () => {
    const topic = freshTopic();
    await routesOf(live, topic).start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1", "m1", "m2"]));
    const one = { subscriber: "one", maxMessages: 1 };
    expect(ids(await api().receiveCount(topic, "g", 1, one))).toEqual(["m1"]);
    expect(ids(await api().receiveCount(topic, "g", 1, { ...one, route: "alice" }))).toEqual(["a1"]);
    expect(ids(await api().receiveCount(topic, "g", 1, one))).toEqual(["m2"]);
  });

  test("never holds the application up, in a strict partition neither", async () => {
    const topic = freshTopic();
    await api().putGroup(topic, "g", { maxInFlightPerPartition: 1 });
    await routesOf(live, topic).start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1", "a2", "m1", "m2"]));
    // At a breakpoint.
    expect(ids(await api().receiveCount(topic, "g", 1, ALICE))).toEqual(["a1"]);
    const first = await api().receiveCount(topic, "g", 1);
    await api().ack(topic, "g", first);
    expect(ids([...first, ...(await api().receiveCount(topic, "g", 1))])).toEqual(["m1", "m2"]);
    expect((await api().receive(topic, "g", ALICE)).deliveries).toEqual([]);
  });

  test("put again with another filter goes by that, also for a receive that waits", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    const first = await routes.start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1", "m1"]));
    expect(ids(await api().receiveCount(topic, "g", 1, { ...ALICE, subscriber: "alice-2" }))).toEqual(["a1"]);
    const hers = api().receive(topic, "g", { ...ALICE, waitMs: 10_000 });
    await until("it waits", async () => (await routes.get("alice")).json.subscribers === 2);
    const changed = await routes.start("alice", dev("bob"), { ttlMs: 60_000 });
    expect(changed).toMatchObject({ filter: dev("bob"), ttlMs: 60_000, delivered: 0 });
    expect(changed.startedAt).toBeGreaterThanOrEqual(first.startedAt);
    await api().publish(topic, messagesFor(["a2", "b1"]));
    expect(ids((await hers).deliveries)).toEqual(["b1"]);
    expect(ids(await api().receiveCount(topic, "g", 2)).sort()).toEqual(["a2", "m1"]);
  });

  test.each<[string, unknown, string[]]>([
    ["a name in any case", { header: "X-DEV", in: ["alice", "bob"] }, ["both", "other"]],
    ["a beginning", { header: "x-dev", prefix: "al" }, ["both"]],
    ["an expression", { header: "x-dev", matches: "b.b" }, ["other"]],
    ["what is not there", { header: "x-dev", exists: false }, ["none"]],
    ["a partition key", { key: { prefix: "key-n" } }, ["none"]],
    ["a member of baggage", { baggage: "tenant", equals: "a b" }, ["other"]],
    ["all, any and not", { all: [{ any: [dev("alice"), dev("bob")] }, { not: dev("bob") }] }, ["both"]],
    ["everything", { everything: true }, ["both", "other", "none"]],
  ])("takes by %s", async (_, filter, taken) => {
    const topic = freshTopic();
    await routesOf(live, topic).start("alice", filter);
    await api().publish(topic, [
      { id: "both", partitionKey: "key-both", body: 1, headers: { "x-dev": "alice" } },
      {
        id: "other",
        partitionKey: "key-other",
        body: 1,
        headers: { "x-dev": "bob", baggage: "a=b,tenant=a%20b" },
      },
      { id: "none", partitionKey: "key-none", body: 1 },
    ]);
    const hers = await api().receiveCount(topic, "g", taken.length, ALICE);
    expect(ids(hers).sort()).toEqual([...taken].sort());
    if (taken.length < 3) await api().receiveCount(topic, "g", 3 - taken.length);
  });

  test("of a dead-letter topic's group takes dead letters by the headers of their messages", async () => {
    const topic = freshTopic();
    await api().publish(topic, messagesFor(["a1", "m1"]));
    const failed = await api().receiveCount(topic, "g", 2);
    await api().settle(
      topic,
      "g",
      failed.map(({ receipt }) => ({ receipt, action: "reject", reason: "no" })),
    );
    const dead = `${topic}_dlq`;
    await until("the copies", async () => (await api().deadLetters(topic)).length === 2);
    await routesOf(live, dead).start("alice", dev("alice"));
    expect(ids(await api().receiveCount(dead, "g", 1, ALICE))).toEqual(["a1"]);
    expect(ids(await api().receiveCount(dead, "g", 1))).toEqual(["m1"]);
  });

  test("is named by explain, and by the list of subscribers", async () => {
    const topic = freshTopic();
    await routesOf(live, topic).start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1", "m1"]));
    expect(ids(await api().receiveCount(topic, "g", 1))).toEqual(["m1"]);
    const explain = async (id: string) =>
      (await api().request(`GET`, `topics/${topic}/groups/g/explain?partitionKey=k&id=${id}`)).json;
    expect(await explain("a1")).toMatchObject({
      route: "alice",
      blockers: [{ kind: "no-subscriber", route: "alice" }],
    });
    expect(await explain("m1")).not.toHaveProperty("route");
    await api().receiveCount(topic, "g", 1, ALICE);
    expect(await explain("a1")).toMatchObject({ route: "alice", state: "in-flight", subscriber: "alice-1" });
    const { json } = await api().request<{ subscribers: object[] }>(
      "GET",
      `topics/${topic}/groups/g/subscribers`,
    );
    expect(json.subscribers).toMatchObject([{ subscriber: "alice-1", route: "alice" }, { subscriber: "s1" }]);
    expect(json.subscribers[1]).not.toHaveProperty("route");
  });
});

describe("a route that ends", () => {
  test("gives back what it has not settled, in offset order; what is under way may be settled", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    await routes.start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1", "m1", "a2", "m2", "a3", "a4", "m3"]));
    const [first, second] = (await api().receiveCount(topic, "g", 2, ALICE)) as [Delivery, Delivery];
    expect(ids(await api().receiveCount(topic, "g", 2))).toEqual(["m1", "m2"]);
    expect((await routes.end("alice")).status).toBe(204);
    expect(await api().settleOne(topic, "g", { receipt: first.receipt, action: "ack" })).toBe("ok");
    expect(ids(await api().receiveCount(topic, "g", 3))).toEqual(["a3", "a4", "m3"]);
    await api().settleOne(topic, "g", { receipt: second.receipt, action: "nack", delayMs: 0 });
    expect(await api().receiveCount(topic, "g", 1)).toMatchObject([{ id: "a2", attempt: 2 }]);
    expectProblem(await routes.get("alice"), "not-found");
    expectProblem(await routes.end("alice"), "not-found");
    const lost = await api().request("POST", `topics/${topic}/groups/g/receive`, { json: ALICE });
    expectProblem(lost, "not-found");
  });

  test("ends the receive that waits on it", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    await routes.start("alice", dev("alice"));
    const sentAtMs = Date.now();
    const path = `topics/${topic}/groups/g/receive`;
    const hers = api().request("POST", path, { json: { ...ALICE, waitMs: 20_000 } });
    await until("it waits", async () => (await routes.get("alice")).json.subscribers === 1);
    await routes.end("alice");
    expectProblem(await hers, "not-found");
    expect(Date.now() - sentAtMs).toBeLessThan(10_000);
  });

  test("wakes a receive of the application that waits for what it gives back", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    await routes.start("alice", dev("alice"));
    await api().publish(topic, messagesFor(["a1"]));
    const waiting = api().receive(topic, "g", { waitMs: 20_000 });
    await until("it waits", async () => (await routes.list()).json.application.subscribers === 1);
    await routes.end("alice");
    expect(ids((await waiting).deliveries)).toEqual(["a1"]);
  });
});

describe.concurrent("a route's time", () => {
  const SHORT = { ttlMs: 1000 };

  test("ends it within seconds, and with it what is under way; only looking does not renew it", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    await routes.start("alice", dev("alice"), SHORT);
    await api().publish(topic, messagesFor(["a1", "a2"]));
    const [held] = await api().receiveCount(topic, "g", 1, { ...ALICE, maxMessages: 1 });
    const startedAtMs = Date.now();
    await until("its end", async () => (await routes.get("alice")).status === 404);
    expect(Date.now() - startedAtMs).toBeLessThan(4000);
    // In offset order, and not as a failed attempt.
    const back = await api().receiveCount(topic, "g", 2);
    expect(back).toMatchObject([{ id: "a1", attempt: 1 }, { id: "a2" }]);
    expect(await api().settleOne(topic, "g", { receipt: held?.receipt ?? "", action: "ack" })).toBe("stale");
  });

  test("wakes a receive of the application when it is over", async () => {
    const topic = freshTopic();
    await routesOf(live, topic).start("alice", dev("alice"), SHORT);
    await api().publish(topic, messagesFor(["a1"]));
    const { deliveries } = await api().receive(topic, "g", { waitMs: 10_000 });
    expect(ids(deliveries)).toEqual(["a1"]);
  });

  test.each<[string, (topic: string, receipt: string) => Promise<unknown>]>([
    ["a PUT", (topic) => routesOf(live, topic).start("alice", dev("alice"), SHORT)],
    ["a receive", (topic) => api().receive(topic, "g", ALICE)],
    ["a receive that waits", (topic) => api().receive(topic, "g", { ...ALICE, waitMs: 2500 })],
    [
      "a heartbeat",
      (topic) => api().request("POST", `topics/${topic}/groups/g/subscribers/alice-1/heartbeat`),
    ],
    [
      "a settle",
      (topic, receipt) =>
        api().settle(topic, "g", [{ receipt, action: "extend", visibilityTimeoutMs: 30_000 }], "alice-1"),
    ],
  ])("begins anew with %s", async (_, renew) => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    const { startedAt } = await routes.start("alice", dev("alice"), SHORT);
    await api().publish(topic, messagesFor(["a1"]));
    const [held] = await api().receiveCount(topic, "g", 1, ALICE);
    const endMs = Date.now() + 2500;
    while (Date.now() < endMs) {
      await renew(topic, held?.receipt ?? "");
      await untilClock(Math.min(endMs, Date.now() + 200));
    }
    expect((await routes.get("alice")).json).toMatchObject({ startedAt });
  });
});

describe("what is refused", () => {
  test("two routes that would take the same message, with the other's name and that message", async () => {
    const topic = freshTopic();
    const routes = routesOf(live, topic);
    await routes.start("alice", { header: "x-user", prefix: "a" });
    const reply = await routes.put("bob", { header: "X-User", matches: ".b" });
    const { route, witness, detail } = expectProblem(reply, "route-overlap");
    expect({ route, witness }).toEqual({ route: "alice", witness: { headers: { "x-user": "ab" } } });
    expect(detail).toContain("alice");
    expectProblem(await routes.get("bob"), "not-found");
    await routes.start("bob", { header: "x-user", prefix: "b" });
    await routes.start("carol", { all: [{ header: "x-user", exists: false }, dev("carol")] });
    expectProblem(await routes.put("alice", { header: "x-user", exists: true }), "route-overlap");
    expect((await routes.get("alice")).json.filter).toEqual({ header: "x-user", prefix: "a" });
    await routes.end("bob");
    await routes.start("alice", { header: "x-user", exists: true });
  });

  test.each<[unknown, string]>([
    [undefined, "filter"],
    [{}, "filter"],
    [[dev("a")], "filter"],
    [{ header: "x-dev" }, "filter"],
    [{ header: "x-dev", equals: 7 }, "filter.equals"],
    [{ header: "x dev", exists: true }, "filter.header"],
    [{ header: "x-dev", equal: "a" }, "filter.equal"],
    [{ header: "x-dev", matches: "(a" }, "filter.matches"],
    [{ header: "x-dev", matches: "(?=a)b" }, "filter.matches"],
    [{ any: [dev("a"), { not: { key: { prefix: "" } } }] }, "filter.any[1].not.key.prefix"],
    [{ all: [] }, "filter.all"],
    [{ all: [dev("a"), { header: "x-dev", exists: false }] }, "filter"],
    [{ everything: false }, "filter.everything"],
  ])("the filter %j, at its place", async (filter, path) => {
    const topic = freshTopic();
    expectProblem(await routesOf(live, topic).put("alice", filter), "invalid-request", path);
    expectProblem(await api().request("GET", `topics/${topic}`), "not-found");
  });

  test("a time to live out of bounds, and fields that are not known", async () => {
    const routes = routesOf(live, freshTopic());
    for (const ttlMs of [999, 86_400_001, 1500.5, "30s", null]) {
      expectProblem(await routes.put("alice", dev("alice"), { ttlMs }), "invalid-request", "ttlMs");
    }
    expectProblem(await routes.put("alice", dev("alice"), { ttl: 1 }), "invalid-request", "ttl");
    for (const ttlMs of [1000, 86_400_000])
      expect((await routes.start("alice", dev("alice"), { ttlMs })).ttlMs).toBe(ttlMs);
    expectProblem(await routes.put("Alice", dev("alice")), "invalid-request", "route");
    expectProblem(await routes.put("a".repeat(65), dev("alice")), "invalid-request", "route");
    await routes.start("a".repeat(64), dev("long"));
  });

  test("a twenty-first route, until one of them ends", async () => {
    const routes = routesOf(live, freshTopic());
    const putOf = (n: number) => routes.put(`r${n}`, dev(`d${n}`));
    const statuses: number[] = [];
    for (let n = 0; n < 20; n += 1) statuses.push((await putOf(n)).status);
    expect(statuses).toEqual(Array(20).fill(200));
    expectProblem(await putOf(20), "rate-limited");
    expect((await putOf(7)).status).toBe(200);
    await routes.end("r7");
    expect((await putOf(20)).status).toBe(200);
    const names = (await routes.list()).json.routes.map(({ route }) => route);
    expect(names).toEqual([...names].sort());
    expect(names).toHaveLength(20);
  });

  test("what is not there, and what a token does not allow", async () => {
    const topic = freshTopic();
    const nowhere = routesOf(live, topic);
    for (const reply of [await nowhere.get("alice"), await nowhere.list(), await nowhere.end("alice")]) {
      expectProblem(reply, "not-found");
    }
    const lost = await api().request("POST", `topics/${topic}/groups/g/receive`, { json: ALICE });
    expectProblem(lost, "not-found");
    await nowhere.start("alice", dev("alice"));
    const path = `topics/${topic}/groups/g/routes`;
    const as = (scope: string) => live.api("demo", tenantToken(SECRET, "demo", scope));
    const put = { json: { filter: dev("alice") } };
    for (const scope of ["publish", "admin"]) {
      expectProblem(await as(scope).request("PUT", `${path}/alice`, put), "forbidden");
      expectProblem(await as(scope).request("DELETE", `${path}/alice`), "forbidden");
    }
    for (const place of [path, `${path}/alice`]) {
      expectProblem(await as("publish").request("GET", place), "forbidden");
      expect((await as("admin").request("GET", place)).status).toBe(200);
      expect((await as("consume").request("GET", place)).status).toBe(200);
    }
    expect((await as("consume").request("PUT", `${path}/alice`, put)).status).toBe(200);
    expect((await as("consume").request("DELETE", `${path}/alice`)).status).toBe(204);
  });
});

test("a killed server keeps its routes, with what they have", async () => {
  const topic = freshTopic();
  const routes = routesOf(live, topic);
  await routes.start("alice", dev("alice"), { ttlMs: 60_000 });
  await api().publish(topic, messagesFor(["a1", "m1", "a2"]));
  await api().ack(topic, "g", await api().receiveCount(topic, "g", 1, { ...ALICE, maxMessages: 1 }));
  await live.kill();
  await live.restart();
  expect((await routes.get("alice")).json).toMatchObject({ filter: dev("alice"), delivered: 1, backlog: 1 });
  expect(ids(await api().receiveCount(topic, "g", 1))).toEqual(["m1"]);
  expect(ids(await api().receiveCount(topic, "g", 1, ALICE))).toEqual(["a2"]);
});

test("starting and ending a route is one quick call each", async () => {
  const topic = freshTopic();
  const routes = routesOf(live, topic);
  await api().publish(topic, numbered(100, "k"));
  const took: { start: number[]; end: number[] } = { start: [], end: [] };
  for (let n = 0; n < 20; n += 1) {
    const beganMs = performance.now();
    await routes.start("alice", dev("alice"));
    const startedMs = performance.now();
    await routes.end("alice");
    took.start.push(startedMs - beganMs);
    took.end.push(performance.now() - startedMs);
  }
  const median = (times: number[]) => times.sort((a, b) => a - b)[times.length / 2] ?? Number.NaN;
  const figures = { startMs: median(took.start), endMs: median(took.end) };
  console.log(
    `${live.log} log: a route starts in ${figures.startMs.toFixed(1)} ms, ends in ${figures.endMs.toFixed(1)} ms`,
  );
  // A machine that stalls makes a few of them slow, not half.
  expect(Math.max(figures.startMs, figures.endMs)).toBeLessThan(50);
});
