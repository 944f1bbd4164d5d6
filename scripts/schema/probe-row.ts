import { randomBytes } from "node:crypto";
import { CLOCK } from "../../src/log/vitess/statement.ts";
import type { Check } from "./check.ts";
import { errorText, type Row, type SchemaConnection } from "./connection.ts";
import type { ColumnSchema, TableSchema } from "./table-schema.ts";

export const PROBED_TABLE = "queue_messages";
/** No tenant's name begins so, and each run has its own. */
const PROBE_TENANT = "~verify-";
/** Long enough to see a clock that moves on between two rows. */
const PAUSE_SECONDS = 0.02;
/** One byte to four bytes each. */
const PROBE_KEY = "aé€\u{1F680}";
const PROBE_KEY_HEX = Buffer.from(PROBE_KEY, "utf8").toString("hex").toUpperCase();

/**
 * Writes two rows of a tenant that nobody has into the log's table, as a publish does, reads them and removes them:
 * whether that works at all, whether the clock stands still within a statement, whether the reply carries the offset.
 */
export async function probeRows(connection: SchemaConnection, table: TableSchema): Promise<Check[]> {
  const tenant = PROBE_TENANT + randomBytes(8).toString("hex");
  let insertId = "0";
  let rows: Row[] = [];
  let problem: string | null = null;
  try {
    const { sql, params } = probeInsert(table, tenant);
    insertId = (await connection.run(sql, params)).insertId;
    rows = await connection.rows(
      `SELECT message_offset AS place, hex(partition_key) AS key_hex FROM ${PROBED_TABLE}
       WHERE tenant = ? AND topic = '' ORDER BY message_offset LIMIT 3`,
      [tenant],
    );
  } catch (error) {
    problem = errorText(error);
  }
  const leftover = await removeRows(connection, tenant);
  return probeChecks({ insertId, rows, problem: problem ?? leftover });
}

/** Returns what went wrong, if anything did. */
async function removeRows(connection: SchemaConnection, tenant: string): Promise<string | null> {
  try {
    await connection.run(`DELETE FROM ${PROBED_TABLE} WHERE tenant = ? LIMIT 3`, [tenant]);
    const [row] = await connection.rows(`SELECT count(*) AS n FROM ${PROBED_TABLE} WHERE tenant = ?`, [
      tenant,
    ]);
    return Number(row?.n) === 0 ? null : `rows of the tenant ${tenant} could not be removed`;
  } catch (error) {
    return errorText(error);
  }
}

/** The two rows, with a pause between them. */
export function probeInsert(
  table: TableSchema,
  tenant: string,
): { sql: string; params: (string | number | Buffer)[] } {
  const params: (string | number | Buffer)[] = [];
  const row = (place: number) =>
    table.columns
      .map((column) => {
        if (column.name === "message_offset")
          return place === 0 ? `last_insert_id(${CLOCK})` : `${CLOCK} + 1`;
        // Before the second row's clock is read, if the server reads it anew for each row.
        if (column.name === "published_at_ms") return place === 0 ? `sleep(${PAUSE_SECONDS})` : "0";
        params.push(probeValue(column, tenant, place));
        return "?";
      })
      .join(", ");
  const rows = [0, 1].map((place) => `(${row(place)})`).join(", ");
  const names = table.columns.map(({ name }) => name).join(", ");
  return { sql: `INSERT INTO ${table.name} (${names}) VALUES ${rows}`, params };
}

function probeValue(column: ColumnSchema, tenant: string, place: number): string | number | Buffer {
  if (column.name === "tenant") return tenant;
  if (column.name === "partition_key") return PROBE_KEY;
  if (column.name === "message_id") return String(place);
  if (/int|double|decimal|float/.test(column.type)) return 0;
  return /blob|binary/.test(column.type) ? Buffer.alloc(0) : "";
}

export function probeChecks(probe: {
  insertId: string;
  rows: readonly Row[];
  problem: string | null;
}): Check[] {
  const { insertId, rows, problem } = probe;
  const name = "writing";
  if (problem !== null) {
    return [
      { name, state: "failed", detail: `${problem}: see that this user may read, write and delete rows` },
    ];
  }
  const [first, second] = rows.map(({ place }) => BigInt(String(place)));
  if (first === undefined || second === undefined || rows.length > 2) {
    return [{ name, state: "failed", detail: `wrote 2 rows and found ${rows.length}: look for triggers` }];
  }
  const isExact = rows.every(({ key_hex }) => key_hex === PROBE_KEY_HEX);
  return [
    isExact
      ? { name, state: "ok", detail: "two rows were written, read back and removed" }
      : { name, state: "failed", detail: "text did not come back byte for byte: see the character sets" },
    clockCheck(first, second),
    insertIdCheck(insertId, first),
  ];
}

function clockCheck(first: bigint, second: bigint): Check {
  const name = "one clock a statement";
  if (second - first === 1n)
    return { name, state: "ok", detail: "utc_timestamp(6) stands still within an INSERT" };
  const detail = `two rows of one INSERT are ${second - first} microseconds apart, not 1: offsets of batches may mix`;
  return { name, state: "failed", detail: `${detail}; use a server that reads the clock once` };
}

function insertIdCheck(insertId: string, first: bigint): Check {
  const name = "LAST_INSERT_ID(value)";
  if (insertId === String(first)) return { name, state: "ok", detail: "the reply carries the offset" };
  if (insertId === "0") {
    const detail = "the reply carries none: late messages are found within the horizon, not within seconds";
    return { name, state: "warning", detail: `${detail}; vtgate has it since version 22` };
  }
  return {
    name,
    state: "failed",
    detail: `the reply carries ${insertId}, not the offset: look for triggers`,
  };
}
