import { describe, expect, test } from "vitest";
import type { Filter } from "../../../src/splitting/filter/filter.ts";
import { Bench } from "./harness.ts";

/** Routes that begin and end over what is there, again and again. */

const ref = { topic: "t", group: "g" };
const DEV = (name: string): Filter => ({ header: "x-dev", equals: name });

interface Received {
  receipt: string;
  id: string;
  attempt: number;
}

class Desk {
  readonly bench = new Bench();
  private takes = 0;
  private published = 0;

  async begin(settings: Parameters<Bench["putGroup"]>[2] = {}): Promise<this> {
    await this.bench.putGroup("t", "g", settings);
    return this;
  }

  put(route: string, filter = DEV(route)) {
    return this.bench.call("putRoute", { ...ref, route, filter, ttlMs: 86_400_000 });
  }

  end(route: string) {
    return this.bench.call("deleteRoute", { ...ref, route });
  }

  /** Of one partition, numbered on; null: nobody's. */
  async publish(developers: readonly (string | null)[], key = "k"): Promise<void> {
    for (let at = 0; at < developers.length; at += 100) {
      const messages = developers.slice(at, at + 100).map((name) => ({
        id: String(this.published++),
        partitionKey: key,
        headers: name === null ? "" : JSON.stringify({ "x-dev": name }),
      }));
      await this.bench.publish("t", messages);
    }
  }

  async receive(route?: string, maxMessages = 100): Promise<Received[]> {
    this.takes += 1;
    const attached = route === undefined ? {} : { route };
    const reply = await this.bench.call("take", {
      ...ref,
      subscriber: route ?? "app",
      maxMessages,
      waitMs: 0,
      visibilityTimeoutMs: null,
      takeId: `take-${this.takes}`,
      ...attached,
    });
    return reply.deliveries;
  }

  async ack(received: readonly Received[]): Promise<void> {
    const settlements = received.map(({ receipt }) => ({ receipt, action: "ack" as const }));
    const results = await this.bench.call("settle", { ...ref, subscriber: null, settlements });
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["ok"]));
  }

  /** Receives and acks until there is nothing; the numbers of the messages, in the order in which they came. */
  async drain(route?: string): Promise<number[]> {
    const seen: number[] = [];
    for (let round = 0; round < 2000; round += 1) {
      const received = await this.receive(route);
      if (received.length === 0) return seen;
      await this.ack(received);
      seen.push(...received.map(({ id }) => Number(id)));
    }
    return expect.fail("it never ran dry");
  }
}

const ascending = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
const range = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at);

test.each(["a new route", "a restart"])(
  "what a route has settled does not come to the application, which stood still meanwhile: %s",
  async (how) => {
    const desk = await new Desk().begin();
    await desk.put("alice");
    await desk.publish([null, "alice"]);
    const [held] = await desk.receive();
    await desk.ack(await desk.receive("alice"));
    await desk.bench.call("leave", { ...ref, subscriber: "alice" });
    await desk.end("alice");
    await desk.publish([null]);
    if (how === "a restart") desk.bench.restart();
    else await desk.put("bob");
    await desk.ack(held ? [held] : []);
    expect(await desk.drain()).toEqual([2]);
    await desk.put("alice");
    expect(await desk.drain("alice")).toEqual([]);
  },
);

