import { describe, expect, test } from "vitest";
import { Bench } from "./harness.ts";
import { LateBench } from "./late-bench.ts";

const ref = { topic: "t", group: "g" };
const TTL_MS = 3_600_000;

function forDevelopers(developers: readonly (string | null)[], first = 0) {
  return developers.map((name, at) => ({
    id: `${first + at}`,
    partitionKey: "k",
    headers: name === null ? "" : JSON.stringify({ "x-dev": name }),
  }));
}

interface Received {
  receipt: string;
  id: string;
}

let takes = 0;
function takeInput(route: string | undefined, maxMessages: number) {
  takes += 1;
  const subscriber = route ?? "app";
  const input = { ...ref, subscriber, maxMessages, waitMs: 0, visibilityTimeoutMs: null, takeId: `${takes}` };
  return route === undefined ? input : { ...input, route };
}

async function receive(bench: Bench, route?: string, maxMessages = 100): Promise<Received[]> {
  return (await bench.call("take", takeInput(route, maxMessages))).deliveries;
}

async function settle(bench: Bench, received: readonly Received[], delayMs: number | null = null) {
  const how = delayMs === null ? { action: "ack" as const } : { action: "postpone" as const, delayMs };
  const settlements = received.map(({ receipt }) => ({ receipt, ...how }));
  return bench.call("settle", { ...ref, subscriber: null, settlements });
}

/** Takes and acknowledges until nothing comes; the IDs. */
async function drain(bench: Bench, route?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < 50; at += 1) {
    const received = await receive(bench, route);
    if (received.length === 0) return ids;
    ids.push(...received.map(({ id }) => id));
    await settle(bench, received);
  }
  throw new Error("there is no end to it");
}

const put = (bench: Bench, route: string) =>
  bench.call("putRoute", { ...ref, route, filter: { header: "x-dev", equals: route }, ttlMs: TTL_MS });
const end = (bench: Bench, route: string) => bench.call("deleteRoute", { ...ref, route });
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `${from + at}`);

async function withGroup(settings = {}): Promise<Bench> {
  const bench = new Bench();
  await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000, ...settings });
  return bench;
}

describe("what a route consumed does not come to the application", () => {
  test("where the application lags and nothing of the route is left", async () => {
    const bench = await withGroup();
    await put(bench, "alice");
    await bench.publish(
      "t",
      forDevelopers(Array.from({ length: 300 }, (_, at) => (at % 2 ? null : "alice"))),
    );
    expect(await drain(bench, "alice")).toHaveLength(150);
    await bench.call("leave", { ...ref, subscriber: "alice" });
    await end(bench, "alice");
    const ids = await drain(bench);
    expect(ids).toEqual(numbers(0, 300).filter((_, at) => at % 2));
  });

  test("nor when it reads again where it stood while the route was there", async () => {
    const bench = await withGroup({ maxInFlightPerPartition: 1 });
    await bench.publish("t", forDevelopers([null]));
    const held = await receive(bench);
    await put(bench, "alice");
    await bench.publish("t", forDevelopers(["alice", "alice"], 1));
    expect(await drain(bench, "alice")).toEqual(["1", "2"]);
    await bench.call("leave", { ...ref, subscriber: "alice" });
    await end(bench, "alice");
    await bench.publish("t", forDevelopers([null], 3));
    expect(await receive(bench)).toEqual([]);
    bench.restart();
    await settle(bench, held);
    expect(await drain(bench)).toEqual(["3"]);
  });
});

describe("what a route leaves", () => {
  /** Alice's pile is longer than what is read ahead, and the application has walked past it. */
  async function withLeft(
    developers: readonly (string | null)[],
    delayed: readonly number[] = [],
  ): Promise<Bench> {
    const bench = await withGroup();
    await put(bench, "alice");
    const messages = forDevelopers(developers).map((message, at) => ({
      ...message,
      delayMs: delayed.includes(at) ? 1000 : 0,
    }));
    await bench.publish("t", messages);
    await settle(bench, await receive(bench));
    return bench;
  }

  test("comes before what another left behind it, however much of it was not read", async () => {
    const bench = await withLeft([...Array(150).fill("alice"), "bob", "bob", null]);
    await bench.publish("t", forDevelopers(["bob", null], 153));
    await put(bench, "bob");
    await settle(bench, await receive(bench));
    await bench.publish("t", forDevelopers(["bob", "bob", null], 155));
    await settle(bench, await receive(bench));
    await end(bench, "alice");
    await end(bench, "bob");
    const ids = (await drain(bench)).map(Number);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.slice(0, 150)).toEqual(numbers(0, 150).map(Number));
  });

  test("goes to the next route that takes it, in order, although nobody of the application is there", async () => {
    const bench = await withLeft([...Array(250).fill("alice"), null]);
    await end(bench, "alice");
    await put(bench, "alice");
    await bench.publish("t", forDevelopers(["alice"], 251));
    expect(await drain(bench, "alice")).toEqual([...numbers(0, 250), "251"]);
    expect(await drain(bench)).toEqual([]);
  });

  test("comes once where it was delayed and is due before it was read", async () => {
    const bench = await withLeft([...Array(250).fill("alice"), null], [200]);
    await end(bench, "alice");
    await bench.advance(1001);
    expect(await drain(bench)).toEqual(numbers(0, 250));
  });

  test("is due whatever the clock says", async () => {
    const bench = await withLeft(["alice", null]);
    await end(bench, "alice");
    bench.nowMs -= 3_600_000;
    expect(await drain(bench)).toEqual(["0"]);
  });

  test("is counted although the last of it is read meanwhile, and with it the route's filter goes", async () => {
    const bench = await withLeft([...Array(250).fill("alice"), null]);
    await end(bench, "alice");
    let first = true;
    bench.withLog((log) => ({
      scanPartitions: async (topic, reads) => {
        const pages = await log.scanPartitions(topic, reads);
        if (!first) return pages;
        first = false;
        await drain(bench);
        return pages;
      },
    }));
    const { groups } = await bench.call("getTopic", { topic: "t" });
    expect(groups).toMatchObject([{ group: "g" }]);
    expect(bench.sql.all("SELECT * FROM queue_routes")).toEqual([]);
  });
});

