import { describe, expect, test } from "vitest";
import type { Filter } from "../../../src/splitting/filter/filter.ts";
import { Bench } from "./harness.ts";

const ref = { topic: "t", group: "g" };
const DEV = (name: string): Filter => ({ header: "x-dev", equals: name });
const TTL_MS = 30_000;

/** Messages of one partition whose headers name these developers, null: nobody. Their IDs count on. */
function forDevelopers(key: string, developers: readonly (string | null)[], first = 0) {
  return developers.map((name, at) => ({
    id: `${key}-${first + at}`,
    partitionKey: key,
    headers: name === null ? "" : JSON.stringify({ "x-dev": name }),
  }));
}

const put = (bench: Bench, route: string, filter = DEV(route), ttlMs = TTL_MS) =>
  bench.call("putRoute", { ...ref, route, filter, ttlMs });
const end = (bench: Bench, route: string) => bench.call("deleteRoute", { ...ref, route });

interface Received {
  receipt: string;
  id: string;
  attempt: number;
}

async function receive(bench: Bench, route?: string, subscriber = route ?? "app"): Promise<Received[]> {
  const reply = await bench.call("take", {
    ...ref,
    subscriber,
    maxMessages: 100,
    waitMs: 0,
    visibilityTimeoutMs: null,
    takeId: `${subscriber}-${bench.nowMs}-${Math.random()}`,
    ...(route === undefined ? {} : { route }),
  });
  return reply.deliveries;
}

const ids = (received: readonly Received[]) => received.map(({ id }) => id);

async function ack(bench: Bench, received: readonly Received[]): Promise<string[]> {
  const settlements = received.map(({ receipt }) => ({ receipt, action: "ack" as const }));
  const results = await bench.call("settle", { ...ref, subscriber: null, settlements });
  return results.map(({ status }) => status);
}

describe("who gets what", () => {
  test("what matches goes to the route, published before or after it began; the rest to the application", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.publish("t", forDevelopers("k", ["alice", null, "bob", "alice"]));
    await put(bench, "alice");
    await bench.publish("t", forDevelopers("k", [null, "alice", "bob"], 4));
    expect(ids(await receive(bench))).toEqual(["k-1", "k-2", "k-4", "k-6"]);
    expect(ids(await receive(bench, "alice"))).toEqual(["k-0", "k-3", "k-5"]);
    const { routes, application } = await bench.call("listRoutes", ref);
    expect(routes).toMatchObject([{ route: "alice", delivered: 3, backlog: 3, inFlight: 3, subscribers: 1 }]);
    expect(application).toEqual({ delivered: 4, backlog: 4, inFlight: 4, subscribers: 1 });
  });

  test("what is under way with the application stays there; its next attempt is the route's", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { retry: { initialBackoffMs: 0, multiplier: 1, maxBackoffMs: 0 } });
    await bench.publish("t", forDevelopers("k", ["alice", null, "alice", null]));
    const held = await receive(bench);
    expect(held).toHaveLength(4);
    await put(bench, "alice");
    expect(await receive(bench, "alice")).toEqual([]);
    expect(await ack(bench, held.slice(0, 2))).toEqual(["ok", "ok"]);
    const nacks = held.slice(2).map(({ receipt }) => ({ receipt, action: "nack" as const, reason: "no" }));
    await bench.call("settle", { ...ref, subscriber: null, settlements: nacks });
    expect(await receive(bench, "alice")).toMatchObject([{ id: "k-2", attempt: 2 }]);
    expect(await receive(bench)).toMatchObject([{ id: "k-3", attempt: 2 }]);
  });

  test("one that lapsed with the application is the route's at its next attempt", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.publish("t", forDevelopers("k", ["alice", null]));
    const held = await receive(bench);
    await put(bench, "alice", DEV("alice"), 600_000);
    await bench.advance(31_000);
    expect(await receive(bench)).toMatchObject([{ id: "k-1", attempt: 2 }]);
    // Its receipt works until it is delivered again.
    expect(await ack(bench, held.slice(0, 1))).toEqual(["ok"]);
    expect(await receive(bench, "alice")).toEqual([]);
  });

  test("what waits for its retry when the route begins is the route's", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await bench.publish("t", forDevelopers("k", ["alice", null]));
    const settlements = (await receive(bench)).map(({ receipt }) => ({
      receipt,
      action: "nack" as const,
      delayMs: 1000,
    }));
    await bench.call("settle", { ...ref, subscriber: null, settlements });
    await put(bench, "alice");
    await bench.advance(1000);
    expect(ids(await receive(bench, "alice"))).toEqual(["k-0"]);
    expect(ids(await receive(bench))).toEqual(["k-1"]);
  });

  test("a restart changes nothing", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await put(bench, "alice");
    await bench.publish("t", forDevelopers("k", ["alice", null, "alice", null]));
    const [first] = await receive(bench, "alice");
    bench.restart();
    expect(ids(await receive(bench))).toEqual(["k-1", "k-3"]);
    expect(first && (await ack(bench, [first]))).toEqual(["ok"]);
    expect((await bench.call("listRoutes", ref)).routes).toMatchObject([{ route: "alice", subscribers: 1 }]);
  });
});

