import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConsumeErrorContext, Message, StaleSettlement } from "../../src/client/fairlane.ts";
import { clientOf, Gate } from "./client.ts";
import type { BlockingConsumer } from "./client-blocking.ts";
import { freshTopic, type Live, numbered, setup, until, untilClock } from "./harness.ts";
import { seeded, seedFrom } from "./seeded.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

/** Consumes until `done` says so, and fails with what no handler and no settlement should have met. */
async function consumeUntil(
  topic: string,
  options: {
    group?: string;
    handler: (message: Message) => unknown;
    concurrency?: number;
    ordered?: boolean;
    visibilityTimeoutMs?: number;
    drainMs?: number;
  },
  done: () => Promise<boolean> | boolean,
): Promise<{ stale: StaleSettlement[]; errors: [unknown, ConsumeErrorContext][] }> {
  const stop = new AbortController();
  const stale: StaleSettlement[] = [];
  const errors: [unknown, ConsumeErrorContext][] = [];
  const consuming = clientOf(live).consume(topic, {
    group: "g",
    signal: stop.signal,
    onStale: (one) => stale.push(one),
    onError: (error, context) => errors.push([error, context]),
    ...options,
  });
  const failed = consuming.then(() => expect.fail("it stopped by itself"));
  await Promise.race([failed, until("done", async () => done())]).finally(() => stop.abort());
  failed.catch(() => {});
  await consuming;
  return { stale, errors };
}

async function backlogOf(topic: string, group = "g"): Promise<number> {
  const { groups } = await live.api("demo").getTopic(topic);
  return groups.find((one) => one.group === group)?.backlog ?? Number.NaN;
}

