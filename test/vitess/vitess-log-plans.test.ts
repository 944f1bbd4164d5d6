import { beforeAll, describe, expect, test } from "vitest";
import { formatSql, type SqlParam } from "../../src/log/vitess/sql-text.ts";
import { vitessStatements } from "../../src/log/vitess/statements.ts";
import type { VitessLog } from "../../src/log/vitess/vitess-log.ts";
import { GROUP, group, TOPIC } from "../conformance/samples.ts";
import { vitessPlace } from "./vitess-log-place.ts";

/** Offsets of the seeded rows are their numbers; 200 partitions; every fiftieth message is delayed. */
const ENTRIES = 30_000;
const PARTITIONS = 200;
const TENANT = "large";
const SMALL = "small";
const EVER = Number.MAX_SAFE_INTEGER;
const place = vitessPlace();
let log: VitessLog;

beforeAll(async () => {
  for (const [tenant, entries] of [
    [TENANT, ENTRIES],
    [SMALL, 1000],
  ] as const) {
    await place.runSql(`INSERT INTO queue_topics VALUES ('${tenant}', '${TOPIC}', 1000, 1000)`);
    await place.runSql(`INSERT INTO queue_messages
      SELECT '${tenant}', '${TOPIC}', seq, concat('k', seq % ${PARTITIONS}), concat('m', seq), '', NULL, 1, seq,
        IF(seq % 50 = 0, seq, NULL), NULL, '', NULL, 100, repeat('x', 100) FROM seq_1_to_${entries}`);
    await place.runSql(`INSERT INTO queue_offsets
      SELECT '${tenant}', '${TOPIC}', '${GROUP}', concat('k', seq), 1, 1, 1, '', '', 0, 0, 0
      FROM seq_1_to_${entries}`);
  }
  await place.runSql("ANALYZE TABLE queue_messages, queue_offsets, queue_topics");
  log = place.log({ tenant: TENANT }).log;
  await log.saveGroup(TOPIC, group());
});

