import { describe, expect, test } from "vitest";
import { brokenRules } from "./planted.ts";

const OF_TOPIC = "tenant = ? AND topic = ?";

describe("statements in order", () => {
  test.each([
    `SELECT message_offset, body FROM messages WHERE ${OF_TOPIC} AND message_offset > ? ORDER BY message_offset LIMIT ?`,
    `SELECT body FROM messages FORCE INDEX (messages_by_partition) WHERE ${OF_TOPIC} LIMIT 1`,
    `SELECT max(message_offset) AS highest FROM messages WHERE ${OF_TOPIC}`,
    `SELECT count(*) AS n FROM (SELECT message_offset FROM messages WHERE ${OF_TOPIC} LIMIT ?) AS counted`,
    `SELECT body FROM messages WHERE ${OF_TOPIC} AND message_offset IN (?, ?)`,
    "SELECT body FROM messages WHERE (tenant, topic, message_offset) IN ((?, ?, ?)) AND tenant = ?",
    `SELECT body FROM messages WHERE ${OF_TOPIC} AND message_offset >= ? AND message_offset <= ?`,
    `(SELECT body FROM messages WHERE ${OF_TOPIC} LIMIT ?) UNION ALL (SELECT body FROM messages WHERE ${OF_TOPIC} LIMIT ?)`,
    "SELECT m.body FROM topics AS t LEFT JOIN messages AS m ON m.tenant = ? WHERE t.tenant = ? LIMIT ?",
    "SELECT m.body FROM topics AS t JOIN messages AS m ON m.tenant = t.tenant AND m.topic = t.topic WHERE t.tenant = ? LIMIT ?",
    "SELECT m.body FROM messages AS m, topics AS t WHERE m.tenant = t.tenant AND ? = t.tenant LIMIT ?",
    `SELECT m.body FROM (SELECT ? AS place UNION ALL SELECT ?) AS w
     JOIN messages AS m ON m.tenant = ? AND m.topic = ? AND m.message_offset = w.place`,
    "SELECT m.body FROM (SELECT tenant, topic FROM topics WHERE tenant = ? LIMIT ?) AS t JOIN messages AS m ON m.tenant = t.tenant LIMIT ?",
    "SELECT topic FROM topics AS t WHERE t.tenant = ? AND NOT EXISTS (SELECT 1 FROM messages WHERE tenant = ? AND topic = ?) LIMIT ?",
    "INSERT INTO topics (tenant, topic, retention_ms) VALUES (?, ?, ?), (?, ?, 0) ON DUPLICATE KEY UPDATE retention_ms = VALUES(retention_ms)",
    "INSERT INTO messages (tenant, topic, message_offset) VALUES (?, ?, last_insert_id(timestampdiff(microsecond, '2020-01-01', utc_timestamp(6))))",
    `INSERT INTO messages (topic, tenant, body) SELECT ?, s.tenant, s.body FROM messages AS s
     WHERE s.tenant = ? AND s.topic = ? AND s.message_offset IN (?, ?)`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset BETWEEN ? AND ?`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset > ? AND message_offset < ?`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset IN (?, ?)`,
    "DELETE FROM messages WHERE tenant = ? ORDER BY message_offset LIMIT ?",
    `UPDATE topics SET retention_ms = ? WHERE ${OF_TOPIC}`,
    `SELECT STRAIGHT_JOIN m.body FROM topics AS t JOIN messages AS m ON m.tenant = t.tenant WHERE t.tenant = ? LIMIT 1`,
    `SELECT replace(topic, 'a', 'b') AS x FROM topics WHERE ${OF_TOPIC}`,
  ])("%s", (sql) => {
    expect(brokenRules(sql)).toEqual([]);
  });
});

describe("each table is bound to the tenant", () => {
  test.each([
    ["no tenant", "SELECT body FROM messages WHERE topic = ? LIMIT ?"],
    ["no condition", "SELECT body FROM messages LIMIT ?"],
    ["an OR", "SELECT body FROM messages WHERE tenant = ? OR topic = ? LIMIT ?"],
    [
      "an OR behind an AND",
      "SELECT body FROM messages WHERE tenant = ? AND topic = ? OR message_offset = ? LIMIT ?",
    ],
    ["a NOT", "SELECT body FROM messages WHERE NOT (tenant = ?) LIMIT ?"],
    ["a range of tenants", "SELECT body FROM messages WHERE tenant >= ? AND topic = ? LIMIT ?"],
    ["a list of tenants", "SELECT body FROM messages WHERE tenant IN (?, ?) LIMIT ?"],
    ["a function of the tenant", "SELECT body FROM messages WHERE lower(tenant) = ? LIMIT ?"],
    ["a tenant that is no parameter", "SELECT body FROM messages WHERE tenant = 'acme' LIMIT ?"],
    ["a tenant equal to itself", "SELECT body FROM messages WHERE tenant = tenant LIMIT ?"],
    ["a tenant equal to another column", "SELECT body FROM messages WHERE tenant = topic LIMIT ?"],
    [
      "a join without the tenant",
      "SELECT m.body FROM topics AS t JOIN messages AS m ON m.topic = t.topic WHERE t.tenant = ? LIMIT ?",
    ],
    [
      "two joined tables that nothing binds",
      "SELECT m.body FROM topics AS t JOIN messages AS m ON m.tenant = t.tenant LIMIT ?",
    ],
    [
      "a tenant of one of two tables, not said which",
      "SELECT m.body FROM topics AS t JOIN messages AS m ON m.topic = t.topic WHERE tenant = ? LIMIT ?",
    ],
    [
      "a tenant that may be either table's",
      "SELECT m.body FROM topics AS t JOIN messages AS m ON m.tenant = t.tenant WHERE tenant = ? LIMIT ?",
    ],
    [
      "the kept side of an outer join",
      "SELECT m.body FROM topics AS t LEFT JOIN messages AS m ON m.tenant = ? AND t.tenant = ? LIMIT ?",
    ],
    [
      "the condition of a RIGHT JOIN",
      "SELECT m.body FROM topics AS t RIGHT JOIN messages AS m ON m.tenant = ? WHERE t.tenant = ? LIMIT ?",
    ],
    ["a comma join", "SELECT m.body FROM topics AS t, messages AS m WHERE t.tenant = ? LIMIT ?"],
    [
      "one arm of a union",
      `(SELECT body FROM messages WHERE ${OF_TOPIC} LIMIT ?) UNION ALL (SELECT body FROM messages WHERE topic = ? LIMIT ?)`,
    ],
    [
      "a derived table",
      "SELECT d.body FROM (SELECT body FROM messages WHERE topic = ? LIMIT ?) AS d LIMIT ?",
    ],
    [
      "a derived table of values",
      "SELECT m.body FROM (SELECT ? AS tenant) AS w JOIN messages AS m ON m.tenant = w.tenant LIMIT ?",
    ],
    [
      "a derived table of an unbound one",
      "SELECT m.body FROM (SELECT tenant FROM topics WHERE topic = ? LIMIT ?) AS d JOIN messages AS m ON m.tenant = d.tenant LIMIT ?",
    ],
    [
      "a sub-query",
      `SELECT topic FROM topics WHERE ${OF_TOPIC} AND EXISTS (SELECT 1 FROM messages WHERE topic = ?)`,
    ],
    ["no table", "SELECT utc_timestamp(6) AS now"],
    ["a derived table without a table", "SELECT w.a FROM (SELECT ? AS a) AS w LIMIT 1"],
    ["UPDATE", "UPDATE topics SET retention_ms = ? WHERE topic = ? LIMIT 1"],
    ["DELETE", "DELETE FROM messages WHERE topic = ? LIMIT ?"],
    ["a new tenant in UPDATE", `UPDATE topics SET tenant = ? WHERE ${OF_TOPIC}`],
    [
      "a new tenant in ON DUPLICATE KEY UPDATE",
      "INSERT INTO topics (tenant, topic) VALUES (?, ?) ON DUPLICATE KEY UPDATE tenant = VALUES(tenant)",
    ],
    ["INSERT without the tenant", "INSERT INTO topics (topic) VALUES (?)"],
    ["INSERT without columns", "INSERT INTO topics VALUES (?, ?, ?)"],
    ["one row whose tenant is no parameter", "INSERT INTO topics (tenant, topic) VALUES (?, ?), ('acme', ?)"],
    [
      "INSERT ... SELECT of a parameter as tenant",
      "INSERT INTO topics (tenant, topic) SELECT ?, topic FROM topics WHERE tenant = ? LIMIT ?",
    ],
    [
      "INSERT ... SELECT that swaps columns",
      "INSERT INTO topics (tenant, topic) SELECT topic, tenant FROM topics WHERE tenant = ? LIMIT ?",
    ],
    [
      "INSERT ... SELECT of an unbound table",
      "INSERT INTO topics (tenant, topic) SELECT tenant, topic FROM topics WHERE topic = ? LIMIT ?",
    ],
  ])("not with %s", (_what, sql) => {
    expect(brokenRules(sql)).toEqual(["routed"]);
  });
});

describe("each change has a bound", () => {
  test.each([
    `DELETE FROM messages WHERE ${OF_TOPIC}`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset <= ?`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset >= ? AND message_offset > ?`,
    "DELETE FROM messages WHERE tenant = ? AND message_offset BETWEEN ? AND ?",
    `DELETE FROM messages WHERE ${OF_TOPIC} AND partition_key = ?`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset <> ?`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset NOT IN (?, ?)`,
    `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset NOT BETWEEN ? AND ?`,
    "UPDATE topics SET retention_ms = ? WHERE tenant = ?",
    "DELETE FROM topics WHERE tenant = ? AND message_offset BETWEEN ? AND ?",
  ])("%s", (sql) => {
    expect(brokenRules(sql)).toEqual(["bounded-change"]);
  });
});

describe("each read has a bound", () => {
  test.each([
    `SELECT body FROM messages WHERE ${OF_TOPIC}`,
    `SELECT body FROM messages WHERE ${OF_TOPIC} AND message_offset > ?`,
    `SELECT count(*) AS n FROM messages WHERE ${OF_TOPIC}`,
    `SELECT sum(message_offset) AS n, max(message_offset) AS m FROM messages WHERE ${OF_TOPIC}`,
    `SELECT topic, max(message_offset) AS n FROM messages WHERE tenant = ? GROUP BY tenant, topic`,
    `SELECT d.body FROM (SELECT body FROM messages WHERE ${OF_TOPIC}) AS d LIMIT ?`,
    `(SELECT body FROM messages WHERE ${OF_TOPIC} LIMIT ?) UNION ALL (SELECT body FROM messages WHERE ${OF_TOPIC})`,
    `(SELECT body FROM messages WHERE ${OF_TOPIC}) UNION ALL (SELECT body FROM messages WHERE ${OF_TOPIC}) LIMIT ?`,
    `SELECT m.body FROM (SELECT ? AS topic) AS w JOIN messages AS m ON m.tenant = ? AND m.topic = w.topic`,
    `SELECT topic FROM topics WHERE ${OF_TOPIC} AND retention_ms IN (SELECT message_offset FROM messages WHERE tenant = ?)`,
    "INSERT INTO topics (tenant, topic) SELECT tenant, topic FROM topics WHERE tenant = ?",
    `SELECT m.body FROM messages AS m LEFT JOIN topics AS t
     ON t.tenant = ? AND t.topic = ? AND m.topic = ? AND m.message_offset = ? WHERE m.tenant = ?`,
  ])("%s", (sql) => {
    expect(brokenRules(sql)).toEqual(["bounded-read"]);
  });
});

describe("what Vitess refuses, or is not to be relied on", () => {
  const one = `SELECT max(message_offset) FROM messages WHERE ${OF_TOPIC}`;
  test.each([
    ["no-sub-query", `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset = (${one}) LIMIT 1`],
    ["no-sub-query", `DELETE FROM messages WHERE ${OF_TOPIC} AND message_offset IN (${one}) LIMIT 1`],
    ["no-sub-query", `UPDATE topics SET retention_ms = (${one}) WHERE ${OF_TOPIC}`],
    ["no-sub-query", `INSERT INTO topics (tenant, topic, retention_ms) VALUES (?, ?, (${one}))`],
    [
      "no-sub-query",
      `INSERT INTO topics (tenant, topic) VALUES (?, ?) ON DUPLICATE KEY UPDATE retention_ms = (${one})`,
    ],
    ["no-sub-query", `SELECT topic FROM topics WHERE tenant = ? ORDER BY (${one}) LIMIT 1`],
    [
      "no-sub-query",
      `SELECT topic FROM topics WHERE ${OF_TOPIC} AND retention_ms IN (SELECT message_offset FROM messages WHERE tenant = ? LIMIT 1)`,
    ],
    [
      "no-sub-query",
      `SELECT topic FROM topics WHERE ${OF_TOPIC} AND retention_ms NOT IN (SELECT message_offset FROM messages WHERE tenant = ? LIMIT 1)`,
    ],
    [
      "no-sub-query",
      `SELECT topic FROM topics WHERE ${OF_TOPIC} AND retention_ms = (${one} UNION ALL ${one})`,
    ],
    [
      "no-sub-query",
      `SELECT t.topic, (SELECT max(message_offset) FROM messages WHERE tenant = ? AND topic = t.topic) AS n FROM topics AS t WHERE t.tenant = ? LIMIT 1`,
    ],
    [
      "no-with",
      "WITH w AS (SELECT topic FROM topics WHERE tenant = ? LIMIT 1) SELECT topic FROM topics WHERE tenant = ? LIMIT 1",
    ],
    [
      "one-table",
      "UPDATE topics AS t JOIN messages AS m ON m.tenant = t.tenant SET t.retention_ms = 1 WHERE t.tenant = ? LIMIT 1",
    ],
    [
      "one-table",
      "DELETE t FROM topics AS t JOIN messages AS m ON m.tenant = t.tenant WHERE t.tenant = ? LIMIT 1",
    ],
    [
      "no-using",
      "SELECT m.body FROM topics AS t JOIN messages AS m USING (topic) WHERE t.tenant = ? AND m.tenant = ? LIMIT 1",
    ],
    ["no-natural-join", "SELECT body FROM topics NATURAL JOIN messages WHERE tenant = ? LIMIT 1"],
    [
      "no-outer-derived",
      "SELECT m.body FROM (SELECT ? AS a) AS w LEFT JOIN messages AS m ON m.tenant = ? AND m.topic = w.a LIMIT 1",
    ],
    ["no-star", "SELECT * FROM topics WHERE tenant = ? LIMIT 1"],
    ["no-star", "SELECT t.* FROM topics AS t WHERE t.tenant = ? LIMIT 1"],
    ["no-star", "SELECT d.topic FROM (SELECT * FROM topics WHERE tenant = ? LIMIT 1) AS d LIMIT 1"],
    ["no-locks", "SELECT topic FROM topics WHERE tenant = ? LIMIT 1 FOR UPDATE"],
    ["no-locks", "SELECT topic FROM topics WHERE tenant = ? LIMIT 1 FOR SHARE"],
    ["no-locks", "SELECT topic FROM topics WHERE tenant = ? LIMIT 1 LOCK IN SHARE MODE"],
    ["no-returning", "DELETE FROM topics WHERE tenant = ? LIMIT 1 RETURNING topic"],
    ["no-last-insert-id", "SELECT last_insert_id() AS id FROM topics WHERE tenant = ? LIMIT 1"],
    ["no-insert-ignore", "INSERT IGNORE INTO topics (tenant, topic) VALUES (?, ?)"],
    ["no-replace", "REPLACE INTO topics (tenant, topic) VALUES (?, ?)"],
    ["no-replace", "REPLACE topics (tenant, topic) VALUES (?, ?)"],
    [
      "one-statement",
      "DELETE FROM topics WHERE tenant = ? LIMIT 1; DELETE FROM topics WHERE tenant = ? LIMIT 1",
    ],
    ["no-calc-found-rows", "SELECT SQL_CALC_FOUND_ROWS topic FROM topics WHERE tenant = ? LIMIT 1"],
    ["no-variables", "SELECT topic, @@version AS v FROM topics WHERE tenant = ? LIMIT 1"],
    ["no-variables", "SELECT topic, @place := ? AS v FROM topics WHERE tenant = ? LIMIT 1"],
    ["known-tables", "SELECT topic FROM others WHERE tenant = ? LIMIT 1"],
    [
      "known-tables",
      `SELECT topic FROM topics WHERE ${OF_TOPIC} AND EXISTS (SELECT 1 FROM others WHERE tenant = ?)`,
    ],
    ["known-indexes", "SELECT topic FROM topics FORCE INDEX (topics_by_age) WHERE tenant = ? LIMIT 1"],
    ["readable", "DROP TABLE topics"],
    ["readable", "SELECT topic FROM"],
    ["readable", "SELECT 'open FROM topics WHERE tenant = ?"],
    ["readable", ""],
  ])("%s: %s", (rule, sql) => {
    expect(brokenRules(sql)).toEqual([rule]);
  });

  test("SKIP LOCKED is said on its own, beside the lock", () => {
    expect(brokenRules("SELECT topic FROM topics WHERE tenant = ? LIMIT 1 FOR UPDATE SKIP LOCKED")).toEqual([
      "no-locks",
      "no-skip-locked",
    ]);
  });

  test("words in a string or a comment are nobody's business", () => {
    const sql = "SELECT 'FOR UPDATE; RETURNING' AS x FROM topics /* SKIP LOCKED */ WHERE tenant = ? LIMIT 1";
    expect(brokenRules(sql)).toEqual([]);
  });
});
