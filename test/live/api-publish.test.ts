import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshTopic, ids, type Live, numbered, only, SECRET, setup, untilClock } from "./harness.ts";
import { expectProblem } from "./problem.ts";
import { tenantToken } from "./tokens.ts";
import type { NewWireMessage, PublishedMessage } from "./wire.ts";

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3600 * 1000;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

/** JSON source text of exactly `bytes` bytes. */
const jsonOfBytes = (bytes: number) => "j".repeat(bytes - 2);

describe("POST messages", () => {
  test("answers ID, key and duplicate of each message in request order", async () => {
    const reply = await live.api("demo").request("POST", `topics/${freshTopic()}/messages`, {
      json: {
        messages: [
          { id: "b", partitionKey: "k2", body: 1 },
          { id: "a", partitionKey: "k1", body: 2 },
          { id: "b", partitionKey: "k1", body: 3 },
        ],
      },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toMatch(/^application\/json(;|$)/);
    expect(reply.json).toEqual({
      messages: [
        { id: "b", partitionKey: "k2", duplicate: false },
        { id: "a", partitionKey: "k1", duplicate: false },
        { id: "b", partitionKey: "k1", duplicate: false },
      ],
    });
  });

  test("makes a UUIDv7 for an absent ID, and a retry stores again", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const first = only(await api.publish(topic, [{ partitionKey: "k", body: 1 }]));
    const second = only(await api.publish(topic, [{ partitionKey: "k", body: 1 }]));
    expect(first.id).toMatch(UUID_V7);
    expect(second.id).toMatch(UUID_V7);
    expect(second.id).not.toBe(first.id);
    expect([first.duplicate, second.duplicate]).toEqual([false, false]);
    expect(await api.listMessages(topic)).toHaveLength(2);
  });

  test("spreads messages without a key over ~0 to ~15, chosen from the ID", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const messages = Array.from({ length: 100 }, (_, i) => ({ id: `spread-${i}`, body: i }));
    const first = await api.publish(topic, messages);
    for (const { partitionKey } of first) expect(partitionKey).toMatch(/^~([0-9]|1[0-5])$/);
    expect(new Set(first.map((message) => message.partitionKey)).size).toBeGreaterThan(8);
    const again = await api.publish(topic, messages);
    expect(again).toEqual(first.map((message) => ({ ...message, duplicate: true })));
  });

  test.each(["~0", "~15", "~", "~mine"])("refuses the reserved key %s", async (partitionKey) => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, [{ id: "before", partitionKey: "k", body: 1 }]);
    const reply = await api.request("POST", `topics/${topic}/messages`, {
      json: { messages: [{ partitionKey, body: 1 }] },
    });
    expectProblem(reply, "invalid-request", "messages[0].partitionKey");
    expect(ids(await api.listMessages(topic))).toEqual(["before"]);
  });

  test("a batch with one bad message stores nothing and names it", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, [{ id: "before", partitionKey: "k", body: 1 }]);
    const messages = [...numbered(2, "k"), { id: "", partitionKey: "k", body: 1 }];
    const reply = await api.request("POST", `topics/${topic}/messages`, { json: { messages } });
    expectProblem(reply, "invalid-request", "messages[2].id");
    expect(ids(await api.listMessages(topic))).toEqual(["before"]);
  });

  test("the same ID and key twice in a batch: the second is a duplicate, the first is kept", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const published = await api.publish(topic, [
      { id: "x", partitionKey: "k", body: "first" },
      { id: "x", partitionKey: "other", body: "other key" },
      { id: "x", partitionKey: "k", body: "second" },
    ]);
    expect(published.map((message) => message.duplicate)).toEqual([false, false, true]);
    const deliveries = await api.receiveCount(topic, "g", 2);
    expect(deliveries.map((delivery) => delivery.body).sort()).toEqual(["first", "other key"]);
  });

  test("takes 100 messages and refuses 101 and none", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    expect(await api.publish(topic, numbered(100, "k"))).toHaveLength(100);
    for (const messages of [numbered(101, "other"), []]) {
      const reply = await api.request("POST", `topics/${topic}/messages`, { json: { messages } });
      expectProblem(reply, "invalid-request", "messages");
    }
    expect(await api.listMessages(topic)).toHaveLength(100);
  });

  const bodyCases: [string, NewWireMessage | Record<string, unknown>, string][] = [
    ["no body", {}, "messages[0].body"],
    ["both bodies", { body: 1, bodyBase64: "AA==" }, "messages[0].bodyBase64"],
    ["base64 of another alphabet", { bodyBase64: "_-8=" }, "messages[0].bodyBase64"],
    ["base64 without padding", { bodyBase64: "AA" }, "messages[0].bodyBase64"],
    ["base64 with white space", { bodyBase64: "AA ==" }, "messages[0].bodyBase64"],
    ["base64 with stray bits", { bodyBase64: "AB==" }, "messages[0].bodyBase64"],
    ["base64 that is no string", { bodyBase64: 7 }, "messages[0].bodyBase64"],
    ["a content type on a JSON body", { body: 1, contentType: "text/plain" }, "messages[0].contentType"],
    [
      "a content type with a line break",
      { bodyBase64: "", contentType: "a/b\r\nx: y" },
      "messages[0].contentType",
    ],
    ["a content type that is no string", { bodyBase64: "", contentType: 1 }, "messages[0].contentType"],
  ];
  test.each(bodyCases)("refuses %s", async (_, message, path) => {
    const reply = await live.api("demo").request("POST", `topics/${freshTopic()}/messages`, {
      json: { messages: [{ id: "x", partitionKey: "k", ...message }] },
    });
    const problem = expectProblem(reply, "invalid-request");
    // Which of two contradicting bodies is to blame is not pinned; that the message is named is.
    const named = path.endsWith("contentType") ? [path] : [path, "messages[0].body", "messages[0]"];
    expect(
      problem.issues?.some((issue) => named.includes(issue.path)),
      reply.text,
    ).toBe(true);
  });

  test("null is a body; empty bytes are a body", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, [
      { id: "null", partitionKey: "k", body: null },
      { id: "empty", partitionKey: "k", bodyBase64: "" },
    ]);
    const [nothing, empty] = await api.receiveCount(topic, "g", 2);
    expect(nothing).toMatchObject({ body: null, contentType: "application/json" });
    expect(empty).toMatchObject({ bodyBase64: "", contentType: "application/octet-stream" });
  });

  const delayCases: [unknown, boolean][] = [
    [0, true],
    [7 * DAY_MS, true],
    [7 * DAY_MS + 1, false],
    [-1, false],
    [1.5, false],
    ["1", false],
    [null, false],
  ];
  test.each(delayCases)("delayMs %j is accepted: %s", async (delayMs, accepted) => {
    const topic = freshTopic();
    const reply = await live.api("demo").request("POST", `topics/${topic}/messages`, {
      json: { messages: [{ id: "x", partitionKey: "k", body: 1, delayMs }] },
    });
    if (accepted) expect(reply.status, reply.text).toBe(200);
    else expectProblem(reply, "invalid-request", "messages[0].delayMs");
  });

  test("a delayed message is not delivered before it is due, and then at once", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const sentAtMs = Date.now();
    await api.publish(topic, [{ id: "later", partitionKey: "k", body: 1, delayMs: 700 }]);
    expect((await api.receive(topic, "g")).deliveries).toEqual([]);
    only(await api.receiveCount(topic, "g", 1, { waitMs: 5000 }));
    const tookMs = Date.now() - sentAtMs;
    expect(tookMs).toBeGreaterThanOrEqual(690);
    expect(tookMs).toBeLessThan(2500);
  });
});