describe("reads touch no more rows than they return, and are one round trip", () => {
  const partitions = (maxEntries: number, withHeaders = false) =>
    Array.from({ length: 50 }, (_, n) => {
      return { partitionKey: `k${n}`, afterOffset: 100, throughOffset: EVER, maxEntries, withHeaders };
    });
  const due = { after: { dueAtMs: 0, offset: 0 }, throughDueMs: EVER, maxEntries: 10 };

  test.each<[string, number, () => Promise<unknown>]>([
    ["a page of the topic", 103, () => log.scanTopic(TOPIC, { afterOffset: 0, maxEntries: 100 })],
    ["a page in its middle", 103, () => log.scanTopic(TOPIC, { afterOffset: 9000, maxEntries: 100 })],
    [
      "a page with an end",
      13,
      () => log.scanTopic(TOPIC, { afterOffset: 9000, throughOffset: 9010, maxEntries: 100 }),
    ],
    ["a page beyond the tail", 3, () => log.scanTopic(TOPIC, { afterOffset: ENTRIES, maxEntries: 100 })],
    ["fifty partitions", 50 * 12, () => log.scanPartitions(TOPIC, partitions(10))],
    ["what is due", 14, () => log.scanDue(TOPIC, due)],
    ["what is due, when nothing is", 4, () => log.scanDue(TOPIC, { ...due, throughDueMs: 49 })],
    [
      "a page of the topic with headers",
      103,
      () => log.scanTopic(TOPIC, { afterOffset: 9000, maxEntries: 100, withHeaders: true }),
    ],
    ["fifty partitions with headers", 50 * 12, () => log.scanPartitions(TOPIC, partitions(10, true))],
    ["what is due, with headers", 14, () => log.scanDue(TOPIC, { ...due, withHeaders: true })],
    ["a page of partitions", 40, () => log.listPartitions(TOPIC, { afterKey: null, maxPartitions: 10 })],
    ["messages by offset", 4, () => log.readMessages(TOPIC, [1, 2, ENTRIES, ENTRIES + 1])],
    ["entries by ID", 3, () => log.findEntries(TOPIC, "m7", "k7")],
    ["a list of messages", 12, () => log.listMessages(TOPIC, { afterOffset: 500, maxEntries: 10 })],
    [
      "a list of a partition",
      12,
      () => log.listMessages(TOPIC, { partitionKey: "k7", afterOffset: 500, maxEntries: 10 }),
    ],
    [
      "the end of the topic",
      12,
      () => log.listMessages(TOPIC, { afterOffset: 0, maxEntries: 10, fromEnd: true }),
    ],
    [
      "the end of a partition",
      12,
      () => log.listMessages(TOPIC, { partitionKey: "k7", afterOffset: 0, maxEntries: 10, fromEnd: true }),
    ],
    ["the tail", 2, () => log.tail(TOPIC)],
    // The counted rows are read, put aside and read again.
    ["a count", 203, () => log.countEntries(TOPIC, { afterOffset: 0, maxCount: 100 })],
    [
      "a count of a partition for a group",
      203,
      () => log.countEntries(TOPIC, { partitionKey: "k7", forGroup: GROUP, afterOffset: 0, maxCount: 100 }),
    ],
    ["progress", 3, () => log.loadProgress(TOPIC, GROUP, ["k1", "k2", "none"])],
    ["the highest reset epoch", 2, () => log.highestResetEpoch(TOPIC, GROUP, 1)],
    ["topics", 3, () => log.loadTopics()],
    ["groups", 3, () => log.loadGroups(TOPIC)],
  ])("%s: %i", async (_what, maxRows, read) => {
    const { roundTrips, rowsRead } = await place.cost(read);
    expect(roundTrips).toBe(1);
    expect(rowsRead).toBeLessThanOrEqual(maxRows);
    expect(rowsRead).toBeGreaterThan(0);
  });

  test("whole pages of many partitions are read in parts that a Vitess allows", async () => {
    const reads = partitions(1000);
    const { value, roundTrips } = await place.cost(() => log.scanPartitions(TOPIC, reads));
    expect(roundTrips).toBe(Math.ceil(50 / Math.floor(10_000 / 1001)));
    // The first partition's entries all lie above the offset; each other has one below.
    expect(value.map(({ entries }) => entries.length)).toEqual([150, ...Array(49).fill(149)]);
  });

  test("with headers no part is larger than one page may be", async () => {
    const reads = partitions(100, true);
    const { roundTrips } = await place.cost(() => log.scanPartitions(TOPIC, reads));
    expect(roundTrips).toBe(Math.ceil(50 / Math.floor(1000 / 101)));
  });

  test("headers that are too long for a row: one more round trip, and a row for each", async () => {
    const long = place.log({ tenant: "long" }).log;
    await place.runSql(`INSERT INTO queue_messages
      SELECT 'long', '${TOPIC}', seq, 'k', concat('m', seq), '', NULL, 1, seq, NULL, NULL,
        IF(seq % 10 = 0, repeat('x', 2000), 'x'), NULL, 1, '1' FROM seq_1_to_1000`);
    await place.runSql(`INSERT INTO queue_topics VALUES ('long', '${TOPIC}', 1000, 1000)`);
    const read = { afterOffset: 500, maxEntries: 100, withHeaders: true };
    const { value, roundTrips, rowsRead } = await place.cost(() => long.scanTopic(TOPIC, read));
    expect(value.entries.map(({ headers }) => headers?.length)).toEqual(
      Array.from({ length: 100 }, (_, place) => (place % 10 === 9 ? 2000 : 1)),
    );
    expect(roundTrips).toBe(2);
    expect(rowsRead).toBeLessThanOrEqual(103 + 11);
  });

  test("partitions without messages: one seek for each row of the page", async () => {
    const read = { afterKey: null, maxPartitions: 100 };
    const { value, roundTrips, rowsRead } = await place.cost(() =>
      log.listEmptyPartitions(TOPIC, GROUP, read),
    );
    expect(value.resumeAfterKey).not.toBeNull();
    expect(roundTrips).toBe(3);
    expect(rowsRead).toBeLessThanOrEqual(100 + 100 + 5);
  });

  test("a topic that does not exist: a second round trip for the clock", async () => {
    const { value, roundTrips } = await place.cost(() =>
      log.scanTopic("nothing", { afterOffset: 0, maxEntries: 10 }),
    );
    expect(value).toMatchObject({ entries: [], reachedEnd: true });
    expect(roundTrips).toBe(2);
  });
});