describe("consume", () => {
  test("hands over what was published, once, and acks it", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    const published = await client.publish(topic, {
      id: "order-1/created",
      partitionKey: "order-1",
      body: { total: 3, name: "é🚚" },
      headers: { "X-Dev": "alice" },
    });
    expect(published).toEqual({ id: "order-1/created", partitionKey: "order-1", duplicate: false });
    await client.publish(topic, { partitionKey: "bytes", bytes: Uint8Array.of(0, 255), contentType: "a/b" });
    const seen: Message[] = [];
    const { stale, errors } = await consumeUntil(
      topic,
      { handler: (message) => seen.push(message) },
      async () => seen.length === 2 && (await backlogOf(topic)) === 0,
    );
    seen.sort((a, b) => a.offset - b.offset);
    expect(seen[0]).toMatchObject({
      id: "order-1/created",
      topic,
      partitionKey: "order-1",
      attempt: 1,
      body: { total: 3, name: "é🚚" },
      bytes: undefined,
      contentType: "application/json",
      headers: { "x-dev": "alice" },
      deadLetter: undefined,
    });
    expect(seen[1]).toMatchObject({ bytes: Uint8Array.of(0, 255), body: undefined, contentType: "a/b" });
    expect([stale, errors]).toEqual([[], []]);
    expect((await live.api("demo").getTopic(topic)).groups).toMatchObject([{ subscribers: 0, inFlight: 0 }]);
  });

  test("a handler that throws nacks with its words, and the last attempt is a dead letter", async () => {
    const topic = freshTopic();
    const retry = { initialBackoffMs: 0, multiplier: 1, maxBackoffMs: 0 };
    await live.api("demo").putGroup(topic, "g", { maxAttempts: 2, retry });
    await clientOf(live).publish(topic, { id: "bad", partitionKey: "p", body: 1 });
    const attempts: number[] = [];
    const { errors } = await consumeUntil(
      topic,
      {
        handler: ({ attempt }) => {
          attempts.push(attempt);
          throw new Error(`no billing ${"x".repeat(2000)}`);
        },
      },
      async () => (await live.api("demo").deadLetters(topic)).length === 1,
    );
    expect(attempts).toEqual([1, 2]);
    const [letter] = await live.api("demo").deadLetters(topic);
    expect(letter).toMatchObject({ id: "bad", attempts: 2, reason: `no billing ${"x".repeat(989)}` });
    expect(errors.map(([, { phase, message }]) => [phase, message?.id])).toEqual([
      ["handler", "bad"],
      ["handler", "bad"],
    ]);
  });

  test("a handler may decide by itself", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    await client.publishBatch(topic, [
      { id: "ack", partitionKey: "a", body: 0 },
      { id: "nack", partitionKey: "b", body: 0 },
      { id: "postpone", partitionKey: "c", body: 0 },
      { id: "reject", partitionKey: "d", body: 0 },
      { id: "extend", partitionKey: "e", body: 0 },
    ]);
    const answers: string[] = [];
    const attempts: Record<string, number[]> = {};
    const { errors } = await consumeUntil(
      topic,
      {
        handler: async (message) => {
          const { id, attempt } = message;
          const of = [...(attempts[id] ?? []), attempt];
          attempts[id] = of;
          if (of.length > 1) return;
          if (id === "ack") answers.push(`${id} ${await message.ack()}`);
          if (id === "nack") answers.push(`${id} ${await message.nack("not yet", { delayMs: 1 })}`);
          if (id === "postpone") answers.push(`${id} ${await message.postpone(1)}`);
          if (id === "reject") answers.push(`${id} ${await message.reject("never")}`);
          if (id === "extend") answers.push(`${id} ${await message.extend(60_000)}`);
          // The decision counts, not that.
          if (id === "ack") throw new Error("after the decision");
          if (id === "reject") expect(() => message.ack()).toThrow(/decided already, by reject/);
        },
      },
      async () => (await backlogOf(topic)) === 0,
    );
    expect(answers.sort()).toEqual(["ack ok", "extend ok", "nack ok", "postpone ok", "reject ok"]);
    expect(attempts).toEqual({ ack: [1], nack: [1, 2], postpone: [1, 1], reject: [1], extend: [1] });
    expect(errors.map(([error]) => (error as Error).message)).toEqual(["after the decision"]);
    expect(await live.api("demo").deadLetters(topic)).toMatchObject([{ id: "reject", reason: "never" }]);
  });

  test("a slow handler keeps its message, and its partition", async () => {
    const topic = freshTopic();
    await live.api("demo").putGroup(topic, "g", { visibilityTimeoutMs: 1000, leaseDurationMs: 1000 });
    await clientOf(live).publishBatch(topic, numbered(3, "p"));
    const seen: string[] = [];
    let owner = "";
    const { stale } = await consumeUntil(
      topic,
      {
        concurrency: 1,
        handler: async ({ id, attempt, signal }) => {
          seen.push(`${id}/${attempt}`);
          if (id !== "m0") return;
          const leases = async () => (await clientOf(live).admin.leases(topic, "g")).leases;
          owner = (await leases())[0]?.subscriber ?? "none";
          await untilClock(Date.now() + 2500);
          expect(await leases()).toMatchObject([{ subscriber: owner }]);
          expect(signal.aborted).toBe(false);
        },
      },
      async () => (await backlogOf(topic)) === 0,
    );
    expect(seen).toEqual(["m0/1", "m1/1", "m2/1"]);
    expect(stale).toEqual([]);
    expect(owner).toMatch(/^client-[0-9a-f-]{36}$/);
  });

  test("a handler that blocks the event loop too long hears that its ack came too late", async () => {
    const topic = freshTopic();
    await live.api("demo").putGroup(topic, "g", { visibilityTimeoutMs: 1000, leaseDurationMs: 1000 });
    await clientOf(live).publish(topic, { id: "m", partitionKey: "p", body: 1 });
    const flag = new SharedArrayBuffer(4);
    const workerData = { url: live.url, token: live.token, topic, flag } satisfies BlockingConsumer;
    const worker = new Worker(join(import.meta.dirname, "client-blocking.ts"), { workerData });
    const said: unknown[] = [];
    worker.on("message", (word) => said.push(word));
    const ended = new Promise((resolve, reject) => worker.on("exit", resolve).on("error", reject));
    try {
      await until("it blocks", async () => said.includes("blocked"));
      await live
        .api("demo")
        .ack(topic, "g", await live.api("demo").receiveCount(topic, "g", 1, { subscriber: "other" }));
    } finally {
      Atomics.store(new Int32Array(flag), 0, 1);
      Atomics.notify(new Int32Array(flag), 0);
    }
    expect(await ended).toBe(0);
    expect(said).toEqual(["blocked", "ack m/1 settled"]);
  });
});

