import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fairlane, FairlaneApiError, giveBack, PublishError } from "../../src/client/fairlane.ts";
import { clientOf, Gate } from "./client.ts";
import { freshTopic, type Live, numbered, only, SECRET, setup, until } from "./harness.ts";
import { tenantToken } from "./tokens.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

describe("messages", () => {
  test("a loop acks as it goes, and gives back what it leaves", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    await client.publishBatch(topic, numbered(5, "p"));
    const seen: unknown[] = [];
    for await (const { body, attempt } of client.messages<number>(topic, { group: "g", prefetch: 3 })) {
      expect(attempt).toBe(1);
      seen.push(body);
      if (body === 2) break;
    }
    expect(seen).toEqual([0, 1, 2]);
    expect((await client.admin.subscribers(topic, "g").catch(() => null))?.subscribers ?? []).toEqual([]);
    const { deliveries } = await client.receive(topic, "g", { subscriber: "s", maxMessages: 100 });
    expect(deliveries.map(({ body, attempt }) => `${body}/${attempt}`)).toEqual(["2/1", "3/1", "4/1"]);
  });

  test("waits for messages, and ends by its signal", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    const stop = new AbortController();
    const seen: unknown[] = [];
    const looping = (async () => {
      for await (const { body } of client.messages(topic, { group: "g", signal: stop.signal })) {
        seen.push(body);
        if (body === "last") stop.abort();
      }
    })();
    await client.publish(topic, { partitionKey: "p", body: "first" });
    await until("the first is seen", async () => seen.length === 1);
    await client.publish(topic, { partitionKey: "p", body: "last" });
    await looping;
    expect(seen).toEqual(["first", "last"]);
    expect(only((await live.api("demo").getTopic(topic)).groups)).toMatchObject({
      backlog: 0,
      subscribers: 0,
    });
  });

  test("dead letters say where they come from, and come back when redriven", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    await client.publish(topic, { id: "bad", partitionKey: "p", body: 1 });
    for await (const message of client.messages(topic, { group: "g" })) {
      await message.reject("schema 4 is not supported");
      break;
    }
    await until("it is dead", async () => (await client.admin.deadLetters(topic)).deadLetters.length === 1);
    for await (const { deadLetter } of client.messages(`${topic}_dlq`, { group: "ops" })) {
      expect(deadLetter).toMatchObject({
        originalTopic: topic,
        originalId: "bad",
        group: "g",
        attempts: 1,
        reason: "schema 4 is not supported",
      });
      break;
    }
    expect(await client.admin.redrive(topic)).toEqual({ redriven: 1 });
    for await (const { id, attempt } of client.messages(topic, { group: "g" })) {
      expect([id, attempt]).toEqual(["bad", 1]);
      break;
    }
  });
});

test("two consumers share the partitions, and one takes over what the other leaves", async () => {
  const topic = freshTopic();
  const client = clientOf(live);
  const keys = ["a", "b", "c", "d"];
  const publish = (round: number) =>
    client.publishBatch(
      topic,
      keys.map((partitionKey) => ({ id: `${partitionKey}/${round}`, partitionKey, body: round })),
    );
  const owners = new Map<string, string>();
  const stops = new Map<string, AbortController>();
  const gate = new Gate();
  const consuming = ["one", "two"].map((subscriber) => {
    const stop = new AbortController();
    stops.set(subscriber, stop);
    const handler = async ({
      id,
      partitionKey,
      body,
    }: {
      id: string;
      partitionKey: string;
      body: unknown;
    }) => {
      owners.set(id, subscriber);
      if (body === 0 && partitionKey !== "") await gate.opened;
    };
    return client.consume(topic, { group: "g", subscriber, concurrency: 2, handler, signal: stop.signal });
  });
  await publish(0);
  await until("all are held", async () => owners.size === 4);
  expect([...owners.values()].sort()).toEqual(["one", "one", "two", "two"]);
  gate.open();
  const isSettled = async () => only((await live.api("demo").getTopic(topic)).groups).backlog === 0;
  await until("all are settled", isSettled);
  stops.get("two")?.abort();
  await consuming[1];
  await publish(1);
  await until("all are handled", async () => owners.size === 8);
  await until("all are settled", isSettled);
  expect(keys.map((key) => owners.get(`${key}/1`))).toEqual(Array(4).fill("one"));
  stops.get("one")?.abort();
  await consuming[0];
});

