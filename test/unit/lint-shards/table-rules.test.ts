import { describe, expect, test } from "vitest";
import { checkObjectTables } from "../../../scripts/lint-shards/object-table-rules.ts";
import { keyPartBytes, MAX_KEY_BYTES, tableViolations } from "../../../scripts/lint-shards/table-rules.ts";
import { vschemaViolations } from "../../../scripts/lint-shards/vschema-rules.ts";
import { parseCreateTable, UnreadableTable } from "../../../scripts/schema/create-table.ts";
import { MESSAGES, TABLES, TOPICS } from "./planted.ts";

function rules(sql: string): string[] {
  return tableViolations("planted.sql", parseCreateTable(sql)).map(({ rule }) => rule);
}

describe("a table", () => {
  test("that keeps every rule has no violation", () => {
    expect(rules(MESSAGES)).toEqual([]);
    expect(rules(TOPICS)).toEqual([]);
  });

  test.each([
    [
      "a primary key",
      "PRIMARY KEY (tenant, topic, message_offset)",
      "PRIMARY KEY (topic, tenant, message_offset)",
    ],
    [
      "a unique key",
      "KEY messages_by_partition (tenant,",
      "UNIQUE KEY messages_by_partition (partition_key,",
    ],
    ["a key that begins with a part of tenant", "PRIMARY KEY (tenant,", "PRIMARY KEY (tenant(8),"],
  ])("%s is led by the tenant", (_what, good, planted) => {
    expect(MESSAGES).toContain(good);
    expect(rules(MESSAGES.replace(good, planted))).toContain("tenant-leads-keys");
  });

  test("has a primary key", () => {
    expect(rules(MESSAGES.replace("PRIMARY KEY", "KEY messages_first"))).toContain("tenant-leads-keys");
  });

  test("has no secondary index without the tenant before all else", () => {
    const planted = MESSAGES.replace(
      "KEY messages_by_partition (tenant, topic,",
      "KEY messages_by_partition (topic,",
    );
    expect(rules(planted)).toEqual(["tenant-leads-indexes"]);
  });

  test("has no AUTO_INCREMENT", () => {
    expect(
      rules(
        MESSAGES.replace("message_offset BIGINT NOT NULL", "message_offset BIGINT NOT NULL AUTO_INCREMENT"),
      ),
    ).toEqual(["no-auto-increment"]);
  });

  test("has no foreign key", () => {
    const planted = MESSAGES.replace(
      "\n) ENGINE",
      ",\n  FOREIGN KEY (tenant, topic) REFERENCES topics (tenant, topic)\n) ENGINE",
    );
    expect(rules(planted)).toEqual(["no-foreign-key"]);
  });

  test("says of each column and index what it is for", () => {
    expect(rules(MESSAGES.replace("  -- Its place.\n", ""))).toEqual(["comments"]);
    expect(rules(MESSAGES.replace("  -- Serves: scan a partition.\n", ""))).toEqual(["comments"]);
    expect(rules(TOPICS.replace("COMMENT 'Its name.'", ""))).toEqual(["comments"]);
  });

  test("has a tenant that is compared byte for byte and never NULL", () => {
    expect(rules(MESSAGES.replace("ascii_bin NOT NULL", "ascii_general_ci NOT NULL"))).toEqual([
      "tenant-column",
    ]);
    expect(
      rules(
        MESSAGES.replace("CHARACTER SET ascii COLLATE ascii_bin NOT NULL", "CHARACTER SET ascii NOT NULL"),
      ),
    ).toEqual(["tenant-column"]);
    const nullable = `CREATE TABLE t (tenant VARBINARY(64) NULL COMMENT 'x', a INT NOT NULL COMMENT 'x',
      PRIMARY KEY (a) COMMENT 'x')`;
    expect(rules(nullable)).toEqual(["tenant-leads-keys", "tenant-column"]);
    expect(rules("CREATE TABLE t (a INT NOT NULL COMMENT 'x', PRIMARY KEY (a) COMMENT 'x')")).toContain(
      "tenant-column",
    );
  });
});