describe("order", () => {
  test("handlers of a partition neither overlap nor overtake, whatever fails", async () => {
    const random = seeded(seedFrom("CLIENT_SEED"));
    const topic = freshTopic();
    const retry = { initialBackoffMs: 0, multiplier: 1, maxBackoffMs: 0 };
    await live.api("demo").putGroup(topic, "g", { maxInFlightPerPartition: 1, maxAttempts: 1000, retry });
    const keys = ["a", "b", "c", "d", "e"];
    const client = clientOf(live);
    await client.publishBatch(
      topic,
      Array.from({ length: 100 }, (_, i) => ({
        id: `m${i}`,
        partitionKey: keys[i % keys.length] as string,
        body: i,
      })),
    );
    const running = new Set<string>();
    const done = new Map<string, number[]>();
    let most = 0;
    await consumeUntil(
      topic,
      {
        concurrency: 8,
        handler: async ({ partitionKey, body }) => {
          expect(running.has(partitionKey), "no other of the partition runs").toBe(false);
          running.add(partitionKey);
          most = Math.max(most, running.size);
          await untilClock(Date.now() + random.between(0, 3));
          running.delete(partitionKey);
          if (random.fraction() < 0.2) throw new Error("luck");
          done.set(partitionKey, [...(done.get(partitionKey) ?? []), body as number]);
        },
      },
      async () => (await backlogOf(topic)) === 0,
    );
    for (const [i, key] of keys.entries()) {
      expect(done.get(key)).toEqual(Array.from({ length: 20 }, (_, n) => i + n * keys.length));
    }
    expect(most).toBeGreaterThan(1);
  });

  test("what is behind a postponed message waits with it", async () => {
    const topic = freshTopic();
    await clientOf(live).publishBatch(topic, numbered(5, "p"));
    const seen: string[] = [];
    await consumeUntil(
      topic,
      {
        handler: async (message) => {
          seen.push(message.id);
          if (seen.length === 1) await message.postpone(200);
        },
      },
      async () => seen.length === 6 && (await backlogOf(topic)) === 0,
    );
    expect(seen).toEqual(["m0", "m0", "m1", "m2", "m3", "m4"]);
  });

  test("without an order all of a partition run at once", async () => {
    const topic = freshTopic();
    await clientOf(live).publishBatch(topic, numbered(5, "p"));
    const gate = new Gate();
    let running = 0;
    await consumeUntil(
      topic,
      {
        ordered: false,
        handler: async () => {
          running += 1;
          if (running === 5) gate.open();
          await gate.opened;
        },
      },
      async () => (await backlogOf(topic)) === 0,
    );
  });
});