test("the size of the log does not show in the cost of a page", async () => {
  const small = place.log({ tenant: SMALL }).log;
  const page = { afterOffset: 500, maxEntries: 100 };
  const few = await place.cost(() => small.scanTopic(TOPIC, page));
  const many = await place.cost(() => log.scanTopic(TOPIC, page));
  expect(many.rowsRead).toBe(few.rowsRead);
});

describe("writes", () => {
  test("copies read their messages once and look each up once", async () => {
    const copies = Array.from({ length: 100 }, (_, n) => {
      return { offset: n + 1, group: GROUP, attempts: 1, failedAtMs: 1, reason: "r", origin: `o${n}` };
    });
    await log.copyToDeadLetters(TOPIC, copies.slice(0, 1));
    const { roundTrips, rowsRead } = await place.cost(() => log.copyToDeadLetters(TOPIC, copies.slice(1)));
    expect(roundTrips).toBe(1);
    // Source, look-up, and the rows put aside between reading and writing one table.
    expect(rowsRead).toBeLessThanOrEqual(99 * 3 + 3);
  });

  test("a delete by range reads what it deletes", async () => {
    const ranges = [
      { first: 20_000, last: 20_099 },
      { first: 21_000, last: 21_000 },
    ];
    const { value, roundTrips, rowsRead } = await place.cost(() => log.deleteRanges(TOPIC, ranges));
    expect(value).toEqual({ deleted: 101 });
    expect(roundTrips).toBe(1);
    expect(rowsRead).toBeLessThanOrEqual(101 + 4);
  });

  test("a checkpoint of many partitions is two round trips", async () => {
    const checkpoints = Array.from({ length: 200 }, (_, n) => {
      return {
        partitionKey: `k${n}`,
        generation: 1,
        resetEpoch: 1,
        ackedOffset: 5,
        unsettled: "",
        ackedAbove: "",
        due: { dueAtMs: 0, offset: 0 },
      };
    });
    const { roundTrips } = await place.cost(() => log.saveProgress(TOPIC, GROUP, checkpoints));
    expect(roundTrips).toBe(2);
  });
});

test("no plan sorts or walks a whole table", async () => {
  for (const { name, sql } of vitessStatements()) {
    if (sql.startsWith("INSERT INTO") && !sql.includes("SELECT")) continue;
    const before = sql.split("?").slice(0, -1);
    const plan = await place.runSql(`EXPLAIN ${formatSql(sql, before.map(sampleFor))}`);
    expect(plan.length, name).toBeGreaterThan(0);
    for (const { table, type, Extra } of plan) {
      const where = `${name}: ${table}, ${type}, ${Extra}`;
      expect(String(Extra), where).not.toMatch(/filesort/);
      // What is counted stands in a table of its own.
      if (!String(table).startsWith("<derived")) expect(["ALL", "index"], where).not.toContain(type);
    }
  }
});

/** A value of the kind that a placeholder behind this text takes. */
function sampleFor(before: string): SqlParam {
  if (/tenant = $/.test(before)) return TENANT;
  if (/topic (?:=|>=|>) $/.test(before)) return TOPIC;
  if (/group_name (?:=|>) $/.test(before)) return GROUP;
  return /(?:LIMIT|(?:_at_ms|_offset|generation) (?:<|<=|=|>=|>|BETWEEN)|AND|WHEN) $/.test(before)
    ? 10
    : "k1";
}
