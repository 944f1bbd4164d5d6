import { describe, expect, test } from "vitest";
import {
  FairlaneApiError,
  type NewMessage,
  NotSentError,
  PublishError,
} from "../../../src/client/fairlane.ts";
import { decodeBase64 } from "../../../src/protocol/base64.ts";
import { readPublish } from "../../../src/protocol/publish-body.ts";
import { brokenConnection, json, outcomeOf, problem, type Role, type Sent, Wire } from "./wire.ts";

interface WireMessage {
  id: string;
  partitionKey?: string;
  body?: unknown;
  bodyBase64?: string;
}

const messagesOf = ({ json }: Sent) => (json as { messages: WireMessage[] }).messages;

/** Reads each request as the server does, and stores all. */
const storing: Role = (request) => {
  const read = readPublish(new TextEncoder().encode(request.text), () => "made by the server");
  if (!read.ok) return problem(400, read.error.code, {}, { issues: read.error.issues });
  return json({
    messages: read.messages.map(({ id, partitionKey }) => ({ id, partitionKey, duplicate: false })),
  });
};

const numbered = (count: number): NewMessage[] =>
  Array.from({ length: count }, (_, i) => ({ id: `m${i}`, partitionKey: "p", body: i }));

async function publishError(work: Promise<unknown>): Promise<PublishError> {
  const { error } = (await outcomeOf(work)) as { error: PublishError };
  expect(error).toBeInstanceOf(PublishError);
  return error;
}

describe("publish", () => {
  test("sends the message, and an ID where it has none", async () => {
    const wire = new Wire(storing);
    const result = await wire.client().publish("orders", { body: { a: [1, "é", null] }, delayMs: 5 });
    const [sent] = messagesOf(wire.sent[0] as Sent);
    expect(wire.sent[0]).toMatchObject({ method: "POST", path: "/v1/tenants/demo/topics/orders/messages" });
    expect(sent).toEqual({ id: sent?.id, body: { a: [1, "é", null] }, delayMs: 5 });
    expect(sent?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(result).toMatchObject({ id: sent?.id, duplicate: false });
  });

  test("its retries have the same ID", async () => {
    const wire = new Wire((request, count) => (count < 3 ? brokenConnection() : storing(request, count)));
    const work = wire.client().publish("t", { body: 1 });
    await wire.time.advance(5000);
    await work;
    expect(wire.sent).toHaveLength(3);
    expect(new Set(wire.sent.map(({ text }) => text)).size).toBe(1);
    // Another call is another message.
    await wire.client().publish("t", { body: 1 });
    expect(wire.sent[3]?.text).not.toBe(wire.sent[0]?.text);
  });

  test("bytes come out as they went in, from a view in a larger buffer too", async () => {
    const wire = new Wire(storing);
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);
    await wire.client().publish("t", { bytes, contentType: "a/b" });
    await wire.client().publish("t", { bytes: bytes.subarray(7, 500) });
    await wire.client().publish("t", { bytes: bytes.buffer });
    const sent = wire.sent.map((request) => decodeBase64(messagesOf(request)[0]?.bodyBase64 ?? ""));
    expect(sent).toEqual([bytes, bytes.slice(7, 500), bytes]);
    expect(messagesOf(wire.sent[0] as Sent)[0]).toMatchObject({ contentType: "a/b" });
  });

  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  test.each([
    ["undefined", { body: undefined }, "body is undefined"],
    ["a function", { body: () => 1 }, "body is function"],
    ["a symbol", { body: Symbol("secret") }, "body is symbol"],
    ["a BigInt", { body: { n: 1n } }, "body holds a BigInt"],
    ["a cycle", { body: cyclic }, "body cannot be written"],
    ["no body", {}, "body, bodyText or bytes must be there"],
    ["a text that is undefined", { bodyText: undefined }, "body, bodyText or bytes must be there"],
    ["both", { body: 1, bytes: new Uint8Array(1) }, "bytes must not stand beside body"],
    ["a body and a text", { body: null, bodyText: "1" }, "bodyText must not stand beside body"],
    ["a text and bytes", { bodyText: "1", bytes: new Uint8Array(1) }, "bytes must not stand beside bodyText"],
    ["a text that is none", { bodyText: 1 }, "bodyText must be a string"],
    ["a text that is null", { bodyText: null }, "bodyText must be a string"],
    ["an empty text", { bodyText: "" }, "bodyText is not one JSON value"],
    ["a text that is not JSON", { bodyText: "secret" }, "bodyText is not one JSON value"],
    ["a text of two values", { bodyText: '"secret","b":1' }, "bodyText is not one JSON value"],
    ["a text that would end its message", { bodyText: "1},{" }, "bodyText is not one JSON value"],
    ["a text behind a byte order mark", { bodyText: "\ufeff1" }, "bodyText is not one JSON value"],
    ["white space that JSON does not have", { bodyText: "\u00a01" }, "bodyText is not one JSON value"],
    ["half of a surrogate pair", { bodyText: '"secret \ud800"' }, "bodyText has half of a surrogate pair"],
    ["bytes that are none", { bytes: "AP8=" }, "bytes must be a Uint8Array or an ArrayBuffer"],
    ["bytes that are null", { bytes: null }, "bytes must be a Uint8Array or an ArrayBuffer"],
    ["a field that does not exist", { body: 1, partitionkey: "p" }, "partitionkey is not a field"],
    ["no object", "text", "the message must be an object"],
    ["null", null, "the message must be an object"],
  ])("refuses %s, and sends nothing", async (_, message, words) => {
    const wire = new Wire(storing);
    const { error } = (await outcomeOf(wire.client().publish("t", message as NewMessage))) as {
      error: Error;
    };
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("secret");
    expect(wire.sent).toEqual([]);
  });

  test("refuses a body over 1 MiB, and takes one of exactly so many bytes", async () => {
    const wire = new Wire(storing);
    const largest = 1024 * 1024;
    await wire.client().publish("t", { body: "é".repeat((largest - 2) / 2) });
    await wire.client().publish("t", { bytes: new Uint8Array(largest) });
    await wire.client().publish("t", { bodyText: `\n"${"é".repeat((largest - 2) / 2)}" ` });
    expect(wire.sent).toHaveLength(3);
    for (const message of [
      { body: "é".repeat(largest / 2) },
      { bytes: new Uint8Array(largest + 1) },
      { bodyText: `"${"é".repeat(largest / 2 - 1)} "` },
    ]) {
      await expect(wire.client().publish("t", message)).rejects.toThrow(RangeError);
    }
    expect(wire.sent).toHaveLength(3);
  });
});

