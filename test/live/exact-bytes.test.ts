import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./api.ts";
import { freshTopic, type Live, only, setup } from "./harness.ts";
import { type Seeded, seeded, seedFrom } from "./seeded.ts";
import type { Delivery } from "./wire.ts";

let live: Live;
let api: Api;
beforeAll(async () => {
  live = await setup();
  api = live.api("demo");
});
afterAll(() => live?.close());

const JSON_HEADERS = { "content-type": "application/json" };

/** Publishes the JSON source text of one body and returns the reply text of its receive. */
async function throughQueue(source: string): Promise<{ text: string; delivery: Delivery }> {
  const topic = freshTopic();
  const text = `{"messages":[{"id":"x","partitionKey":"k","body":${source}}]}`;
  const published = await api.request("POST", `topics/${topic}/messages`, { text, headers: JSON_HEADERS });
  expect(published.status, published.text).toBe(200);
  const reply = await api.request<{ deliveries: Delivery[] }>("POST", `topics/${topic}/groups/g/receive`, {
    json: { subscriber: "s1" },
  });
  return { text: reply.text, delivery: only(reply.json.deliveries) };
}

describe("G12 exact bytes: a JSON body comes back as its source text", () => {
  const sources = [
    "1.0",
    "-0",
    "-0.0e-0",
    "1e400",
    "-1E+400",
    "12345678901234567890",
    "9007199254740993",
    "0.1000000000000000055511151231257827",
    '"\\u0041\\/\\b"',
    '"\\ud83d\\ude9a"',
    '"\\ud800"',
    '"\\u0000"',
    '"\u2028\u2029\uFEFF"',
    '"\\u0000\u007f"',
    '{"__proto__":{"admin":true},"constructor":1}',
    '{"a":1,"a":2,"a":1}',
    '{"b":1,"a":2,"10":3,"9":4}',
    '{ "a" :\t[ 1.0 ,\n\r 2 ] , "": { } }',
    "[ ]",
    "{\n}",
    '{"body":{"messages":[{"id":"y","body":1}]},"id":"z"}',
    '"}],\\"body\\":"',
    '"\\\\"',
    '"\\\\\\""',
    '"🚚 é ü 漢字"',
    "null",
    "true",
    "false",
    '""',
  ];
  test.each(sources)("%s", async (source) => {
    const { text, delivery } = await throughQueue(source);
    const at = text.indexOf(`"body":${source}`);
    expect(at, text).toBeGreaterThan(-1);
    expect(text[at + `"body":${source}`.length], text).toMatch(/[,}]/);
    expect(delivery.contentType).toBe("application/json");
  });

  test("white space around the value is not part of it", async () => {
    const { text } = await throughQueue(" \t\r\n 1.50 \n ");
    expect(text).toMatch(/"body":1\.50[,}]/);
  });

  test("several messages in one request keep each its own text", async () => {
    const topic = freshTopic();
    const bodies = ["1.0", '{"a":1.00}', '[" ] } "]', "1e2", "100", "1E2"];
    const messages = bodies.map((body, i) => `{"body":${body},"id":"m${i}","partitionKey":"k"}`);
    const text = ` { "messages" : [ ${messages.join(" , ")} ] } `;
    expect(
      (await api.request("POST", `topics/${topic}/messages`, { text, headers: JSON_HEADERS })).status,
    ).toBe(200);
    const reply = await api.request("POST", `topics/${topic}/groups/g/receive`, {
      json: { subscriber: "s" },
    });
    let from = 0;
    for (const body of bodies) {
      const at = reply.text.indexOf(`"body":${body}`, from);
      expect(at, body).toBeGreaterThan(-1);
      expect(reply.text[at + 7 + body.length]).toMatch(/[,}]/);
      from = at + 1;
    }
  });

  test("100,000 brackets deep: kept exactly, or refused with nothing stored", async () => {
    const topic = freshTopic();
    await api.putTopic(topic, {});
    for (const source of [
      "[".repeat(100_000) + "]".repeat(100_000),
      `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`,
    ]) {
      const text = `{"messages":[{"id":"deep","partitionKey":"k","body":${source}}]}`;
      const reply = await api.request("POST", `topics/${topic}/messages`, { text, headers: JSON_HEADERS });
      expect([200, 400], reply.text.slice(0, 300)).toContain(reply.status);
      const stored = await api.listMessages(topic);
      expect(stored).toHaveLength(reply.status === 200 ? 1 : 0);
      if (reply.status !== 200) continue;
      // Parsing the reply in this process could overflow, so only its text is looked at.
      const path = `topics/${topic}/message?id=deep&partitionKey=k`;
      expect((await api.request("GET", path)).text.includes(`"body":${source}`)).toBe(true);
      expect((await api.request("DELETE", path)).status).toBe(204);
    }
  });

  test("random JSON texts, seeded", async () => {
    const seed = seedFrom("EXACT_SEED");
    const random = seeded(seed);
    const topic = freshTopic();
    const sources = Array.from({ length: 100 }, () => randomJson(random, 4));
    const text = `{"messages":[${sources
      .map((source, i) => `{"id":"m${i}","partitionKey":"k","body":${source}}`)
      .join(",")}]}`;
    expect(
      (await api.request("POST", `topics/${topic}/messages`, { text, headers: JSON_HEADERS })).status,
    ).toBe(200);
    await api.putGroup(topic, "g", { maxInFlightPerPartition: 100 });
    const reply = await api.request("POST", `topics/${topic}/groups/g/receive`, {
      json: { subscriber: "s1", maxMessages: 100 },
    });
    let from = 0;
    for (const [i, source] of sources.entries()) {
      const at = reply.text.indexOf(`"body":${source}`, from);
      expect(at, `seed ${seed}, message ${i}: ${source}`).toBeGreaterThan(-1);
      from = at + 1;
    }
  });
});

