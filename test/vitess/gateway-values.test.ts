import { expect, test } from "vitest";
import { client, gatewayPlace, refusal } from "./gateway-place.ts";

const place = gatewayPlace();
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);

/** Type and value of a column that holds the literal. */
async function roundTrip(column: string, literal: string) {
  const connection = client(await place.start());
  const table = await place.makeTable(`v ${column}`);
  await connection.execute(`INSERT INTO ${table} VALUES (${literal})`);
  const { rows, types } = await connection.execute<{ v: unknown }>(`SELECT v FROM ${table}`);
  return { type: types.v, value: rows[0]?.v };
}

test.each([
  ["TINYINT", "-128", "INT8", -128],
  ["TINYINT UNSIGNED", "255", "UINT8", 255],
  ["SMALLINT", "-32768", "INT16", -32768],
  ["SMALLINT UNSIGNED", "65535", "UINT16", 65535],
  ["MEDIUMINT", "-8388608", "INT24", -8388608],
  ["MEDIUMINT UNSIGNED", "16777215", "UINT24", 16777215],
  ["INT", "-2147483648", "INT32", -2147483648],
  ["INT UNSIGNED", "4294967295", "UINT32", 4294967295],
  ["BIGINT", "-9223372036854775808", "INT64", "-9223372036854775808"],
  ["BIGINT UNSIGNED", "18446744073709551615", "UINT64", "18446744073709551615"],
  ["DECIMAL(30,10)", "-12345678901234567890.1234567890", "DECIMAL", "-12345678901234567890.1234567890"],
  ["FLOAT", "1.5", "FLOAT32", 1.5],
  ["DOUBLE", "-1.25e300", "FLOAT64", -1.25e300],
  ["YEAR", "2026", "YEAR", 2026],
  ["DATE", "'2026-02-28'", "DATE", "2026-02-28"],
  ["TIME(3)", "'-12:34:56.789'", "TIME", "-12:34:56.789"],
  ["DATETIME(6)", "'2026-02-28 23:59:59.999999'", "DATETIME", "2026-02-28 23:59:59.999999"],
  ["TIMESTAMP(3) NULL", "'2026-02-28 23:59:59.999'", "TIMESTAMP", "2026-02-28 23:59:59.999"],
  ["CHAR(3)", "'abc'", "CHAR", "abc"],
  ["VARCHAR(9)", "'é😀'", "VARCHAR", "é😀"],
  ["VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin", "'abc'", "VARCHAR", "abc"],
  ["VARCHAR(9) COLLATE utf8mb4_bin", "'é😀'", "VARCHAR", "é😀"],
  ["VARCHAR(9)", "''", "VARCHAR", ""],
  ["MEDIUMTEXT", "'long'", "TEXT", "long"],
  ["ENUM('a','b')", "'b'", "ENUM", "b"],
  ["SET('a','b')", "'a,b'", "SET", "a,b"],
  ["JSON", `'{"a": [1, null]}'`, "JSON", { a: [1, null] }],
  ["INT", "NULL", "INT32", null],
  ["VARCHAR(9)", "NULL", "VARCHAR", null],
  ["BLOB", "NULL", "BLOB", null],
])("%s holding %s", async (column, literal, type, value) => {
  expect(await roundTrip(column, literal)).toEqual({ type, value });
});

test.each(["VARBINARY(256)", "BLOB", "MEDIUMBLOB"])("%s keeps every byte", async (column) => {
  const connection = client(await place.start());
  const table = await place.makeTable(`v ${column}`);
  await connection.execute(`INSERT INTO ${table} VALUES (?)`, [ALL_BYTES]);
  const { rows, types } = await connection.execute<{ v: Uint8Array }>(`SELECT v FROM ${table}`);
  expect(types.v).toBe(column.startsWith("VARBINARY") ? "VARBINARY" : "BLOB");
  expect(rows[0]?.v).toEqual(ALL_BYTES);
});

test("bytes of no length, and a body of a mebibyte", async () => {
  const connection = client(await place.start());
  const table = await place.makeTable("i INT PRIMARY KEY, v MEDIUMBLOB");
  const large = Uint8Array.from({ length: 1024 * 1024 }, (_, at) => (at * 7919) & 255);
  await connection.execute(`INSERT INTO ${table} VALUES (1, ''), (2, ?)`, [large]);
  const { rows } = await connection.execute<{ v: Uint8Array }>(`SELECT v FROM ${table} ORDER BY i`);
  expect(rows[0]?.v).toHaveLength(0);
  expect(Buffer.from(rows[1]?.v ?? []).equals(large)).toBe(true);
});

test("NULL of no type, several columns in order, and columns of one name", async () => {
  const connection = client(await place.start());
  const { rows, fields } = await connection.execute("SELECT NULL, 'a' AS x, '' AS y, 2 AS x", null, {
    as: "array",
  });
  expect(fields.map(({ name, type }) => [name, type])).toEqual([
    ["NULL", "NULL"],
    ["x", "VARCHAR"],
    ["y", "VARCHAR"],
    ["x", "INT32"],
  ]);
  expect(rows).toEqual([[null, "a", "", 2]]);
});

