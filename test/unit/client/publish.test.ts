import { describe, expect, test } from "vitest";
import {
  FairlaneApiError,
  type NewMessage,
  NotSentError,
  PublishError,
  type PublishResult,
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
    ["no body", {}, "body or bytes must be there"],
    ["both", { body: 1, bytes: new Uint8Array(1) }, "bytes must not stand beside body"],
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
    expect(wire.sent).toHaveLength(2);
    for (const message of [{ body: "é".repeat(largest / 2) }, { bytes: new Uint8Array(largest + 1) }]) {
      await expect(wire.client().publish("t", message)).rejects.toThrow(RangeError);
    }
    expect(wire.sent).toHaveLength(2);
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

  test("a chunk that is refused for its content leaves the others alone, and its places are the batch's", async () => {
    const wire = new Wire(storing);
    const messages = numbered(250);
    messages[142] = { id: "x".repeat(256), partitionKey: "p", body: 1 };
    const error = await publishError(wire.client().publishBatch("t", messages));
    expect(error.results).toHaveLength(250);
    expect(error.message).toMatch(/^100 of 250 messages were not stored: invalid-request/);
    expect(error.results[99]).toEqual({ id: "m99", partitionKey: "p", duplicate: false });
    expect(error.results[249]).toMatchObject({ id: "m249" });
    const refused = error.results[100]?.error as FairlaneApiError;
    expect(refused).toBeInstanceOf(FairlaneApiError);
    expect(refused.issues).toMatchObject([{ path: "messages[142].id" }]);
    expect(error.results[199]?.error).toBe(refused);
    expect(error.cause).toBe(refused);
  });

  test("a message that cannot be written fails alone", async () => {
    const wire = new Wire(storing);
    const messages = numbered(5);
    messages[1] = { body: undefined };
    messages[3] = { bytes: new Uint8Array(1024 * 1024 + 1) };
    const error = await publishError(wire.client().publishBatch("t", messages));
    expect(error.results.map((result) => result.error?.message ?? (result as PublishResult).id)).toEqual([
      "m0",
      "messages[1].body is undefined: it must be a value that JSON can hold",
      "m2",
      "messages[3].bytes has over 1048576 bytes",
      "m4",
    ]);
  });

  test("places stay right where a message before was left out", async () => {
    const wire = new Wire(storing);
    const messages = numbered(4);
    messages[0] = { body: undefined };
    messages[2] = { id: "", body: 1 };
    const error = await publishError(wire.client().publishBatch("t", messages));
    expect(error.results[2]).toMatchObject({ error: { issues: [{ path: "messages[2].id" }] } });
    expect(error.results[0]?.error).toBeInstanceOf(TypeError);
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
