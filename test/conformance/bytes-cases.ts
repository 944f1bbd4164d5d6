import { expect, test } from "vitest";
import { MAX_BODY_BYTES } from "../../src/core/limits.ts";
import type { StoredMessage } from "../../src/log/message-log.ts";
import type { MakeLog } from "./message-log-suite.ts";
import { at, message, offsetsOf, publish, TOPIC } from "./samples.ts";

const NAMES = [
  "*",
  "%",
  "_",
  "?",
  "'",
  '"',
  "\\",
  "--",
  ";",
  "__proto__",
  "constructor",
  "null",
  "1",
  "1.0",
  " a",
  "\ta",
  "a\nb",
  "\u0001",
  "a",
  "A",
  "\u00e9",
  "e\u0301",
  "ß",
  "ss",
  "😀",
  "👩‍👩‍👧",
  "\u{10ffff}",
  "\uffff",
  "😀".repeat(255),
];

const JSON_SOURCES = [
  "null",
  '""',
  "0",
  "-0",
  "1.0",
  "1e400",
  "123456789012345678901234567890",
  "9007199254740993",
  ' { "b" : 1, "a" : 2 } ',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  '"\\u0000\\ud800"',
  '"\u2028 😀 \u007f"',
  "[1,\r\n\t2]",
];

export function bytesCases(setup: MakeLog): void {
  test("G12: keys, IDs and headers come back byte for byte and stay distinct", async () => {
    const { log } = await setup();
    const batch = NAMES.map((name) =>
      message(name, { partitionKey: name, headers: JSON.stringify({ name }) }),
    );
    const { results } = await log.append(TOPIC, batch);
    expect(results.some(({ duplicate }) => duplicate)).toBe(false);
    for (const name of NAMES) {
      const found = await log.findEntries(TOPIC, name, name);
      expect(found.map(({ id, partitionKey, headers }) => ({ id, partitionKey, headers }))).toEqual([
        { id: name, partitionKey: name, headers: JSON.stringify({ name }) },
      ]);
      const listed = await log.listMessages(TOPIC, { partitionKey: name, afterOffset: 0, maxEntries: 10 });
      expect(listed.map(({ id }) => id)).toEqual([name]);
    }
  });

  test("G12: partitions are listed in byte order", async () => {
    const { log } = await setup();
    await log.append(
      TOPIC,
      NAMES.map((name) => message("m", { partitionKey: name })),
    );
    const listed = await log.listPartitions(TOPIC, { afterKey: null, maxPartitions: 100 });
    const encoder = new TextEncoder();
    const byBytes = [...NAMES].sort((a, b) => compareBytes(encoder.encode(a), encoder.encode(b)));
    expect(listed.map(({ partitionKey }) => partitionKey)).toEqual(byBytes);
  });

  test.each(JSON_SOURCES)("G12: JSON source %j comes back as it was", async (source) => {
    const { log } = await setup();
    const offsets = await publish(log, [message("a", { body: source })]);
    const stored = at(await log.readMessages(TOPIC, offsets), 0);
    expect(stored.body).toBe(source);
    expect(stored.contentType).toBeNull();
    expect(stored.bodyBytes).toBe(new TextEncoder().encode(source).length);
  });

  test("G12: many sources in one batch come back as they were, under odd keys and IDs", async () => {
    const { log } = await setup();
    const control = Array.from({ length: 31 }, (_, code) => String.fromCharCode(code + 1)).join("");
    const names = [...NAMES, control].map((name, place) => ({
      name,
      source: at(JSON_SOURCES, place % JSON_SOURCES.length),
    }));
    const batch = names.map(({ name, source }) => message(name, { partitionKey: name, body: source }));
    const offsets = await publish(log, batch);
    const stored = await log.readMessages(TOPIC, offsets);
    expect(
      stored.sort(byOffset).map(({ id, partitionKey, body, bodyBytes, contentType, headers }) => ({
        id,
        partitionKey,
        body,
        bodyBytes,
        contentType,
        headers,
      })),
    ).toEqual(
      names.map(({ name, source }) => ({
        id: name,
        partitionKey: name,
        body: source,
        bodyBytes: new TextEncoder().encode(source).length,
        contentType: null,
        headers: "",
      })),
    );
    const again = await log.append(TOPIC, [...batch.slice(0, 5), message("new")]);
    expect(again.results.map(({ duplicate }) => duplicate)).toEqual([true, true, true, true, true, false]);
  });

  test("G12: every byte value comes back", async () => {
    const { log } = await setup();
    const body = Uint8Array.from({ length: 512 }, (_, place) => place % 256);
    const offsets = await publish(log, [message("a", { body, contentType: "application/octet-stream" })]);
    const stored = at(await log.readMessages(TOPIC, offsets), 0);
    expect(stored.body).toEqual(body);
    expect(stored.bodyBytes).toBe(512);
    expect(stored.contentType).toBe("application/octet-stream");
  });

  test("G12: bytes that look like JSON stay bytes, empty ones too", async () => {
    const { log } = await setup();
    const text = new TextEncoder().encode("{}");
    await log.append(TOPIC, [
      message("json", { body: text, contentType: "application/json" }),
      message("empty", { body: new Uint8Array(0), contentType: "text/plain" }),
      message("view", { body: new Uint8Array([9, 1, 2, 9]).subarray(1, 3), contentType: "text/plain" }),
    ]);
    const found = await log.readMessages(TOPIC, await offsetsOf(log));
    const bodies = new Map(found.map(({ id, body }) => [id, body]));
    expect(bodies.get("json")).toEqual(text);
    expect(bodies.get("empty")).toEqual(new Uint8Array(0));
    expect(bodies.get("view")).toEqual(new Uint8Array([1, 2]));
  });

  test("G12: the largest bodies fit, as text and as bytes", async () => {
    const { log } = await setup();
    const text = `"${"é".repeat((MAX_BODY_BYTES - 2) / 2)}"`;
    const bytes = new Uint8Array(MAX_BODY_BYTES).fill(255);
    await log.append(TOPIC, [
      message("text", { body: text }),
      message("bytes", { body: bytes, contentType: "x/y" }),
    ]);
    const found = await log.readMessages(TOPIC, await offsetsOf(log));
    expect(found.map(({ bodyBytes }) => bodyBytes)).toEqual([MAX_BODY_BYTES, MAX_BODY_BYTES]);
    expect(found.find(({ id }) => id === "text")?.body === text).toBe(true);
    const back = found.find(({ id }) => id === "bytes")?.body;
    expect(back instanceof Uint8Array && back.every((byte) => byte === 255)).toBe(true);
  });
}

function byOffset(a: StoredMessage, b: StoredMessage): number {
  return a.offset - b.offset;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let place = 0; place < Math.min(a.length, b.length); place++) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}
