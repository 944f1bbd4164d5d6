import { describe, expect, test } from "vitest";
import { checkLine } from "../../../scripts/schema/check.ts";
import { parseCreateTable } from "../../../scripts/schema/create-table.ts";
import { probeChecks, probeInsert } from "../../../scripts/schema/probe-row.ts";
import { type ClockReading, clockChecks, serverChecks } from "../../../scripts/schema/server-checks.ts";

const GOOD = {
  autocommit: "ON",
  character_set_client: "utf8mb4",
  character_set_connection: "utf8mb4",
  character_set_results: "utf8mb4",
  innodb_lock_wait_timeout: "50",
  max_allowed_packet: "16777216",
  max_statement_time: "30.000000",
  sql_mode: "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
  tx_isolation: "REPEATABLE-READ",
};

/** What is not ok, with these settings in place of good ones; null takes one away. */
function troubles(change: Record<string, string | null>, horizonMs = 120_000): string[] {
  const variables = new Map(
    Object.entries({ ...GOOD, ...change }).filter(([, value]) => value !== null),
  ) as Map<string, string>;
  return serverChecks(variables, horizonMs)
    .filter(({ state }) => state !== "ok")
    .map(({ name, state }) => `${name} ${state}`);
}

describe("the server's settings", () => {
  test("are ok", () => {
    expect(troubles({})).toEqual([]);
  });

  test("let a full batch in", () => {
    expect(troubles({ max_allowed_packet: "16777215" })).toEqual(["max_allowed_packet failed"]);
    expect(troubles({ max_allowed_packet: null })).toEqual(["max_allowed_packet warning"]);
  });

  test("end every statement before the horizon", () => {
    expect(troubles({}, 80_001)).toEqual([]);
    expect(troubles({}, 80_000)).toEqual(["commit horizon failed"]);
    expect(troubles({ innodb_lock_wait_timeout: "2", max_statement_time: "2.5" }, 5000)).toEqual([]);
    expect(troubles({ innodb_lock_wait_timeout: "3", max_statement_time: "2.5" }, 5000)).toEqual([
      "commit horizon failed",
    ]);
  });

  test("count the gateway's limit where the server has none of its own", () => {
    for (const max_statement_time of [null, "0.000000"]) {
      expect(troubles({ max_statement_time }, 80_001)).toEqual(["commit horizon warning"]);
      expect(troubles({ max_statement_time }, 80_000)).toEqual(["commit horizon failed"]);
    }
    expect(troubles({ innodb_lock_wait_timeout: null })).toEqual(["commit horizon warning"]);
  });

  test.each([
    ["", "failed"],
    ["NO_ENGINE_SUBSTITUTION", "failed"],
    ["STRICT_ALL_TABLES", "ok"],
    ["STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES", "failed"],
    ["STRICT_TRANS_TABLES,ANSI_QUOTES", "warning"],
  ])("sql_mode %s: %s", (sql_mode, state) => {
    expect(troubles({ sql_mode })).toEqual(state === "ok" ? [] : [`sql_mode ${state}`]);
  });

  test.each([
    ["READ-COMMITTED", "ok"],
    ["READ-UNCOMMITTED", "failed"],
    ["SERIALIZABLE", "failed"],
    ["SOMETHING", "warning"],
  ])("isolation %s: %s", (level, state) => {
    const expected = state === "ok" ? [] : [`transaction isolation ${state}`];
    expect(troubles({ tx_isolation: level })).toEqual(expected);
    expect(troubles({ tx_isolation: null, transaction_isolation: level })).toEqual(expected);
  });

  test("speak utf8mb4, and commit by themselves", () => {
    expect(troubles({ character_set_results: "latin1" })).toEqual(["character sets failed"]);
    expect(troubles({ character_set_client: null })).toEqual(["character sets failed"]);
    expect(troubles({ autocommit: "OFF" })).toEqual(["autocommit failed"]);
  });
});

describe("the server's clock", () => {
  const EPOCH_MS = Date.UTC(2020, 0, 1);
  const at = (offset: number, change: Partial<ClockReading> = {}): ClockReading => ({
    offset,
    zoneSeconds: 0,
    askedMs: EPOCH_MS + offset / 1000 - 1,
    answeredMs: EPOCH_MS + offset / 1000 + 1,
    ...change,
  });
  const states = (...readings: ClockReading[]) =>
    clockChecks(readings).map(({ name, state }) => `${name} ${state}`);

  test("counts microseconds and goes forward", () => {
    expect(states(at(1_000_000), at(1_000_001))).toEqual(["time zone ok", "clock ok"]);
    expect(states(at(1_000_000), at(1_001_000))).toEqual(["time zone ok", "clock failed"]);
    expect(states(at(1_000_002), at(1_000_001))).toEqual(["time zone ok", "clock failed"]);
    expect(states()).toEqual(["clock failed"]);
  });

  test("may be in another zone or off, and then it is said", () => {
    expect(states(at(1_000_001, { zoneSeconds: 3600 }))).toEqual(["time zone warning", "clock ok"]);
    const late = { askedMs: EPOCH_MS + 5000, answeredMs: EPOCH_MS + 5002 };
    expect(states(at(1_000_001, late))).toEqual(["time zone ok", "clock warning"]);
  });
});

describe("the rows that are tried", () => {
  const rows = (...places: (string | number)[]) =>
    places.map((place) => ({ place, key_hex: "61C3A9E282ACF09F9A80" }));
  const states = (insertId: string, found: ReturnType<typeof rows>, problem: string | null = null) =>
    probeChecks({ insertId, rows: found, problem }).map(({ name, state }) => `${name} ${state}`);

  test("are ok", () => {
    expect(states("217000000000001", rows("217000000000001", "217000000000002"))).toEqual([
      ...["writing ok", "one clock a statement ok", "LAST_INSERT_ID(value) ok"],
    ]);
  });

  test("show a clock that moves within a statement", () => {
    expect(states("1", rows(1, 20_002))).toContain("one clock a statement failed");
  });

  test("show a reply without an offset, or with another", () => {
    expect(states("0", rows(1, 2))).toContain("LAST_INSERT_ID(value) warning");
    expect(states("2", rows(1, 2))).toContain("LAST_INSERT_ID(value) failed");
  });

  test("show what was not written, or not exactly", () => {
    expect(states("1", rows(1))).toEqual(["writing failed"]);
    expect(states("1", rows(1, 2, 3))).toEqual(["writing failed"]);
    expect(states("1", rows(1, 2), "ER_X: no")).toEqual(["writing failed"]);
    const changed = rows(1, 2).map((row) => ({ ...row, key_hex: "613F3F3F" }));
    expect(states("1", changed)).toContain("writing failed");
  });

  test("have a value for each column", () => {
    const table = parseCreateTable(
      "CREATE TABLE t (tenant CHAR(9), message_offset BIGINT, published_at_ms BIGINT, body BLOB)",
    );
    const { sql, params } = probeInsert(table, "~x");
    expect(sql).toMatch(
      /^INSERT INTO t \(tenant, message_offset, published_at_ms, body\) VALUES \(\?, last_insert_id\(/,
    );
    expect(sql.split("?")).toHaveLength(params.length + 1);
    expect(params).toEqual(["~x", Buffer.alloc(0), "~x", Buffer.alloc(0)]);
  });
});

test("a check is one line", () => {
  expect(checkLine({ name: "a", state: "failed", detail: "b: do c" })).toBe("FAILED   a: b: do c");
});