describe("stopping", () => {
  test("an idle consumer stops at once and is gone from the group", async () => {
    const topic = freshTopic();
    const stop = new AbortController();
    const consuming = clientOf(live).consume(topic, { group: "g", handler: () => {}, signal: stop.signal });
    await until("it asks", async () => {
      const reply = await live
        .api("demo")
        .request<{ groups: { subscribers: number }[] }>("GET", `topics/${topic}`);
      return reply.json.groups?.[0]?.subscribers === 1;
    });
    const startMs = performance.now();
    stop.abort();
    await consuming;
    expect(performance.now() - startMs).toBeLessThan(1000);
    expect((await live.api("demo").getTopic(topic)).groups).toMatchObject([{ subscribers: 0 }]);
  });

  test("running handlers end, what waits is given back with its attempt", async () => {
    const topic = freshTopic();
    await clientOf(live).publishBatch(topic, numbered(5, "p"));
    const stop = new AbortController();
    const gate = new Gate();
    const seen: string[] = [];
    const consuming = clientOf(live).consume(topic, {
      group: "g",
      signal: stop.signal,
      handler: async ({ id }) => {
        seen.push(id);
        await gate.opened;
      },
    });
    await until("the first runs", async () => seen.length === 1);
    stop.abort();
    gate.open();
    await consuming;
    expect(seen).toEqual(["m0"]);
    const next = await live.api("demo").receive(topic, "g", { maxMessages: 100 });
    expect(next.deliveries.map(({ id, attempt }) => `${id}/${attempt}`)).toEqual([
      "m1/1",
      "m2/1",
      "m3/1",
      "m4/1",
    ]);
  });

  test("a handler that hangs is told when its time is over, and its message is given back", async () => {
    const topic = freshTopic();
    await clientOf(live).publishBatch(topic, numbered(2, "p"));
    const stop = new AbortController();
    const errors: string[] = [];
    const stale: StaleSettlement[] = [];
    let reason: unknown;
    const late = new Gate();
    let started = false;
    const consuming = clientOf(live).consume(topic, {
      group: "g",
      signal: stop.signal,
      drainMs: 200,
      onError: (_, { phase }) => errors.push(phase),
      onStale: (one) => stale.push(one),
      handler: async ({ signal }) => {
        started = true;
        signal.addEventListener("abort", () => {
          reason = signal.reason;
        });
        await late.opened;
      },
    });
    await until("it runs", async () => started);
    stop.abort();
    await consuming;
    expect(reason).toMatchObject({ name: "DrainTimeoutError" });
    expect(errors).toEqual(["drain"]);
    const next = await live.api("demo").receive(topic, "g");
    expect(next.deliveries.map(({ id, attempt }) => `${id}/${attempt}`)).toEqual(["m0/1", "m1/1"]);
    late.open();
    await until("the late ack is told", async () => stale.length === 1);
    expect(stale).toMatchObject([{ action: "ack", status: "stale", message: { id: "m0" } }]);
  });

  test("a group that was just deleted ends consuming with an error", async () => {
    const topic = freshTopic();
    await live.api("demo").putGroup(topic, "g");
    await clientOf(live).admin.deleteGroup(topic, "g");
    await expect(clientOf(live).consume(topic, { group: "g", handler: () => {} })).rejects.toMatchObject({
      code: "not-found",
      status: 404,
    });
  });
});

test("a burst flows", async () => {
  const topic = freshTopic();
  const client = clientOf(live);
  const count = 3000;
  const keys = 50;
  const results = await client.publishBatch(
    topic,
    Array.from({ length: count }, (_, i) => ({ id: `m${i}`, partitionKey: `p${i % keys}`, body: i })),
  );
  expect(results).toHaveLength(count);
  const seen = new Map<string, number[]>();
  let total = 0;
  const { stale, errors } = await consumeUntil(
    topic,
    {
      concurrency: 100,
      handler: ({ partitionKey, body }) => {
        const of = seen.get(partitionKey) ?? [];
        of.push(body as number);
        seen.set(partitionKey, of);
        total += 1;
      },
    },
    async () => total >= count && (await backlogOf(topic)) === 0,
  );
  expect(total).toBe(count);
  expect([stale, errors]).toEqual([[], []]);
  for (const [p, of] of [...seen].entries()) {
    expect(of[1], `partition ${p}`).toEqual([...of[1]].sort((a, b) => a - b));
  }
});