describe("sizes", () => {
  const path = (topic: string) => `topics/${topic}/messages`;

  test.each([
    ["JSON", (bytes: number) => ({ body: jsonOfBytes(bytes) })],
    ["multi-byte JSON", (bytes: number) => ({ body: `é${"j".repeat(bytes - 4)}` })],
    ["base64", (bytes: number) => ({ bodyBase64: Buffer.alloc(bytes, 7).toString("base64") })],
  ])("a %s body of 1 MiB is accepted, of one byte more refused", async (_, make) => {
    const api = live.api("demo");
    const topic = freshTopic();
    await api.publish(topic, [{ id: "fits", partitionKey: "k", ...make(MIB) }]);
    const over = { messages: [{ id: "over", partitionKey: "k", ...make(MIB + 1) }] };
    expectProblem(await api.request("POST", path(topic), { json: over }), "payload-too-large");
    expect(ids(await api.listMessages(topic))).toEqual(["fits"]);
  });

  test("bodies of 4 MiB in all are accepted, one byte more refused", async () => {
    const api = live.api("demo");
    const topic = freshTopic();
    const four = (prefix: string) =>
      Array.from({ length: 4 }, (_, i) => ({
        id: `${prefix}${i}`,
        partitionKey: "k",
        body: jsonOfBytes(MIB),
      }));
    await api.publish(topic, four("fits"));
    const over = { messages: [...four("over"), { id: "last", partitionKey: "k", body: 1 }] };
    expectProblem(await api.request("POST", path(topic), { json: over }), "payload-too-large");
    expect(await api.listMessages(topic)).toHaveLength(4);
  });

  test("a request far over every limit is refused", async () => {
    const reply = await live.api("demo").request("POST", path(freshTopic()), {
      text: `{"messages":[${" ".repeat(20 * MIB)}]}`,
      headers: { "content-type": "application/json" },
    });
    expectProblem(reply, "payload-too-large");
  });
});

