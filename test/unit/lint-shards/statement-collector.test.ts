import { describe, expect, test } from "vitest";
import { sqlTokens } from "../../../scripts/lint-shards/sql-tokens.ts";
import { StatementCollector } from "../../../scripts/lint-shards/statement-collector.ts";
import { shapeOf, tenantsNamed } from "../../../scripts/lint-shards/statement-shape.ts";
import { TABLES } from "./planted.ts";

const BATCH_BYTES = 4 * 1024 * 1024;

describe("tokens", () => {
  test("are what MySQL takes them for", () => {
    const texts = (sql: string) => sqlTokens(sql).map(({ kind, text }) => [kind, text]);
    expect(texts("a.`b c`=?")).toEqual([
      ["word", "a"],
      ["punctuation", "."],
      ["quoted", "`b c`"],
      ["punctuation", "="],
      ["param", "?"],
    ]);
    expect(texts(`'it''s' "a\\"?" x'6f' 0x6f 1.5e-3 _utf8mb4'?'`).map(([kind]) => kind)).toEqual([
      ...["string", "string", "hex", "hex", "number", "string"],
    ]);
    expect(texts("1 -- ? '\n/* ? */ # ?\n2").map(([kind]) => kind)).toEqual([
      ...["number", "comment", "comment", "comment", "number"],
    ]);
  });

  test.each(["'open", '"open', "'open\\'", "`open", "\\"])("are not found in %s", (sql) => {
    expect(() => sqlTokens(sql)).toThrow(SyntaxError);
  });
});

describe("a statement's shape", () => {
  const isSame = (one: string, other: string) => expect(shapeOf(one)).toBe(shapeOf(other));
  const isOther = (one: string, other: string) => expect(shapeOf(one)).not.toBe(shapeOf(other));

  test("has no values, and no layout", () => {
    isSame(
      "SELECT a FROM t WHERE b = ? AND c IS NULL",
      "select  a from `t`\n where b='it''s \\' (?' and c is null;",
    );
    isSame(
      "SELECT a FROM t WHERE b = ? AND c > ? LIMIT ?",
      "SELECT a FROM t WHERE b = x'00' AND c > -5 LIMIT 10",
    );
    isSame("INSERT INTO t (a, b) VALUES (?, ?)", "INSERT INTO t (a, b) VALUES (NULL, '')");
    isSame("SELECT a FROM t /* why */ LIMIT ?", "SELECT a FROM t LIMIT 1 -- because");
  });

  test("keeps everything else", () => {
    isOther("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b > ?");
    isOther("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b = ? OR c = ?");
    isOther("SELECT a FROM t WHERE b = ? LIMIT ?", "SELECT a FROM t WHERE b = ?");
    isOther("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b = c");
    isOther("SELECT a FROM t WHERE (b = ?)", "SELECT a FROM t WHERE b = ?");
    isOther("SELECT a - ? FROM t", "SELECT a, ? FROM t");
    isOther("SELECT f(?, ?) FROM t", "SELECT f(?) FROM t");
  });

  test("is the same for lists of any length", () => {
    isSame("SELECT a FROM t WHERE b IN (?)", "SELECT a FROM t WHERE b IN ('x', 'y', 'z')");
    isSame("SELECT a FROM t WHERE (b, c) IN ((?, ?))", "SELECT a FROM t WHERE (b, c) IN ((1, 2), (3, 4))");
    isSame("INSERT INTO t (a, b) VALUES (?, ?)", "INSERT INTO t (a, b) VALUES (1, 2), (3, 4), (5, 6)");
    isSame(
      "INSERT INTO t (a) VALUES (f(?) + ?), (g() + ?)",
      "INSERT INTO t (a) VALUES (f(1) + 0), (g() + 1), (g() + 2)",
    );
    isSame(
      "(SELECT a FROM t WHERE b = ?) UNION ALL (SELECT a FROM t WHERE b = ?)",
      "(SELECT a FROM t WHERE b = 1) UNION ALL (SELECT a FROM t WHERE b = 2) UNION ALL (SELECT a FROM t WHERE b = 3)",
    );
    isSame(
      "SELECT d.a FROM (SELECT ? AS a UNION ALL SELECT ?) AS d",
      "SELECT d.a FROM (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3) AS d",
    );
    isSame("SELECT CASE a WHEN ? THEN ? END FROM t", "SELECT CASE a WHEN 1 THEN 2 WHEN 3 THEN 4 END FROM t");
    isSame(
      "SELECT a FROM t WHERE c = ? AND (a = ? AND b = ? OR a = ? AND b = ?)",
      "SELECT a FROM t WHERE c = 0 AND (a = 1 AND b = 2 OR a = 3 AND b = 4 OR a = 5 AND b = 6)",
    );
  });

  test("tells arms, members and rows apart that differ", () => {
    isOther("SELECT a FROM t WHERE b IN (?)", "SELECT a FROM t WHERE b IN (1, c)");
    isOther("INSERT INTO t (a, b) VALUES (?, ?)", "INSERT INTO t (a, b) VALUES (1, 2), (3, c)");
    isOther(
      "(SELECT a FROM t WHERE b = ?) UNION ALL (SELECT a FROM t WHERE b = ?)",
      "(SELECT a FROM t WHERE b = 1) UNION ALL (SELECT a FROM t)",
    );
  });

  test("of a whole batch of bodies is found", () => {
    const body = `'${"\\'a''".repeat(BATCH_BYTES / 5)}'`;
    const bytes = `x'${"61".repeat(BATCH_BYTES)}'`;
    isSame("INSERT INTO t (a) VALUES (?)", `INSERT INTO t (a) VALUES (${body}), (${bytes})`);
  });
});