describe("the end of a route", () => {
  test("its messages join the application's in the order of their offsets", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1 });
    await put(bench, "alice");
    await bench.publish("t", forDevelopers("k", ["alice", null, "alice", null, "alice"]));
    await end(bench, "alice");
    const seen: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      const received = await receive(bench);
      seen.push(...ids(received));
      await ack(bench, received);
    }
    expect(seen).toEqual(["k-0", "k-1", "k-2", "k-3", "k-4"]);
  });

  test("behind what the application has had already, and before what it has not", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await put(bench, "alice");
    await bench.publish("t", forDevelopers("k", ["alice", null, "alice", null]));
    await ack(bench, await receive(bench));
    await bench.publish("t", forDevelopers("k", [null, "alice"], 4));
    await end(bench, "alice");
    expect(ids(await receive(bench))).toEqual(["k-0", "k-2", "k-4", "k-5"]);
  });

  test("a pile that was never read comes in order, however long it is", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000 });
    await put(bench, "alice", DEV("alice"), 3_600_000);
    const developers = Array.from({ length: 1000 }, (_, at) => (at % 4 === 0 ? null : "alice"));
    for (let part = 0; part < 3; part += 1)
      await bench.publish("t", forDevelopers("k", developers, part * 1000).slice(0, 1000));
    const applications: string[] = [];
    for (let at = 0; at < 100; at += 1) {
      const received = await receive(bench);
      if (received.length === 0) break;
      applications.push(...ids(received));
      await ack(bench, received);
    }
    expect(applications).toHaveLength(750);
    await end(bench, "alice");
    bench.restart();
    const rest: string[] = [];
    for (let at = 0; at < 100; at += 1) {
      const received = await receive(bench);
      if (received.length === 0) break;
      rest.push(...ids(received));
      await ack(bench, received);
    }
    const number = (id: string) => Number(id.split("-")[1]);
    expect(rest).toHaveLength(2250);
    expect(rest.map(number)).toEqual(rest.map(number).toSorted((a, b) => a - b));
    // Nothing is pending, so nothing of the route is kept.
    expect(bench.sql.all("SELECT * FROM queue_routes")).toEqual([]);
    expect(bench.sql.all("SELECT * FROM queue_route_leases")).toEqual([]);
  });

  test("where the developer was ahead, what the application had not come to is all that comes", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await put(bench, "alice");
    const developers = Array.from({ length: 400 }, (_, at) => (at % 2 === 0 ? "alice" : null));
    await bench.publish("t", forDevelopers("k", developers.slice(0, 400)));
    for (let at = 0; at < 30; at += 1) await ack(bench, await receive(bench, "alice"));
    await end(bench, "alice");
    await put(bench, "bob");
    await bench.publish("t", forDevelopers("k", ["bob", "alice"], 400));
    const seen: string[] = [];
    for (let at = 0; at < 100; at += 1) {
      const received = await receive(bench);
      seen.push(...ids(received));
      await ack(bench, received);
    }
    const expected = developers.flatMap((name, at) => (name === null ? [`k-${at}`] : []));
    expect(seen).toEqual([...expected, "k-401"]);
    expect(ids(await receive(bench, "bob"))).toEqual(["k-400"]);
  });

  test("what is under way stays so, and counts in the application's lane", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { maxInFlightPerPartition: 1 });
    await put(bench, "alice");
    await bench.publish("t", forDevelopers("k", ["alice", null]));
    const held = await receive(bench, "alice");
    await end(bench, "alice");
    expect(await receive(bench)).toEqual([]);
    expect(await ack(bench, held)).toEqual(["ok"]);
    expect(ids(await receive(bench))).toEqual(["k-1"]);
  });

  test("by expiry it gives back what is under way, as the same attempt", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g", { visibilityTimeoutMs: 3_600_000 });
    await put(bench, "alice", DEV("alice"), 5000);
    await bench.publish("t", forDevelopers("k", ["alice", null, "alice"]));
    const held = await receive(bench, "alice");
    await ack(bench, held.slice(0, 1));
    await bench.advance(4999);
    expect(ids(await receive(bench))).toEqual(["k-1"]);
    await bench.advance(2);
    expect(await receive(bench)).toMatchObject([{ id: "k-2", attempt: 1 }]);
    expect(await ack(bench, held.slice(1))).toEqual(["stale"]);
    expect(await bench.failure("getRoute", { ...ref, route: "alice" })).toBe("not-found");
  });

  test("any call of a subscriber renews it, and so does a receive that waits", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await put(bench, "alice", DEV("alice"), 5000);
    await receive(bench, "alice");
    for (let at = 0; at < 5; at += 1) {
      await bench.advance(4000);
      await bench.call("heartbeat", { ...ref, subscriber: "alice" });
    }
    expect(await bench.call("getRoute", { ...ref, route: "alice" })).toMatchObject({ subscribers: 1 });
    const waiting = bench.call("take", {
      ...ref,
      subscriber: "alice",
      maxMessages: 1,
      waitMs: 20_000,
      visibilityTimeoutMs: null,
      takeId: "waits",
      route: "alice",
    });
    await bench.advance(19_000);
    await bench.publish("t", forDevelopers("k", ["alice"]));
    expect((await waiting).deliveries).toHaveLength(1);
  });

  test("a receive that waits on it is told", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await put(bench, "alice");
    const input = { ...ref, subscriber: "alice", maxMessages: 1, waitMs: 20_000, visibilityTimeoutMs: null };
    const waiting = bench.failure("take", { ...input, takeId: "waits", route: "alice" });
    await bench.advance(10);
    await end(bench, "alice");
    await bench.advance(10);
    expect(await waiting).toBe("not-found");
  });
});