test("an empty result has its fields, which say where they are from", async () => {
  const connection = client(await place.start());
  const table = await place.makeTable("id INT PRIMARY KEY, v VARCHAR(9)");
  const result = await connection.execute(`SELECT v AS w FROM ${table} AS other`);
  expect(result.rows).toEqual([]);
  expect(result.fields[0]).toMatchObject({
    name: "w",
    orgName: "v",
    table: "other",
    orgTable: table,
    database: "shop",
    type: "VARCHAR",
    columnLength: 36,
  });
});

test("rows affected are those changed", async () => {
  const connection = client(await place.start());
  const table = await place.makeTable("id INT PRIMARY KEY, v INT");
  const affected = async (sql: string) => (await connection.execute(sql)).rowsAffected;
  expect(await affected(`INSERT INTO ${table} VALUES (1, 1), (2, 2), (3, 3)`)).toBe(3);
  expect(await affected(`UPDATE ${table} SET v = 1`)).toBe(2);
  expect(await affected(`UPDATE ${table} SET v = 1`)).toBe(0);
  expect(await affected(`INSERT INTO ${table} VALUES (1, 1) ON DUPLICATE KEY UPDATE v = 1`)).toBe(0);
  expect(await affected(`INSERT INTO ${table} VALUES (1, 1) ON DUPLICATE KEY UPDATE v = 9`)).toBe(2);
  expect(await affected(`INSERT INTO ${table} VALUES (4, 1) ON DUPLICATE KEY UPDATE v = 9`)).toBe(1);
  expect(await affected(`INSERT IGNORE INTO ${table} VALUES (4, 1), (5, 1)`)).toBe(1);
  expect(await affected(`DELETE FROM ${table} WHERE id > 3`)).toBe(2);
  expect(await affected(`SELECT * FROM ${table}`)).toBe(0);
});

test("the insert ID is what LAST_INSERT_ID was given, to its last digit", async () => {
  const connection = client(await place.start());
  const table = await place.makeTable("id BIGINT UNSIGNED PRIMARY KEY");
  const insertId = async (sql: string) => (await connection.execute(sql)).insertId;
  expect(await insertId(`INSERT INTO ${table} VALUES (7)`)).toBe("0");
  expect(await insertId(`INSERT INTO ${table} VALUES (LAST_INSERT_ID(8)), (9)`)).toBe("8");
  for (const id of ["4294967296", "9007199254740993", "9223372036854775808", "18446744073709551615"]) {
    expect(await insertId(`INSERT INTO ${table} VALUES (LAST_INSERT_ID(${id}))`)).toBe(id);
  }
  expect(await insertId(`UPDATE ${table} SET id = LAST_INSERT_ID(10) WHERE id = 9`)).toBe("10");
  const { rows } = await connection.execute<{ id: string }>(
    `SELECT id FROM ${table} ORDER BY id DESC LIMIT 1`,
  );
  expect(rows[0]?.id).toBe("18446744073709551615");
});

test("every connection is in UTC, in PlanetScale's SQL mode, in utf8mb4", async () => {
  const connection = client(await place.start());
  const { rows } = await connection.execute(
    "SELECT @@time_zone, @@sql_mode, @@character_set_client, @@character_set_results, @@autocommit",
    null,
    { as: "array" },
  );
  expect(rows).toEqual([
    [
      "+00:00",
      "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
      "utf8mb4",
      "utf8mb4",
      "1",
    ],
  ]);
});

test("SQL goes to the database as it came", async () => {
  const connection = client(await place.start());
  const { rows } = await connection.execute("SELECT '?' AS a, ':b' AS b, '\\0\\n''' AS c, '😀' AS d");
  expect(rows).toEqual([{ a: "?", b: ":b", c: "\0\n'", d: "😀" }]);
});

test.each([
  ["SELECT * FROM nothing", "code = NotFound desc = Table 'shop.nothing' doesn't exist (errno 1146)"],
  ["SELECT", "code = InvalidArgument desc = You have an error in your SQL syntax"],
  ["SELECT 1; SELECT 2", "code = InvalidArgument desc = You have an error in your SQL syntax"],
  ["", "(errno 1065)"],
  ["SET autocommit = 0", "VT12001: unsupported"],
  ["USE mysql", "VT12001: unsupported"],
  ["LOCK TABLES x WRITE", "VT12001: unsupported"],
  ["/*!40101 SET autocommit = 0 */", "VT12001: unsupported"],
])("%j is refused", async (sql, reason) => {
  const gateway = await place.start();
  const error = await refusal(client(gateway).execute(sql));
  expect(error.message).toContain(reason);
  expect(error.status).toBe(400);
  expect(error.body.code).toBe("UNKNOWN");
});

test("a duplicate key says so as PlanetScale does, and the connection goes on", async () => {
  const connection = client(await place.start());
  const table = await place.makeTable("id INT PRIMARY KEY, v VARCHAR(9), UNIQUE KEY by_v (v)");
  await connection.execute(`INSERT INTO ${table} VALUES (1, 'a')`);
  const error = await refusal(connection.execute(`INSERT INTO ${table} VALUES (2, 'a')`));
  expect(error.message).toBe(
    "target: shop.-.primary: vttablet: rpc error: code = AlreadyExists desc = Duplicate entry 'a' for key 'by_v' (errno 1062) (sqlstate 23000) (CallerID: app)",
  );
  expect((await connection.execute("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});