describe("G12 exact bytes: a JSON body as text", () => {
  const SOURCES = [
    "1.0",
    "1e400",
    "-0",
    "9007199254740993",
    '{"__proto__":{"a":1},"a":1,"a":2.0}',
    '{ "a" :\t[ 1.50 ,\n\r 2 ] }',
    '"\\u0041\\/\\ud800"',
    '"é 🚚 \u2028"',
    '"}],\\"body\\":"',
    '"\\\\"',
  ];

  test("comes back as it was published", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    const ref = (index: number) => ({ id: `m${index}`, partitionKey: `k${index}` });
    await client.publishBatch(
      topic,
      SOURCES.map((source, index) => ({ ...ref(index), bodyText: ` ${source}\n` })),
    );
    const texts = new Map<string, string | undefined>();
    const stop = new AbortController();
    // The others are the next subscriber's, as the same attempt.
    const half = SOURCES.length / 2;
    await client.consume(topic, {
      group: "g",
      signal: stop.signal,
      handler: ({ id, bodyText }) => {
        if (texts.size === half) return giveBack;
        texts.set(id, bodyText);
        if (texts.size === half) stop.abort();
        return undefined;
      },
    });
    expect(texts.size).toBe(half);
    const { deliveries } = await client.receive(topic, "g", { subscriber: "s", maxMessages: 100 });
    expect(deliveries.map(({ attempt }) => attempt)).toEqual(Array(SOURCES.length - half).fill(1));
    for (const { id, bodyText } of deliveries) texts.set(id, bodyText);
    expect(SOURCES.map((_, index) => texts.get(`m${index}`))).toEqual(SOURCES);
    for (const [index, source] of SOURCES.entries()) {
      const stored = await client.admin.getMessage(topic, ref(index));
      expect([stored.bodyText, stored.bodyBytes]).toEqual([source, Buffer.byteLength(source)]);
      const query = new URLSearchParams(ref(index));
      const raw = await live.api("demo").request("GET", `topics/${topic}/message?${query}`);
      expect(raw.text).toContain(`"body":${source},"contentType"`);
    }
  });

  test("of bytes there is none", async () => {
    const topic = freshTopic();
    const client = clientOf(live);
    const ref = await client.publish(topic, { bytes: new TextEncoder().encode("1.0") });
    expect((await client.admin.getMessage(topic, ref)).bodyText).toBeUndefined();
    for await (const { bodyText, bytes } of client.messages(topic, { group: "g" })) {
      expect([bodyText, bytes?.length]).toEqual([undefined, 3]);
      break;
    }
  });
});

describe("refusals", () => {
  test("of the server come as they are", async () => {
    const topic = freshTopic();
    await expect(clientOf(live).publish(topic, { id: "", body: 1 })).rejects.toMatchObject({
      code: "invalid-request",
      status: 400,
      issues: [{ path: "messages[0].id", message: "must not be empty" }],
      requestId: expect.stringMatching(/\S/),
    });
    await expect(clientOf(live).admin.getTopic(topic)).rejects.toMatchObject({ code: "not-found" });
    await expect(clientOf(live, { tenant: "nobody" }).admin.listTopics()).rejects.toMatchObject({
      code: "unknown-tenant",
    });
    const token = tenantToken(SECRET, "demo", "publish");
    await expect(clientOf(live, { token }).admin.listTopics()).rejects.toMatchObject({ code: "forbidden" });
    const consuming = clientOf(live, { token }).consume(topic, { group: "g", handler: () => {} });
    await expect(consuming).rejects.toMatchObject({ code: "forbidden", status: 403 });
  });

  test("an expired token is asked for again", async () => {
    const tokens = [tenantToken(SECRET, "demo", "admin", -60), tenantToken(SECRET, "demo", "admin")];
    let asked = 0;
    const client = clientOf(live, { token: () => tokens[asked++] ?? "" });
    expect(await client.admin.listTopics()).toMatchObject({ topics: expect.any(Array) });
    expect(asked).toBe(2);
  });

  test("a batch tells of each message what became of it", async () => {
    const topic = freshTopic();
    const messages = numbered(130, "p");
    const error = await clientOf(live)
      .publishBatch(topic, [...messages.slice(0, 120), { id: "bad", partitionKey: "~x", body: 1 }])
      .catch((failed: unknown) => failed);
    expect(error).toBeInstanceOf(PublishError);
    const { results } = error as PublishError;
    expect(results[99]).toEqual({ id: "m99", partitionKey: "p", duplicate: false });
    expect(results[100]?.error).toBeInstanceOf(FairlaneApiError);
    expect(results[120]?.error).toMatchObject({ issues: [{ path: "messages[120].partitionKey" }] });
    const again = await clientOf(live).publishBatch(topic, messages);
    expect(again.map(({ duplicate }) => duplicate)).toEqual(messages.map((_, i) => i < 100));
  });

  test("the health of a server needs no token", async () => {
    const client = new Fairlane({ url: live.url, tenant: "demo" });
    expect(await client.admin.health()).toMatchObject({ status: "ok" });
    await expect(client.admin.listTopics()).rejects.toMatchObject({ code: "unauthorized" });
  });
});