describe("a developer who comes again over a pile", () => {
  test("gets all of it, in order, though the application asks for nothing", async () => {
    const desk = await new Desk().begin({ maxInFlightPerPartition: 1 });
    await desk.put("alice");
    await desk.publish(Array(300).fill("alice"));
    await desk.ack(await desk.receive("alice", 1));
    await desk.end("alice");
    await desk.put("alice");
    await desk.publish(Array(20).fill("alice"));
    expect(await desk.drain("alice")).toEqual(range(1, 319));
  });

  test("as often as they like, in one range and one filter", async () => {
    const desk = await new Desk().begin();
    await desk.publish(Array(20).fill(null));
    await desk.put("alice");
    await desk.publish(Array(2000).fill("alice"));
    for (let time = 0; time < 40; time += 1) {
      await desk.ack(await desk.receive("alice", 5));
      await desk.end("alice");
      await desk.put("alice");
    }
    const rows = desk.bench.sql.all("SELECT pending_ranges FROM queue_partition_leases");
    for (const { pending_ranges } of rows)
      expect(JSON.parse(String(pending_ranges) || "[]").length).toBeLessThan(4);
    expect(Number(desk.bench.count("queue_routes"))).toBeLessThan(6);
    expect(ascending(await desk.drain("alice"))).toEqual(range(220, 1800));
    expect(await desk.drain()).toEqual(range(0, 20));
  });

  test("and sits at a breakpoint: the application goes on, and so does what is due", async () => {
    const desk = await new Desk().begin();
    await desk.put("alice");
    await desk.publish(range(0, 8000).map((at) => (at % 2000 === 1999 ? null : "alice")));
    await desk.end("alice");
    await desk.put("alice");
    expect(await desk.drain()).toEqual([1999, 3999, 5999, 7999]);
    // It is not turned into rows for a route that nobody reads.
    expect(desk.bench.count("queue_delivery_state")).toBeLessThan(2100);
    expect(ascending(await desk.drain("alice"))).toHaveLength(7996);
  });
});

test("after two routes have ended all comes in the order of offsets, in a strict group too", async () => {
  const desk = await new Desk().begin({ maxInFlightPerPartition: 1 });
  await desk.put("alice");
  await desk.put("bob");
  await desk.publish(range(0, 600).map((at) => (at % 3 === 0 ? "alice" : at % 3 === 1 ? "bob" : null)));
  await desk.ack(await desk.receive("alice"));
  await desk.receive("bob").then((received) => desk.ack(received));
  for (let time = 0; time < 100; time += 1) await desk.ack(await desk.receive());
  await desk.end("alice");
  await desk.end("bob");
  const rest = await desk.drain();
  expect(rest).toEqual(ascending(rest));
  expect(rest).toHaveLength(600 - 102);
});

test("another filter for a route is bound as a further route is", async () => {
  const desk = await new Desk().begin();
  await desk.put("alice");
  await desk.publish(Array(300).fill("alice"));
  for (let at = 0; at < 150; at += 1) {
    const filter: Filter = { any: [DEV("alice"), DEV(`other-${at}`)] };
    const input = { ...ref, route: "alice", filter, ttlMs: 86_400_000 };
    await desk.bench.engine.call("putRoute", input);
    await desk.ack(await desk.receive("alice", 1));
  }
  expect(desk.bench.count("queue_routes")).toBeLessThan(110);
  expect(ascending(await desk.drain("alice"))).toHaveLength(150);
});

test("counts say where they are lower bounds", async () => {
  const desk = await new Desk().begin();
  await desk.put("alice");
  await desk.publish(Array(2000).fill("alice"));
  await desk.end("alice");
  await desk.put("alice");
  const view = await desk.bench.call("getRoute", { ...ref, route: "alice" });
  expect(view.backlog === 2000 || view.atLeast === true).toBe(true);
});

test("one message behind a deep pile of another party comes with the first receive", async () => {
  const desk = await new Desk().begin();
  await desk.publish([...Array(6000).fill(null), "alice"]);
  await desk.receive();
  for (let at = 0; at < 3; at += 1) await desk.receive();
  await desk.put("alice");
  expect((await desk.receive("alice")).map(({ id }) => id)).toEqual(["6000"]);
});

test("whoever waits is told that a route is over, by whatever call that was noticed", async () => {
  const desk = await new Desk().begin();
  await desk.bench.call("putRoute", { ...ref, route: "alice", filter: DEV("alice"), ttlMs: 5000 });
  await desk.publish(["alice"]);
  const input = { ...ref, subscriber: "app", maxMessages: 1, waitMs: 20_000, visibilityTimeoutMs: null };
  const waiting = desk.bench.call("take", { ...input, takeId: "waits" });
  await desk.bench.advance(4000);
  desk.bench.nowMs += 1001;
  await desk.bench.call("heartbeat", { ...ref, subscriber: "somebody" });
  await desk.bench.advance(0);
  expect((await waiting).deliveries).toHaveLength(1);
});