describe("the tenants that a statement names", () => {
  test.each([
    ["SELECT a FROM t WHERE tenant = 'acme' AND b = 'x'", ["'acme'"]],
    [
      "(SELECT a FROM t WHERE tenant = 'acme') UNION ALL (SELECT a FROM t WHERE t.tenant = 'demo')",
      ["'acme'", "'demo'"],
    ],
    ["INSERT INTO t (a, tenant) VALUES (f(1, 2), 'acme'), ('demo', 'acme')", ["'acme'"]],
    [
      "INSERT INTO t (a, tenant) VALUES (1, 'acme'), (2, 'demo') ON DUPLICATE KEY UPDATE a = 3",
      ["'acme'", "'demo'"],
    ],
    ["INSERT INTO t (tenant, a) SELECT s.tenant, s.a FROM s WHERE s.tenant = 'acme' LIMIT 1", ["'acme'"]],
  ])("%s", (sql, tenants) => {
    expect([...tenantsNamed(sql)]).toEqual(tenants);
  });
});

describe("the collector", () => {
  const LISTED = [
    { name: "look up", sql: "SELECT topic FROM topics WHERE tenant = ? AND topic = ?" },
    {
      name: "read",
      sql: "SELECT body FROM messages WHERE tenant = ? AND topic = ? AND message_offset IN (?)",
    },
    { name: "write", sql: "INSERT INTO topics (tenant, topic) VALUES (?, ?)" },
  ];
  const setup = () => new StatementCollector(LISTED, TABLES);

  test("knows listed statements with their values, and says which were not seen", () => {
    const collector = setup();
    collector.seen("SELECT topic FROM topics WHERE tenant = 'acme' AND topic = 'it''s'");
    collector.seen(
      "SELECT body FROM messages WHERE tenant = 'acme' AND topic = 'a' AND message_offset IN (1, 2, 3)",
    );
    expect(collector.escaped()).toEqual([]);
    expect(collector.unseen()).toEqual(["write"]);
    expect(collector.count).toBe(2);
  });

  test("finds one that is not listed, once, and says which rules it breaks", () => {
    const collector = setup();
    for (const topic of ["a", "b", "c"]) collector.seen(`DELETE FROM messages WHERE topic = '${topic}'`);
    const [line, ...rest] = collector.escaped();
    expect(rest).toEqual([]);
    expect(line).toMatch(/^DELETE FROM messages WHERE topic = 'a': matches no listed statement/);
    expect(line).toContain("routed");
    expect(line).toContain("bounded-change");
  });

  test("finds one that keeps the rules but is not listed", () => {
    const collector = setup();
    collector.seen("SELECT topic FROM topics WHERE tenant = 'acme' LIMIT 1");
    expect(collector.escaped()).toEqual([
      "SELECT topic FROM topics WHERE tenant = 'acme' LIMIT 1: matches no listed statement",
    ]);
  });

  test("finds what is no SQL, and a listed one of two tenants", () => {
    const collector = setup();
    collector.seen("SELECT 'open");
    collector.seen("INSERT INTO topics (tenant, topic) VALUES ('acme', 'a'), ('demo', 'a')");
    const lines = collector.escaped();
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("is no SQL");
    expect(lines[1]).toContain("write: names 2 tenants at once");
  });

  test("keeps a bounded number of them, and counts the others", () => {
    const collector = setup();
    for (let column = 0; column < 105; column++) collector.seen(`SELECT a${column} FROM topics`);
    expect(collector.escaped()).toHaveLength(101);
    expect(collector.escaped().at(-1)).toBe("and 5 more");
  });
});
