import { CLOCK } from "../../src/log/vitess/statement.ts";
import { type Check, checkLine } from "./check.ts";
import type { SchemaConnection } from "./connection.ts";
import { PROBED_TABLE, probeRows } from "./probe-row.ts";
import { type ClockReading, clockChecks, serverChecks, VARIABLES } from "./server-checks.ts";
import { stateLine, type TableFile, type TableState, tableStates } from "./table-states.ts";

const CLOCK_READINGS = 5;

/** Tables, settings, clock and a write. Returns whether nothing failed. */
export async function verifyServer(
  connection: SchemaConnection,
  files: readonly TableFile[],
  options: { horizonMs: number; say: (line: string) => void },
): Promise<boolean> {
  const states = await tableStates(connection, files);
  const checks = [
    ...states.map(stateCheck),
    ...serverChecks(await readVariables(connection), options.horizonMs),
    ...clockChecks(await readClock(connection, states)),
    ...(await writeChecks(connection, states)),
  ];
  for (const check of checks) options.say(checkLine(check));
  const count = (state: Check["state"]) => checks.filter((check) => check.state === state).length;
  options.say(`${count("ok")} ok, ${count("warning")} warnings, ${count("failed")} failed`);
  return count("failed") === 0;
}

function stateCheck(state: TableState): Check {
  const line = stateLine(state);
  const [name = "", ...rest] = line.split(": ");
  const detail = rest.join(": ");
  switch (state.kind) {
    case "present":
      return { name, state: "ok", detail };
    case "missing":
      return { name, state: "failed", detail: `${detail}: run apply` };
    case "differs":
      return { name, state: "failed", detail: `${detail}: change it by hand` };
  }
}

async function readVariables(connection: SchemaConnection): Promise<Map<string, string>> {
  const names = VARIABLES.map((name) => `'${name}'`).join(", ");
  const rows = await connection.rows(`SHOW VARIABLES WHERE Variable_name IN (${names})`);
  return new Map(rows.map((row) => [String(row.Variable_name), String(row.Value)]));
}

/** From a table where it can be: vtgate may answer what names none from its own clock, and offsets are not given there. */
async function readClock(
  connection: SchemaConnection,
  states: readonly TableState[],
): Promise<ClockReading[]> {
  const isThere = states.some(({ kind, file }) => kind === "present" && file.table.name === PROBED_TABLE);
  const from = isThere ? `FROM ${PROBED_TABLE} WHERE tenant = ''` : "";
  const readings: ClockReading[] = [];
  for (let left = CLOCK_READINGS; left > 0; left--) {
    const askedMs = Date.now();
    const [row] = await connection.rows(
      `SELECT count(*) AS one_row, ${CLOCK} AS place, timestampdiff(second, utc_timestamp(), now()) AS zone_seconds
       ${from}`,
    );
    readings.push({
      offset: Number(row?.place),
      zoneSeconds: Number(row?.zone_seconds),
      askedMs,
      answeredMs: Date.now(),
    });
  }
  return readings;
}

async function writeChecks(connection: SchemaConnection, states: readonly TableState[]): Promise<Check[]> {
  const state = states.find(({ file }) => file.table.name === PROBED_TABLE);
  if (state?.kind === "present") return probeRows(connection, state.file.table);
  const why = `not tried, as ${PROBED_TABLE} is not there as it should be`;
  return [{ name: "writing", state: "failed", detail: why }];
}