describe("G12 exact bytes: bytes, keys, IDs and headers", () => {
  const everyByte = Uint8Array.from({ length: 512 }, (_, i) => (i < 256 ? i : 511 - i));

  test("every byte value, as base64 and raw, also where it is not UTF-8", async () => {
    const topic = freshTopic();
    const bodyBase64 = Buffer.from(everyByte).toString("base64");
    await api.publish(topic, [{ id: "base64", partitionKey: "k", bodyBase64, contentType: "text/plain" }]);
    const raw = await api.request("POST", `topics/${topic}/raw`, {
      text: everyByte,
      headers: { "content-type": "text/plain", "x-fairlane-id": "raw", "x-fairlane-partition-key": "k" },
    });
    expect(raw.status, raw.text).toBe(200);
    const deliveries = await api.receiveCount(topic, "g", 2);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({ bodyBase64, contentType: "text/plain" });
    }
  });

  test("raw bytes that begin with a BOM, or are only a BOM", async () => {
    const topic = freshTopic();
    for (const [i, bytes] of [
      [0xef, 0xbb, 0xbf, 0x31],
      [0xef, 0xbb, 0xbf],
      [0xff, 0xfe],
    ].entries()) {
      const headers = { "x-fairlane-id": `m${i}`, "x-fairlane-partition-key": "k" };
      await api.request("POST", `topics/${topic}/raw`, { text: Uint8Array.from(bytes), headers });
    }
    const deliveries = await api.receiveCount(topic, "g", 3);
    expect(deliveries.map((delivery) => delivery.bodyBase64)).toEqual(["77u/MQ==", "77u/", "//4="]);
  });

  const oddKeys = [
    "*",
    "%",
    "%25",
    "_",
    "\\",
    "'",
    '"',
    "`",
    "--",
    ";drop",
    "__proto__",
    "constructor",
    "toString",
    "null",
    "0",
    "a~",
    " a",
    "a b",
    "\t",
    "a\nb",
    "\u0001",
    "\u007f",
    "é",
    "e\u0301",
    "É",
    "🚚",
    "👩‍👩‍👧‍👦",
    "\u202eabc",
    "\uFEFFk",
    "\uFFFF",
    "\u{10FFFF}",
    "🚚".repeat(255),
    "k".repeat(255),
  ];

  test("odd keys and IDs are accepted, distinct, and returned exactly", async () => {
    const topic = freshTopic();
    const messages = oddKeys.map((key, i) => ({ id: key, partitionKey: key, body: i }));
    const published = await api.publish(topic, messages);
    expect(published).toEqual(
      messages.map(({ id, partitionKey }) => ({ id, partitionKey, duplicate: false })),
    );
    const deliveries = await api.receiveCount(topic, "g", messages.length);
    const byBody = [...deliveries].sort((a, b) => Number(a.body) - Number(b.body));
    expect(byBody.map(({ id, partitionKey }) => ({ id, partitionKey }))).toEqual(
      messages.map(({ id, partitionKey }) => ({ id, partitionKey })),
    );
    expect((await api.publish(topic, messages)).every((message) => message.duplicate)).toBe(true);
    for (const key of oddKeys) {
      const query = new URLSearchParams({ id: key, partitionKey: key });
      const reply = await api.request("GET", `topics/${topic}/message?${query}`);
      expect(reply.json, JSON.stringify(key)).toMatchObject({ id: key, partitionKey: key });
    }
    await api.ack(topic, "g", deliveries);
    expect(await api.getTopic(topic)).toMatchObject({
      partitions: oddKeys.length,
      groups: [{ backlog: 0, inFlight: 0 }],
    });
  });

  test("keys that only a careless comparison takes for equal have each their own order and dedup", async () => {
    const topic = freshTopic();
    const keys = ["a", "A", "á", "a\u0301", "ａ", "ß", "ss", "ﬁ", "fi", "K", "\u212A", "i", "İ", "ı"];
    const published = await api.publish(
      topic,
      keys.map((partitionKey) => ({ id: "same", partitionKey, body: partitionKey })),
    );
    expect(published.map((message) => message.duplicate)).toEqual(keys.map(() => false));
    const again = await api.publish(
      topic,
      keys.map((id) => ({ id, partitionKey: "k", body: id })),
    );
    expect(again.map((message) => message.duplicate)).toEqual(keys.map(() => false));
    expect(await api.getTopic(topic)).toMatchObject({ messages: 28, partitions: 15 });
  });
});

function randomJson(random: Seeded, depth: number): string {
  const { pick } = random;
  const space = () => pick(["", "", " ", "\t", "\n ", "\r\n"]);
  const word = () =>
    pick(['"a"', '"__proto__"', '"\\u0061"', '""', '"é🚚"', '"\\"]}"', '"\\\\"', '"body"', '"\\ud800"']);
  if (depth === 0 || random.fraction() < 0.3) {
    return pick([
      word(),
      "0",
      "-1.50",
      "1e999",
      "123456789012345678901234567890",
      "true",
      "false",
      "null",
      "1E-0",
    ]);
  }
  const count = random.between(0, 3);
  const nested = () => space() + randomJson(random, depth - 1) + space();
  if (random.fraction() < 0.5)
    return `[${count === 0 ? space() : Array.from({ length: count }, nested).join(",")}]`;
  const member = () => `${space()}${word()}${space()}:${nested()}`;
  return `{${count === 0 ? space() : Array.from({ length: count }, member).join(",")}}`;
}