describe("a key's length", () => {
  const table = parseCreateTable(`CREATE TABLE sizes (
    a VARCHAR(64) CHARACTER SET ascii NOT NULL, b VARCHAR(255) CHARACTER SET utf8mb4 NULL, c CHAR(10) NOT NULL,
    d BIGINT UNSIGNED NOT NULL, e INT NULL, f DATETIME(6) NOT NULL, g VARBINARY(20) NOT NULL, h TEXT NOT NULL,
    i BINARY(16) NOT NULL, j DATETIME NULL, k TINYINT(1) NOT NULL, l MEDIUMBLOB NOT NULL
  ) DEFAULT CHARACTER SET utf8mb4`);
  const bytes = (column: string, prefix: number | null = null) =>
    keyPartBytes(table, { column, prefix, descending: false });

  test("is computed in bytes", () => {
    expect(bytes("a")).toBe(64 + 2);
    expect(bytes("b")).toBe(255 * 4 + 2 + 1);
    expect(bytes("b", 10)).toBe(10 * 4 + 2 + 1);
    expect(bytes("c")).toBe(40);
    expect([bytes("d"), bytes("e"), bytes("k")]).toEqual([8, 5, 1]);
    expect([bytes("f"), bytes("j")]).toEqual([8, 6]);
    expect([bytes("g"), bytes("i")]).toEqual([22, 16]);
    expect([bytes("h", 5), bytes("l", 5)]).toEqual([22, 7]);
  });

  test("is not known for a whole TEXT or BLOB", () => {
    expect([bytes("h"), bytes("l")]).toEqual([null, null]);
    expect(
      rules(MESSAGES.replace("(tenant, topic, partition_key, message_offset)", "(tenant, body)")),
    ).toEqual(["key-bytes"]);
  });

  test(`is under ${MAX_KEY_BYTES}`, () => {
    // 66 of the tenant, and the rest of the column: one byte is the difference.
    const withKey = (characters: number) =>
      rules(`CREATE TABLE t (tenant VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'x',
        a VARBINARY(${characters}) NOT NULL COMMENT 'x', PRIMARY KEY (tenant, a) COMMENT 'x')`);
    expect(withKey(3072 - 66 - 2 - 1)).toEqual([]);
    expect(withKey(3072 - 66 - 2)).toEqual(["key-bytes"]);
  });
});

