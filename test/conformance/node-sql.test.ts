import { expect, test } from "vitest";
import { migrate } from "../../src/durable/migrate.ts";
import { countParams, NodeSql } from "../sim/node-sql.ts";

const clock = { nowMs: () => 1_700_000_000_000 };

function setup(): NodeSql {
  const sql = new NodeSql();
  sql.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b ANY) STRICT; CREATE INDEX t_b ON t (b)");
  return sql;
}

test.each([
  ["a boolean", true],
  ["undefined", undefined],
  ["a bigint", 1n],
  ["NaN", Number.NaN],
  ["an infinity", Number.POSITIVE_INFINITY],
  ["an integer above 2^53", 2 ** 53],
  ["a lone surrogate", "a\ud800"],
  ["a date", new Date(0)],
  ["an array", [1]],
])("%s is not bound", (_, value) => {
  const sql = setup();
  expect(() => sql.run("INSERT INTO t VALUES (1, ?)", value as never)).toThrow(/bound|rounded|changed/);
  expect(sql.all("SELECT * FROM t")).toEqual([]);
});

test.each([[null], [0], [-1.5], [2 ** 53 - 1], [""], ["\u0000 😀"], [new Uint8Array([0, 255])]])(
  "%j comes back as it was bound",
  (value) => {
    const sql = setup();
    expect(sql.run("INSERT INTO t VALUES (1, ?)", value)).toBe(1);
    expect(sql.all("SELECT b FROM t")).toEqual([{ b: value }]);
  },
);

test("the platform's limits hold", () => {
  const sql = setup();
  const params = (count: number) => Array.from({ length: count }, () => "?").join(",");
  expect(sql.all(`SELECT 1 AS x WHERE 1 IN (${params(100)})`, ...Array(100).fill(1))).toEqual([{ x: 1 }]);
  expect(() => sql.all(`SELECT 1 WHERE 1 IN (${params(101)})`, ...Array(101).fill(1))).toThrow();
  expect(() => sql.all(`SELECT 1 -- ${"x".repeat(100_000)}`)).toThrow();
  expect(() => sql.run("INSERT INTO t VALUES (1, ?)", new Uint8Array(2_000_001))).toThrow(/TOOBIG/);
  expect(() => sql.run("INSERT INTO t VALUES (1, ?)", "x".repeat(2_000_001))).toThrow(/TOOBIG/);
  expect(() => sql.run("INSERT INTO t VALUES (1, zeroblob(2000001))")).toThrow(/too big/);
  expect(() => sql.all("SELECT 1 WHERE 'a' LIKE ?", "x".repeat(51))).toThrow(/pattern/);
});

test("a statement gets as many parameters as it has", () => {
  const sql = setup();
  expect(() => sql.run("INSERT INTO t VALUES (?, ?)", 1)).toThrow(/2 parameters, 1/);
  expect(() => sql.all("SELECT 1", 1)).toThrow(/0 parameters, 1/);
  expect(() => sql.all("SELECT ?")).toThrow(/1 parameters, 0/);
  expect(countParams("SELECT ?2, ?, '?', \"?\", ?1 -- ?\n /* ? */ , ?")).toBe(4);
});

test.each(["BEGIN", "begin immediate", " COMMIT", "ROLLBACK", "SAVEPOINT a", "-- x\nRELEASE a"])(
  "%j is refused",
  (query) => {
    const sql = setup();
    expect(() => sql.run(query)).toThrow(/transaction/);
    expect(() => sql.all(query)).toThrow(/transaction/);
  },
);

test("a transaction is whole, synchronous and does not nest", () => {
  const sql = setup();
  const insert = () => sql.run("INSERT INTO t VALUES (?, ?)", 1, "x");
  const broken = () =>
    sql.transaction(() => {
      insert();
      throw new Error("broken");
    });
  expect(broken).toThrow("broken");
  expect(() => sql.transaction(() => sql.transaction(insert))).toThrow(/nest/);
  expect(() => sql.transaction(async () => insert())).toThrow(/synchronous/);
  expect(sql.all("SELECT * FROM t")).toEqual([]);
  expect(sql.transaction(insert)).toBe(1);
  expect(sql.all("SELECT * FROM t")).toHaveLength(1);
});

test("changes count rows, not index entries, and 0 when nothing changed", () => {
  const sql = setup();
  expect(sql.run("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")).toBe(3);
  expect(sql.run("UPDATE t SET b = 'w' WHERE a > ?", 1)).toBe(2);
  expect(sql.run("UPDATE t SET b = 'w' WHERE a > ?", 9)).toBe(0);
  expect(sql.run("INSERT INTO t VALUES (1, 'x') ON CONFLICT (a) DO NOTHING")).toBe(0);
  expect(sql.run("DELETE FROM t WHERE a < ?", 3)).toBe(2);
});

test("the size falls when rows go", () => {
  const sql = setup();
  for (let row = 0; row < 50; row++) sql.run("INSERT INTO t VALUES (?, ?)", row, "x".repeat(10_000));
  const full = sql.sizeBytes();
  sql.run("DELETE FROM t WHERE a >= ?", 5);
  expect(full).toBeGreaterThan(500_000);
  expect(sql.sizeBytes()).toBeLessThan(full / 4);
});

test("migrations run once each, in order, all or nothing", () => {
  const sql = new NodeSql();
  const first = { name: "a.sql", sql: "CREATE TABLE a (x INTEGER); CREATE TABLE b (x INTEGER)" };
  const second = { name: "b.sql", sql: "ALTER TABLE a ADD COLUMN y INTEGER" };
  const broken = { name: "c.sql", sql: "CREATE TABLE c (x INTEGER); CREATE TABLE a (x INTEGER)" };
  expect(migrate(sql, clock, [first])).toEqual(["a.sql"]);
  expect(migrate(sql, clock, [first])).toEqual([]);
  expect(() => migrate(sql, clock, [first, second, broken])).toThrow(/already exists/);
  expect(() => sql.all("SELECT y FROM a")).toThrow();
  expect(() => sql.all("SELECT x FROM c")).toThrow();
  expect(migrate(sql, clock, [first, second])).toEqual(["b.sql"]);
  expect(sql.all("SELECT x, y FROM a")).toEqual([]);
  // An older deploy knows fewer: what is there stays, nothing runs twice.
  expect(migrate(sql, clock, [first])).toEqual([]);
  expect(migrate(sql, clock, [first, second])).toEqual([]);
});