describe("headers", () => {
  const publishHeaders = (topic: string, headers: unknown) =>
    live.api("demo").request("POST", `topics/${topic}/messages`, {
      json: { messages: [{ id: "x", partitionKey: "k", body: 1, headers }] },
    });

  test("names come back in lower case, values as they were", async () => {
    const topic = freshTopic();
    const headers = { "X-Dev": "Alice ", "a!#$%&'*+.^_|~-9": "✓ 𝒳 \t", empty: "" };
    expect((await publishHeaders(topic, headers)).status).toBe(200);
    const delivery = only(await live.api("demo").receiveCount(topic, "g", 1));
    expect(delivery.headers).toEqual({ "x-dev": "Alice ", "a!#$%&'*+.^_|~-9": "✓ 𝒳 \t", empty: "" });
  });

  test("a header called __proto__ is a header like any other", async () => {
    const topic = freshTopic();
    expect((await publishHeaders(topic, JSON.parse('{"__proto__":"p","constructor":"c"}'))).status).toBe(200);
    const { text } = await live.api("demo").request("POST", `topics/${topic}/groups/g/receive`, {
      json: { subscriber: "s1" },
    });
    expect(text).toContain('"__proto__":"p"');
    expect(text).toContain('"constructor":"c"');
  });

  test("64 headers of 8 KiB in all are accepted", async () => {
    const sixtyFour = Object.fromEntries(
      Array.from({ length: 64 }, (_, i) => [`h${i + 10}`, "v".repeat(125)]),
    );
    expect((await publishHeaders(freshTopic(), sixtyFour)).status).toBe(200);
  });

  const refused: [string, unknown][] = [
    ["65 headers", Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`h${i}`, ""]))],
    ["more than 8 KiB", { a: "v".repeat(8192) }],
    ["more than 8 KiB of multi-byte characters", { a: "é".repeat(4096) }],
    ["an empty name", { "": "v" }],
    ["a name with a space", { "a b": "v" }],
    ["a name with a colon", { "a:b": "v" }],
    ["a name beyond ASCII", { é: "v" }],
    ["the same name in two cases", { "x-dev": "a", "X-Dev": "b" }],
    ["a value with CR", { a: "v\r" }],
    ["a value with LF", { a: "v\nw" }],
    ["a value with NUL", { a: "\0" }],
    ["a lone surrogate", { a: "\ud800" }],
    ["a number", { a: 1 }],
    ["null", { a: null }],
    ["a list in place of the object", ["a"]],
    ["null in place of the object", null],
  ];
  test.each(refused)("refuses %s", async (_, headers) => {
    const topic = freshTopic();
    const problem = expectProblem(await publishHeaders(topic, headers), "invalid-request");
    const paths = problem.issues?.map((issue) => issue.path) ?? [];
    expect(paths).toContainEqual(expect.stringMatching(/^messages\[0\]\.headers/));
  });
});