describe("a file", () => {
  test.each([
    ["two tables", `${TOPICS}${MESSAGES}`],
    ["another statement", "DROP TABLE topics"],
    ["no SQL", "CREATE TABLE ("],
    ["a key on no column", "CREATE TABLE t (a INT, PRIMARY KEY (b))"],
  ])("with %s is not read", (_what, sql) => {
    expect(() => parseCreateTable(sql)).toThrow(UnreadableTable);
  });

  test("that is not read is told with its line", () => {
    const sql = TOPICS.trim().replace("retention_ms BIGINT", "retention_ms BIG INT");
    expect(() => parseCreateTable(sql)).toThrow(/^line 4: not read from "/);
  });
});

describe("the vschema", () => {
  const good = () => ({
    sharded: true as unknown,
    vindexes: { by_tenant: { type: "xxhash" } } as Record<string, unknown>,
    tables: {
      messages: { column_vindexes: [{ column: "tenant", name: "by_tenant" }] },
      topics: { column_vindexes: [{ columns: ["tenant"], name: "by_tenant" }] },
    } as Record<string, unknown>,
  });
  const check = (change: (vschema: ReturnType<typeof good>) => void) => {
    const vschema = good();
    change(vschema);
    return vschemaViolations("vschema.json", JSON.stringify(vschema), [...TABLES.values()]).map(
      ({ rule }) => rule,
    );
  };

  test("that agrees with the SQL has no violation", () => {
    expect(check(() => {})).toEqual([]);
  });

  test("is JSON", () => {
    expect(vschemaViolations("vschema.json", "{", []).map(({ rule }) => rule)).toEqual(["vschema"]);
    expect(vschemaViolations("vschema.json", "[]", []).map(({ rule }) => rule)).toEqual(["vschema"]);
  });

  test("says that the keyspace is sharded, and nothing that the SQL has not", () => {
    expect(check((vschema) => Object.assign(vschema, { sharded: false }))).toEqual(["vschema"]);
    expect(check((vschema) => Object.assign(vschema, { foreign_key_mode: "managed" }))).toEqual(["vschema"]);
    expect(check((vschema) => Object.assign(vschema.tables.topics as object, { type: "reference" }))).toEqual(
      ["vschema"],
    );
  });

  test("has the tables of the SQL, no fewer and no more", () => {
    expect(check(({ tables }) => delete tables.topics)).toEqual(["vschema-tables"]);
    expect(check(({ tables }) => Object.assign(tables, { other: tables.topics }))).toEqual([
      "vschema-tables",
    ]);
  });

  test.each([
    "hash",
    "numeric",
    "unicode_loose_xxhash",
    "unicode_loose_md5",
    "binary",
    "lookup_unique",
    "xxHash",
  ])("has no vindex of type %s", (type) => {
    expect(check(({ vindexes }) => Object.assign(vindexes, { by_tenant: { type } }))).toEqual([
      "vschema-vindex",
    ]);
  });

  test("has one column vindex for each table, on tenant alone, that is defined", () => {
    const table = (value: unknown) => check(({ tables }) => Object.assign(tables, { topics: value }));
    expect(table({})).toEqual(["vschema-vindex"]);
    expect(table({ column_vindexes: [{ column: "topic", name: "by_tenant" }] })).toEqual(["vschema-vindex"]);
    expect(table({ column_vindexes: [{ columns: ["tenant", "topic"], name: "by_tenant" }] })).toEqual([
      "vschema-vindex",
    ]);
    const two = [
      { column: "tenant", name: "by_tenant" },
      { column: "topic", name: "by_tenant" },
    ];
    expect(table({ column_vindexes: two })).toEqual(["vschema-vindex"]);
    expect(table({ column_vindexes: [{ column: "tenant", name: "unknown" }] })).toEqual(["vschema-vindex"]);
    expect(check(({ vindexes }) => Object.assign(vindexes, { spare: { type: "xxhash" } }))).toEqual([
      "vschema-vindex",
    ]);
  });

  test("has no sequence", () => {
    const sequence = { auto_increment: { column: "message_offset", sequence: "numbers" } };
    expect(check(({ tables }) => Object.assign(tables.messages as object, sequence))).toEqual([
      "no-sequence",
    ]);
  });
});

describe("the object's tables", () => {
  const check = (...files: string[]) =>
    checkObjectTables(files.map((sql, place) => ({ name: `${place}.sql`, sql })));

  test("are counted, with their keys", () => {
    const result = check(
      "CREATE TABLE a (tenant TEXT, b TEXT, PRIMARY KEY (tenant, b)); CREATE INDEX a_by_b ON a (tenant, b);",
      "ALTER TABLE a ADD COLUMN c TEXT;",
    );
    expect(result).toEqual({ violations: [], tables: 1, keys: 2 });
  });

  test("have keys that are led by the tenant", () => {
    const rulesOf = (sql: string) => check(sql).violations.map(({ rule }) => rule);
    expect(rulesOf("CREATE TABLE a (tenant TEXT, b TEXT, PRIMARY KEY (b, tenant))")).toEqual([
      "tenant-leads-keys",
    ]);
    expect(rulesOf("CREATE TABLE a (tenant TEXT, b TEXT)")).toEqual(["tenant-leads-keys"]);
    expect(
      rulesOf("CREATE TABLE a (tenant TEXT PRIMARY KEY, b TEXT); CREATE INDEX a_by_b ON a (b, tenant)"),
    ).toEqual(["tenant-leads-indexes"]);
    expect(rulesOf("CREATE TABLE a (tenant TEXT PRIMARY KEY, b TEXT UNIQUE)")).toEqual([
      "tenant-leads-indexes",
    ]);
  });

  test("are read by SQLite", () => {
    const { violations } = check("CREATE TABLE a (tenant TEXT PRIMARY KEY)", "CREATE TABLE b (");
    expect(violations.map(({ where, rule }) => [where, rule])).toEqual([["1.sql", "readable"]]);
  });
});
