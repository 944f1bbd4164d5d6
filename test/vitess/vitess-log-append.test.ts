import { expect, test } from "vitest";
import { MAX_BATCH_BODY_BYTES, MAX_BODY_BYTES } from "../../src/core/limits.ts";
import { text as textOf } from "../../src/log/vitess/result-rows.ts";
import { readStatement } from "../../src/log/vitess/statement.ts";
import { ALL, at, message, messages, offsetsOf, TOPIC } from "../conformance/samples.ts";
import { seededRandom } from "./seeded-random.ts";
import { type LogAtPlace, vitessPlace } from "./vitess-log-place.ts";

const place = vitessPlace();
const STORED = { duplicate: false };
const DUPLICATE = { duplicate: true };

/** Of a topic that this process knows already. */
async function opened(options: Parameters<typeof place.log>[0] = {}): Promise<LogAtPlace> {
  const opening = place.log(options);
  await opening.log.append(TOPIC, [message("opening")]);
  return opening;
}

test.each([1, 2, 100])("a batch of %i without duplicates is one round trip", async (count) => {
  const { log } = await opened();
  const { value, roundTrips, rowsRead, rowsWritten } = await place.cost(() =>
    log.append(TOPIC, messages(count)),
  );
  expect(value.results).toEqual(Array(count).fill(STORED));
  expect([roundTrips, rowsWritten, rowsRead]).toEqual([1, count, 0]);
});

test("a batch with delays, headers and bytes is one round trip too", async () => {
  const { log } = await opened();
  const batch = messages(10).map((one, n) => ({
    ...one,
    delayMs: n % 2,
    headers: '{"a":"b"}',
    body: new Uint8Array([n]),
    contentType: "a/b",
  }));
  const { roundTrips } = await place.cost(() => log.append(TOPIC, batch));
  expect(roundTrips).toBe(1);
});

test("a batch with duplicates is three round trips, one of duplicates alone two", async () => {
  const { log } = await opened();
  await log.append(TOPIC, messages(3));
  const mixed = await place.cost(() => log.append(TOPIC, messages(100)));
  expect(mixed.value.results.filter(({ duplicate }) => duplicate)).toHaveLength(3);
  expect(mixed.roundTrips).toBe(3);
  const repeated = await place.cost(() => log.append(TOPIC, messages(100)));
  expect(repeated.value.results).toEqual(Array(100).fill(DUPLICATE));
  expect(repeated.roundTrips).toBe(2);
});

test("a process that does not know the topic asks once", async () => {
  const { tenant } = await opened();
  const { log } = place.log({ tenant });
  expect((await place.cost(() => log.append(TOPIC, [message("a")]))).roundTrips).toBe(2);
  expect((await place.cost(() => log.append(TOPIC, [message("b")]))).roundTrips).toBe(1);
});

test("offsets are the database's clock, and the reply has them", async () => {
  const { log } = await opened();
  const before = await log.tail(TOPIC);
  const { stored } = await log.append(TOPIC, messages(100));
  const after = await log.tail(TOPIC);
  const { entries } = await log.scanTopic(TOPIC, ALL);
  const fresh = entries.slice(1);
  expect(fresh.map(({ offset }) => offset)).toEqual(fresh.map((_, n) => (stored?.lowestOffset ?? 0) + n));
  expect(stored?.highestOffset).toBe(after.offset);
  const givenMs = Date.UTC(2020, 0, 1) + (stored?.lowestOffset ?? 0) / 1000;
  expect(givenMs).toBeGreaterThanOrEqual(before.nowMs);
  expect(givenMs).toBeLessThan(after.nowMs + 1);
  expect(at(fresh, 0).dueAtMs).toBe(Math.floor(givenMs));
});

test("what was stored lately is shown again, so that dispatch looks at it", async () => {
  const { log } = await opened();
  const first = await log.append(TOPIC, [message("a")]);
  const again = await log.append(TOPIC, [message("a")]);
  expect(again).toEqual({ results: [DUPLICATE], stored: first.stored, late: true });
});

test("G8: many publish the same IDs at once, in any order: each is stored once", async () => {
  const { tenant } = await opened();
  const random = seededRandom(20260101);
  const orders = Array.from({ length: 8 }, () => {
    const keys = messages(50).map((one) => ({ one, key: random() }));
    return keys.sort((a, b) => a.key - b.key).map(({ one }) => one);
  });
  const outcomes = await Promise.all(orders.map((batch) => place.log({ tenant }).log.append(TOPIC, batch)));
  const fresh = outcomes.flatMap(({ results }) => results.filter(({ duplicate }) => !duplicate));
  expect(fresh).toHaveLength(50);
  expect(await offsetsOf(place.log({ tenant }).log)).toHaveLength(51);
});