describe("what waits in the application's lane when a route begins", () => {
  test("goes to the route whole, where that had no lane", async () => {
    const bench = await withGroup();
    await bench.publish("t", forDevelopers(["alice", "alice", "alice", null]));
    await settle(bench, await receive(bench), 1000);
    await put(bench, "alice");
    await bench.advance(1000);
    expect(await drain(bench, "alice")).toEqual(["0", "1", "2"]);
    expect(await drain(bench)).toEqual(["3"]);
  });

  test("holds what is behind it until it was asked whose it is", async () => {
    const bench = await withGroup();
    await bench.publish("t", forDevelopers([null]));
    const held = await receive(bench);
    await put(bench, "alice");
    await bench.publish("t", forDevelopers([null], 1));
    let first = true;
    bench.withLog((log) => ({
      scanTopic: async (topic, read) => {
        const page = await log.scanTopic(topic, read);
        // Too late to be asked by this read.
        if (first) await settle(bench, held, 0);
        first = false;
        return page;
      },
    }));
    expect((await receive(bench, undefined, 1)).map(({ id }) => id)).toEqual(["0"]);
  });

  test("stays if it is under way again by the time that it was asked", async () => {
    const bench = await withGroup();
    await bench.publish("t", forDevelopers(["alice"]));
    const held = await receive(bench);
    await put(bench, "alice");
    await bench.advance(31_000);
    let first = true;
    bench.withLog((log) => ({
      scanPartitions: async (topic, reads) => {
        const pages = await log.scanPartitions(topic, reads);
        if (!first) return pages;
        first = false;
        const extend = { action: "extend" as const, visibilityTimeoutMs: 60_000 };
        const settlements = held.map(({ receipt }) => ({ receipt, ...extend }));
        await bench.call("settle", { ...ref, subscriber: null, settlements });
        return pages;
      },
    }));
    expect(await receive(bench, "alice")).toEqual([]);
    const { routes, application } = await bench.call("listRoutes", ref);
    expect([routes[0]?.inFlight, application?.inFlight]).toEqual([0, 1]);
  });
});

test("a late message that the read of another party's lane met comes to its own", async () => {
  const bench = new LateBench();
  await bench.putGroup("t", "g", { maxInFlightPerPartition: 1000 });
  const take = async (route?: string, maxMessages = 100) => {
    const { grants } = await bench.call("take", takeInput(route, maxMessages));
    await bench.call("settle", {
      ...{ ...ref, subscriber: null },
      settlements: grants.map(({ receipt }) => ({ receipt, action: "ack" as const })),
    });
    return grants.map(({ offset }) => offset);
  };
  const mixed = Array.from({ length: 100 }, (_, at) => (at % 2 ? null : "alice"));
  for (const first of [0, 100, 200]) await bench.publish("t", forDevelopers(mixed, first));
  await take(undefined, 1);
  const filter = { header: "x-dev", equals: "alice" };
  await bench.call("putRoute", { ...ref, route: "alice", filter, ttlMs: TTL_MS });
  await bench.advance(100);
  bench.openMs = 2000;
  const late = bench.append("t", forDevelopers(["alice"], 1000));
  bench.openMs = 0;
  await bench.advance(100);
  await bench.publish("t", forDevelopers([null, "alice"], 300));
  let taken = 1;
  while (taken > 0) taken = (await take("alice")).length;
  await bench.advance(2000);
  const { stored } = await late;
  taken = 1;
  while (taken > 0) taken = (await take()).length;
  const seen: number[] = [];
  for (let at = 0; at < 8; at += 1) {
    await bench.advance(1000);
    seen.push(...(await take("alice")));
  }
  expect(seen).toEqual([stored?.lowestOffset]);
});