describe("publishBatch", () => {
  test("sends nothing for nothing", async () => {
    const wire = new Wire(storing);
    expect(await wire.client().publishBatch("t", [])).toEqual([]);
    expect(wire.sent).toEqual([]);
  });

  test("sends 100 messages a request, one request after the other, and answers in order", async () => {
    let open = 0;
    const wire = new Wire(async (request, count) => {
      open += 1;
      expect(open).toBe(1);
      await Promise.resolve();
      open -= 1;
      return storing(request, count);
    });
    const results = await wire.client().publishBatch("t", numbered(250));
    expect(wire.sent.map((request) => messagesOf(request).length)).toEqual([100, 100, 50]);
    expect(results.map(({ id }) => id)).toEqual(numbered(250).map(({ id }) => id));
  });

  test("takes an iterable as it goes", async () => {
    const wire = new Wire(storing);
    let made = 0;
    function* endless() {
      for (;;) {
        made += 1;
        if (made > 101) expect(wire.sent).toHaveLength(1);
        if (made === 150) return;
        yield { body: made };
      }
    }
    expect(await wire.client().publishBatch("t", endless())).toHaveLength(149);
  });

  test("keeps to 4 MiB of bodies a request, and to the size of a request", async () => {
    const wire = new Wire(storing);
    const half = { body: "x".repeat(512 * 1024 - 2) };
    await wire.client().publishBatch("t", Array(17).fill(half));
    expect(wire.sent.map((request) => messagesOf(request).length)).toEqual([8, 8, 1]);
    // Headers count for the request alone: here they fill it, since JSON writes such a character in six bytes.
    wire.sent.length = 0;
    const full = { bytes: new Uint8Array(40_000), headers: { h: "\u0001".repeat(8000) } };
    await wire.client().publishBatch("t", Array(100).fill(full));
    expect(wire.sent).toHaveLength(2);
    const sizes = wire.sent.map(({ text }) => Buffer.byteLength(text));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(sizes[0]).toBeGreaterThan(8 * 1024 * 1024 - 110_000);
    expect(wire.sent.flatMap(messagesOf)).toHaveLength(100);
  });

  test("stops at a chunk that is refused for its content, and its places are the batch's", async () => {
    const wire = new Wire(storing);
    const messages = numbered(250);
    messages[142] = { id: "x".repeat(256), partitionKey: "p", body: 1 };
    const error = await publishError(wire.client().publishBatch("t", messages));
    expect(wire.sent).toHaveLength(2);
    expect(error.results).toHaveLength(250);
    expect(error.message).toMatch(/^150 of 250 messages were not stored: invalid-request/);
    expect(error.results[99]).toEqual({ id: "m99", partitionKey: "p", duplicate: false });
    const refused = error.results[100]?.error as FairlaneApiError;
    expect(refused).toBeInstanceOf(FairlaneApiError);
    expect(refused.issues).toMatchObject([{ path: "messages[142].id" }]);
    expect(error.results[199]?.error).toBe(refused);
    expect(error.results[200]?.error).toBeInstanceOf(NotSentError);
    expect(error.cause).toBe(refused);
  });

  test.each([
    [{ body: undefined }, "messages[2].body is undefined: it must be a value that JSON can hold"],
    [{ bodyText: "{" }, "messages[2].bodyText is not one JSON value"],
    [{ bytes: new Uint8Array(1024 * 1024 + 1) }, "messages[2].bytes has over 1048576 bytes"],
  ])(
    "stores what comes before a message that cannot be sent, and nothing after it",
    async (wrong, message) => {
      const wire = new Wire(storing);
      const messages = numbered(5);
      messages[2] = wrong;
      const error = await publishError(wire.client().publishBatch("t", messages));
      expect(error.results.slice(0, 2)).toMatchObject([{ id: "m0" }, { id: "m1" }]);
      expect(error.results[2]?.error?.message).toBe(message);
      expect(error.results[3]?.error).toBeInstanceOf(NotSentError);
      expect(error.results[4]?.error).toBeInstanceOf(NotSentError);
      expect(wire.sent.flatMap(messagesOf).map(({ id }) => id)).toEqual(["m0", "m1"]);
    },
  );

  test("where what comes before is refused, that is the failure", async () => {
    const wire = new Wire(storing);
    const messages = numbered(4);
    messages[0] = { id: "", body: 1 };
    messages[2] = { body: undefined };
    const error = await publishError(wire.client().publishBatch("t", messages));
    expect(error.results[0]).toMatchObject({ error: { issues: [{ path: "messages[0].id" }] } });
    expect(error.results[2]?.error).toBeInstanceOf(NotSentError);
  });

  test.each<[string, unknown, string]>([
    ["NaN", { total: Number.NaN }, "body holds NaN"],
    ["Infinity", [1, Number.NEGATIVE_INFINITY], "body holds -Infinity"],
    ["a Map", { at: [new Map([["a", 1]])] }, "body holds a Map"],
    ["a Set", new Set([1]), "body holds a Set"],
    ["a hole in an array", { list: [1, undefined] }, "body holds undefined in an array"],
  ])("refuses %s, which JSON would write as something else", async (_, body, message) => {
    const wire = new Wire(storing);
    await expect(wire.client().publish("t", { body })).rejects.toThrow(message);
    expect(wire.sent).toEqual([]);
  });

  test("keeps null, empty objects, properties without a value, and what writes itself", async () => {
    const wire = new Wire(storing);
    const body = { a: null, b: {}, c: undefined, at: new Date(0), own: { toJSON: () => null } };
    await wire.client().publish("t", { body });
    expect(messagesOf(wire.sent[0] as never)).toMatchObject([
      { body: { a: null, b: {}, at: "1970-01-01T00:00:00.000Z", own: null } },
    ]);
  });

  test.each([
    ["a broken connection", () => brokenConnection(), "FairlaneNetworkError"],
    ["a refused token", () => problem(401, "unauthorized"), "FairlaneApiError"],
    ["a full tenant", () => problem(429, "rate-limited"), "FairlaneApiError"],
    ["another API", () => json({ messages: [] }), "FairlaneApiError"],
  ])("stops at %s, and says what was not sent", async (_, answer, name) => {
    const wire = new Wire((request, count) => (count === 2 ? answer() : storing(request, count)));
    const work = wire.client({ retryForMs: 0 }).publishBatch("t", numbered(301));
    const error = await publishError(work);
    expect(wire.sent).toHaveLength(2);
    expect(error.results).toHaveLength(301);
    expect(error.results[0]).toMatchObject({ id: "m0" });
    expect(error.results[100]).toMatchObject({ error: { name } });
    expect(error.results[200]?.error).toBeInstanceOf(NotSentError);
    expect(error.results[300]?.error).toBeInstanceOf(NotSentError);
    expect(error.message).toMatch(/^201 of 301/);
  });

  test("and takes no more from an iterable then", async () => {
    const wire = new Wire(() => brokenConnection());
    let closed = false;
    function* endless() {
      try {
        for (;;) yield { body: 1 };
      } finally {
        closed = true;
      }
    }
    const error = await publishError(wire.client({ retryForMs: 0 }).publishBatch("t", endless()));
    expect(error.results).toHaveLength(101);
    expect(closed).toBe(true);
  });

  test("rejects with the signal's reason, and with what a token function throws", async () => {
    const wire = new Wire(storing);
    const reason = new Error("enough");
    const stop = new AbortController();
    const messages = (function* () {
      yield* numbered(150);
      stop.abort(reason);
      yield* numbered(150);
    })();
    const work = wire.client().publishBatch("t", messages, { signal: stop.signal });
    expect(await outcomeOf(work)).toEqual({ error: reason });
    expect(wire.sent).toHaveLength(1);
    const token = () => {
      throw new Error("no vault");
    };
    await expect(wire.client({ token }).publishBatch("t", numbered(1))).rejects.toThrow("no vault");
  });
});