describe("POST raw", () => {
  const raw = (topic: string, bytes: Uint8Array | string, headers: Record<string, string> = {}) =>
    live
      .api("demo")
      .request<{ messages: PublishedMessage[] }>("POST", `topics/${topic}/raw`, { text: bytes, headers });

  test("keeps the bytes, the content type and the named headers, and no others", async () => {
    const topic = freshTopic();
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const reply = await raw(topic, bytes, {
      "content-type": "text/csv; charset=x",
      "x-fairlane-id": "raw-1",
      "x-fairlane-partition-key": encodeURIComponent("ключ 🚚"),
      "x-fairlane-header-X-Dev": "alice",
      "x-other": "dropped",
    });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.json).toEqual({ messages: [{ id: "raw-1", partitionKey: "ключ 🚚", duplicate: false }] });
    const delivery = only(await live.api("demo").receiveCount(topic, "g", 1));
    expect(delivery).toMatchObject({
      id: "raw-1",
      partitionKey: "ключ 🚚",
      contentType: "text/csv; charset=x",
      bodyBase64: Buffer.from(bytes).toString("base64"),
    });
    expect(delivery.headers).toEqual({ "x-dev": "alice" });
    expect(delivery).not.toHaveProperty("body");
  });

  test("defaults: an ID is made, a spread lane, octet-stream; JSON stays bytes", async () => {
    const topic = freshTopic();
    const { id, partitionKey } = only((await raw(topic, new Uint8Array([1]))).json.messages);
    expect(id).toMatch(UUID_V7);
    expect(partitionKey).toMatch(/^~([0-9]|1[0-5])$/);
    await raw(topic, '{"a":1}', { "content-type": "application/json", "x-fairlane-id": "json" });
    const deliveries = await live.api("demo").receiveCount(topic, "g", 2);
    const json = deliveries.find((delivery) => delivery.id === "json");
    const other = deliveries.find((delivery) => delivery.id === id);
    expect(other).toMatchObject({ bodyBase64: "AQ==", contentType: "application/octet-stream", headers: {} });
    expect(json).toMatchObject({ bodyBase64: btoa('{"a":1}'), contentType: "application/json" });
  });

  test("an empty body is a message", async () => {
    const topic = freshTopic();
    const reply = await raw(topic, new Uint8Array(0), { "x-fairlane-id": "empty" });
    expect(reply.status, reply.text).toBe(200);
    expect(only(await live.api("demo").receiveCount(topic, "g", 1)).bodyBase64).toBe("");
  });

  test("deduplicates like a JSON publish, and with it", async () => {
    const topic = freshTopic();
    const headers = { "x-fairlane-id": "x", "x-fairlane-partition-key": "k" };
    expect(only((await raw(topic, "a", headers)).json.messages).duplicate).toBe(false);
    expect(only((await raw(topic, "b", headers)).json.messages).duplicate).toBe(true);
    const json = await live.api("demo").publish(topic, [{ id: "x", partitionKey: "k", body: 1 }]);
    expect(only(json).duplicate).toBe(true);
  });

  test("delays", async () => {
    const topic = freshTopic();
    const dueAtMs = Date.now() + 500;
    await raw(topic, "a", { "x-fairlane-delay-ms": "500" });
    expect((await live.api("demo").receive(topic, "g")).deliveries).toEqual([]);
    await live.api("demo").receiveCount(topic, "g", 1);
    expect(Date.now()).toBeGreaterThanOrEqual(dueAtMs);
  });

  test("1 MiB is accepted, one byte more refused", async () => {
    const topic = freshTopic();
    expect((await raw(topic, new Uint8Array(MIB))).status).toBe(200);
    expectProblem(await raw(topic, new Uint8Array(MIB + 1)), "payload-too-large");
    expect(await live.api("demo").listMessages(topic)).toHaveLength(1);
  });

  const refused: [string, Record<string, string>, string][] = [
    ["a key that is not percent-encoding", { "x-fairlane-partition-key": "%zz" }, "x-fairlane-partition-key"],
    ["a key that is not UTF-8", { "x-fairlane-partition-key": "%ff" }, "x-fairlane-partition-key"],
    ["a key with NUL", { "x-fairlane-partition-key": "a%00" }, "x-fairlane-partition-key"],
    ["a key with a trailing space", { "x-fairlane-partition-key": "a%20" }, "x-fairlane-partition-key"],
    ["a reserved key", { "x-fairlane-partition-key": "~1" }, "x-fairlane-partition-key"],
    ["an empty key", { "x-fairlane-partition-key": "" }, "x-fairlane-partition-key"],
    ["an ID that is too long", { "x-fairlane-id": "i".repeat(256) }, "x-fairlane-id"],
    ["a delay that is no number", { "x-fairlane-delay-ms": "soon" }, "x-fairlane-delay-ms"],
    ["a negative delay", { "x-fairlane-delay-ms": "-1" }, "x-fairlane-delay-ms"],
    ["a delay over 7 days", { "x-fairlane-delay-ms": String(7 * DAY_MS + 1) }, "x-fairlane-delay-ms"],
    ["an unknown x-fairlane header", { "x-fairlane-idd": "typo" }, "x-fairlane-idd"],
  ];
  test.each(refused)("refuses %s", async (_, headers, path) => {
    const topic = freshTopic();
    expectProblem(await raw(topic, "a", headers), "invalid-request", path);
    const topics = (await live.api("demo").request<{ topics: string[] }>("GET", "topics")).json;
    expect(topics.topics).not.toContain(topic);
  });
});

describe("scope and topic", () => {
  test.each(["messages", "raw"])("POST %s needs the scope publish", async (kind) => {
    const api = live.api("demo", tenantToken(SECRET, "demo", "consume admin"));
    const json = { messages: numbered(1, "k") };
    expectProblem(await api.request("POST", `topics/${freshTopic()}/${kind}`, { json }), "forbidden");
  });

  test.each(["messages", "raw"])("POST %s to a dead-letter topic is refused", async (kind) => {
    const json = { messages: numbered(1, "k") };
    expectProblem(
      await live.api("demo").request("POST", `topics/orders_dlq/${kind}`, { json }),
      "invalid-request",
      "topic",
    );
  });

  test("publishedAt is the moment of publishing", async () => {
    const topic = freshTopic();
    const beforeMs = Date.now();
    await live.api("demo").publish(topic, numbered(1, "k"));
    const afterMs = Date.now();
    await untilClock(afterMs + 20);
    const { publishedAt } = only(await live.api("demo").receiveCount(topic, "g", 1));
    expect(publishedAt).toBeGreaterThanOrEqual(beforeMs);
    expect(publishedAt).toBeLessThanOrEqual(afterMs);
  });
});
