import { describe, expect, test } from "vitest";
import { MAX_SCAN_HEADERS_BYTES, type PartitionRead } from "../../../src/log/message-log.ts";
import { VitessLog } from "../../../src/log/vitess/vitess-log.ts";
import { type Reply, resultOf, scriptedDatabase } from "./scripted-database.ts";

const LONG_BYTES = 8000;
const READ = { afterOffset: 0, maxEntries: 10, withHeaders: true };
const FIELDS = [
  { name: "clock", type: "INT64" },
  { name: "place", type: "INT64" },
  { name: "message_offset", type: "INT64" },
  { name: "partition_key", type: "VARBINARY" },
  { name: "due_at_ms", type: "INT64" },
  { name: "delayed_due_at_ms", type: "INT64" },
  { name: "target_group", type: "VARBINARY" },
  { name: "body_bytes", type: "INT64" },
  { name: "headers_bytes", type: "INT64" },
  { name: "headers", type: "BLOB" },
];

interface Row {
  offset: number;
  place?: number;
  /** null: so long that the row does not have them. */
  headers: string | null;
}

function scanned(rows: Row[]): Reply {
  return resultOf(
    FIELDS,
    rows.map(({ offset, place = 0, headers }) => [
      ...["1000", String(place), String(offset), "k", "5", null, null, "2"],
      ...[String(headers?.length ?? LONG_BYTES), headers],
    ]),
  );
}

function headersRead(rows: Record<number, string>): Reply {
  return resultOf(
    [
      { name: "message_offset", type: "INT64" },
      { name: "headers", type: "BLOB" },
    ],
    Object.entries(rows),
  );
}

function setup(replies: Reply[]) {
  const { database, requests, left } = scriptedDatabase(replies);
  return { log: new VitessLog("acme", database, { commitHorizonMs: 0 }), requests, left };
}

describe("a scan with headers", () => {
  test("is one statement while they are of usual size", async () => {
    const { log, requests } = setup([
      scanned([
        { offset: 2, headers: "{}" },
        { offset: 1, headers: "" },
      ]),
    ]);
    const { entries } = await log.scanTopic("orders", READ);
    expect(entries.map(({ offset, headers }) => [offset, headers])).toEqual([
      [1, ""],
      [2, "{}"],
    ]);
    expect(requests).toHaveLength(1);
  });

  test("reads those that are too long for a row, of the tenant's own messages", async () => {
    const rows = [1, 2, 3].map((offset) => ({ offset, headers: offset === 2 ? "{}" : null }));
    const { log, requests } = setup([scanned(rows), headersRead({ 1: "one", 3: "three" })]);
    const { entries } = await log.scanTopic("orders", READ);
    expect(entries.map(({ headers }) => headers)).toEqual(["one", "{}", "three"]);
    expect(requests[1]?.sql).toContain("tenant = 'acme' AND topic = 'orders' AND message_offset IN (1, 3)");
  });

  test("leaves out an entry that was deleted before its headers could be read", async () => {
    const rows = [1, 2, 3].map((offset) => ({ offset, headers: offset === 2 ? null : "{}" }));
    const { log, left } = setup([scanned(rows), headersRead({})]);
    const page = await log.scanTopic("orders", { ...READ, maxEntries: 2 });
    expect(page).toMatchObject({ entries: [{ offset: 1, headers: "{}" }], reachedEnd: false });
    expect(left).toEqual([]);
  });

  test("does not read the headers of what the page has no room for", async () => {
    const fitting = Math.floor(MAX_SCAN_HEADERS_BYTES / LONG_BYTES);
    const rows = Array.from({ length: 200 }, (_, place) => ({ offset: place + 1, headers: null }));
    const found = Object.fromEntries(rows.slice(0, fitting).map(({ offset }) => [offset, `h${offset}`]));
    const { log, requests } = setup([scanned(rows), headersRead(found)]);
    const page = await log.scanTopic("orders", { ...READ, maxEntries: 1000 });
    expect([page.entries.length, page.reachedEnd]).toEqual([fitting, false]);
    expect(page.entries.at(-1)).toMatchObject({ offset: fitting, headers: `h${fitting}` });
    expect(requests[1]?.sql).toMatch(new RegExp(`, ${fitting}\\)$`));
  });
});

test("a scan without headers does not name them", async () => {
  const { log, requests } = setup([scanned([]), scanned([])]);
  const read = { afterOffset: 0, throughOffset: 9, maxEntries: 5 };
  await log.scanPartitions("orders", [{ ...read, partitionKey: "k" }]);
  await log.scanDue("orders", { after: { dueAtMs: 0, offset: 0 }, throughDueMs: 1, maxEntries: 5 });
  expect(requests.map(({ sql }) => sql.includes("headers"))).toEqual([false, false]);
});

describe("scans of partitions with headers", () => {
  const readsOf = (count: number, maxEntries: number): PartitionRead[] =>
    Array.from({ length: count }, (_, place) => {
      return { ...READ, partitionKey: `p${place}`, throughOffset: 999, maxEntries };
    });
  const limitsOf = (sql: string) => [...sql.matchAll(/LIMIT (\d+)/g)].map(([, limit]) => Number(limit));

  test("ask for one entry each once the bytes are used up, and read no more than a page's bytes at once", async () => {
    const rows = Array.from({ length: 200 }, (_, place) => ({ offset: place + 1, headers: null }));
    const rest = [201, 202].flatMap((offset, place) => [
      { offset, place, headers: null },
      { offset: offset + 100, place, headers: null },
    ]);
    const all = Object.fromEntries([...rows, ...rest].map(({ offset }) => [offset, `h${offset}`]));
    const { log, requests } = setup([scanned(rows), scanned(rest), headersRead(all), headersRead(all)]);
    const pages = await log.scanPartitions("orders", readsOf(3, 1000));
    const fitting = Math.floor(MAX_SCAN_HEADERS_BYTES / LONG_BYTES);
    expect(pages.map(({ entries, reachedEnd }) => [entries.length, reachedEnd])).toEqual([
      [fitting, false],
      [1, false],
      [1, false],
    ]);
    expect(requests.map(({ sql }) => limitsOf(sql))).toEqual([[1001], [2, 2], [], []]);
    expect(pages[2]?.entries[0]?.headers).toBe("h202");
  });

  test("are not in one statement with those without", async () => {
    const { log, requests } = setup([scanned([]), scanned([]), scanned([])]);
    const reads = readsOf(4, 5).map((read, place) => ({ ...read, withHeaders: place === 1 || place === 2 }));
    expect(await log.scanPartitions("orders", reads)).toHaveLength(4);
    expect(requests.map(({ sql }) => [limitsOf(sql), sql.includes("headers")])).toEqual([
      [[6], false],
      [[6, 6], true],
      [[6], false],
    ]);
  });
});