describe("what is refused", () => {
  test("an overlap, with the other's name and a message that both would take", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    await put(bench, "alice", { header: "x-user", prefix: "a" });
    const outcome = await bench.engine.call("putRoute", {
      ...ref,
      route: "bob",
      filter: { header: "x-user", equals: "ab" },
      ttlMs: TTL_MS,
    });
    expect(outcome).toEqual({
      ok: false,
      error: {
        code: "route-overlap",
        detail: 'route bob overlaps alice, for example {x-user: "ab"}',
        route: "alice",
        witness: { headers: { "x-user": "ab" } },
      },
    });
    expect((await bench.call("listRoutes", ref)).routes).toHaveLength(1);
  });

  test("the twenty-first route, and a receive on one that is not there", async () => {
    const bench = new Bench();
    await bench.putGroup("t", "g");
    for (let at = 0; at < 20; at += 1) await put(bench, `dev-${at}`);
    const more = { ...ref, route: "dev-20", filter: DEV("dev-20"), ttlMs: TTL_MS };
    expect(await bench.failure("putRoute", more)).toBe("rate-limited");
    // Renewing one of them, or giving it another filter, is not one more.
    await put(bench, "dev-3");
    await put(bench, "dev-3", DEV("other"));
    const input = { ...ref, subscriber: "s", maxMessages: 1, waitMs: 0, visibilityTimeoutMs: null };
    expect(await bench.failure("take", { ...input, takeId: "x", route: "nobody" })).toBe("not-found");
  });
});

test("another filter moves what waits", async () => {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  await put(bench, "alice");
  await bench.publish("t", forDevelopers("k", ["alice", "bob", null]));
  await put(bench, "alice", DEV("bob"));
  expect(ids(await receive(bench, "alice"))).toEqual(["k-1"]);
  expect(ids(await receive(bench))).toEqual(["k-0", "k-2"]);
});

test("a deep pile of the route does not keep the application from what follows", async () => {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  await put(bench, "alice");
  for (let part = 0; part < 20; part += 1)
    await bench.publish("t", forDevelopers("k", Array(100).fill("alice"), part * 100));
  await bench.publish("t", forDevelopers("k", [null], 5000));
  expect(ids(await receive(bench))).toEqual(["k-5000"]);
});

test("a reset takes both with it", async () => {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  await put(bench, "alice");
  await bench.publish("t", forDevelopers("k", ["alice", null, "alice"]));
  await ack(bench, await receive(bench));
  await ack(bench, await receive(bench, "alice"));
  await bench.call("resetOffset", { ...ref, partitionKey: "k", offset: 0 });
  expect(ids(await receive(bench))).toEqual(["k-1"]);
  expect(ids(await receive(bench, "alice"))).toEqual(["k-0", "k-2"]);
});

test("counts and collection know whose is what", async () => {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  await put(bench, "alice", DEV("alice"), 86_400_000);
  await bench.publish("t", forDevelopers("k", ["alice", null, "alice", null]));
  await ack(bench, await receive(bench));
  const { groups } = await bench.call("getTopic", { topic: "t" });
  expect(groups).toMatchObject([{ group: "g", backlog: 2 }]);
  const { partitions } = await bench.call("lag", { ...ref, after: null, limit: 10 });
  expect(partitions).toMatchObject([{ partitionKey: "k", lag: 2 }]);
  await bench.advance(3_700_000);
  const { deletedMessages } = await bench.call("collect", {});
  expect(deletedMessages).toBe(2);
  expect(ids(await receive(bench, "alice"))).toEqual(["k-0", "k-2"]);
});

test("explain names the route, and that nobody is attached to it", async () => {
  const bench = new Bench();
  await bench.putGroup("t", "g");
  await put(bench, "alice");
  await bench.publish("t", forDevelopers("k", ["alice", null]));
  await receive(bench);
  const explanation = await bench.call("explain", { ...ref, partitionKey: "k", id: "k-0", offset: null });
  expect(explanation).toMatchObject({
    state: "waiting",
    route: "alice",
    blockers: [{ kind: "no-subscriber", route: "alice" }],
  });
});