test("G9: batches that meet on an offset are sent again, and all are stored", async () => {
  const tenant = "meets";
  let sent = 0;
  const { log } = await opened({ tenant, observe: () => sent++ });
  // A clock so coarse that publishes at one time get one offset.
  await place.runSql(`CREATE TRIGGER coarse BEFORE INSERT ON queue_messages FOR EACH ROW
    SET NEW.message_offset = IF(NEW.tenant = '${tenant}', NEW.message_offset DIV 10000 * 10000, NEW.message_offset)`);
  try {
    sent = 0;
    const outcomes = await Promise.all(messages(4).map((one) => log.append(TOPIC, [one])));
    expect(outcomes.map(({ results }) => results)).toEqual(Array(4).fill([STORED]));
    expect(sent).toBeGreaterThan(4);
    expect(new Set(await offsetsOf(log)).size).toBe(5);
  } finally {
    await place.runSql("DROP TRIGGER coarse");
  }
});

test("G12: the largest batch of bytes, and of text that is all escapes, fits", async () => {
  const { log } = await opened();
  const count = MAX_BATCH_BODY_BYTES / MAX_BODY_BYTES;
  const bytes = Uint8Array.from({ length: MAX_BODY_BYTES }, (_, n) => (n * 7) % 256);
  await log.append(TOPIC, messages(count, { body: bytes, contentType: "a/b" }));
  const text = `"${"\\\\'\u2028?".repeat(MAX_BODY_BYTES / 8).slice(0, MAX_BODY_BYTES / 2 - 2)}"`;
  const texts = messages(count).map((one) => ({ ...one, id: `text-${one.id}`, body: text }));
  await log.append(TOPIC, texts);
  const found = await log.readMessages(TOPIC, (await offsetsOf(log)).slice(1));
  expect(found.filter(({ body }) => body === text)).toHaveLength(count);
  const back = found.filter(({ body }) => body instanceof Uint8Array && Buffer.compare(body, bytes) === 0);
  expect(back).toHaveLength(count);
});

test("G12: IDs and keys keep a byte order mark and every kind of space but one at the end", async () => {
  const { log } = await opened();
  const names = ["\ufeffa", "a\ufeff", "a\t", "a\u00a0", "a\n", "a b", "a", "\u0001", "\u001f", "!"];
  const batch = names.map((name) => message(name, { partitionKey: name }));
  expect((await log.append(TOPIC, batch)).results).toEqual(names.map(() => STORED));
  const found = await log.readMessages(TOPIC, (await offsetsOf(log)).slice(1));
  expect(found.map(({ id, partitionKey }) => [id, partitionKey])).toEqual(names.map((name) => [name, name]));
  expect((await log.append(TOPIC, batch)).results).toEqual(names.map(() => DUPLICATE));
});

test("G12: text of any characters arrives byte for byte", async () => {
  const { database } = place.log();
  const random = seededRandom(42);
  const special = ["'", '"', "\\", "?", ":a", "\0", "\u001a", "\n", "%", "_", "--", "/*", "\ufeff", "`", "@"];
  const anyText = () =>
    Array.from({ length: 1 + Math.floor(random() * 40) }, () => {
      const pick = random();
      if (pick < 0.4) return special[Math.floor(random() * special.length)];
      const code = Math.floor(random() * (pick < 0.7 ? 0x80 : 0x110000));
      return code >= 0xd800 && code < 0xe000 ? "\ud83d\ude00" : String.fromCodePoint(code);
    }).join("");
  const columns = Array.from({ length: 50 }, (_, n) => `? AS text${n}, hex(?) AS bytes${n}`);
  const echo = readStatement("echo", `SELECT ${columns.join(", ")}`);
  for (let round = 0; round < 20; round++) {
    const texts = Array.from({ length: 50 }, anyText);
    const params = texts.flatMap((text) => [text, text]);
    const [row = {}] = (await database.execute(echo, params)).rows;
    for (const [n, text] of texts.entries()) {
      const bytes = Buffer.from(text).toString("hex").toUpperCase();
      expect([textOf(row, `text${n}`), textOf(row, `bytes${n}`)]).toEqual([text, bytes]);
    }
  }
});
