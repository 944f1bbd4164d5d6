import { errorCode, errorText, type SchemaConnection, SchemaRefusal } from "./connection.ts";
import { type TableFile, type TableState, tableStates } from "./table-states.ts";

export type Say = (line: string) => void;

/**
 * Makes the tables that are missing, one statement each, in the order of the files. A table that is there and differs
 * is never altered: then nothing is changed at all. After a failure in the middle, running it again goes on.
 */
export async function applyTables(
  connection: SchemaConnection,
  files: readonly TableFile[],
  options: { dryRun: boolean; say: Say },
): Promise<void> {
  const { dryRun, say } = options;
  const states = await tableStates(connection, files);
  refuseDifferent(states);
  const missing = states.filter(({ kind }) => kind === "missing");
  if (missing.length === 0) {
    say(`nothing to do: all ${files.length} tables are there as they should be`);
    return;
  }
  if (dryRun) {
    for (const { file } of missing) say(`${file.sql.trim()}\n`);
    say(`dry run: ${missing.length} of ${files.length} tables would be made; nothing was changed`);
    return;
  }
  for (const [place, { file }] of missing.entries())
    await makeTable(connection, file, place, missing.length, say);
  // What a server makes of a statement may be something else, and somebody else may have made it first.
  refuseDifferent(await tableStates(connection, files));
  say(`done: all ${files.length} tables are there`);
}

async function makeTable(
  connection: SchemaConnection,
  { table, sql }: TableFile,
  place: number,
  count: number,
  say: Say,
): Promise<void> {
  const step = `${place + 1}/${count} ${table.name}`;
  const startedMs = performance.now();
  try {
    await connection.run(sql);
    say(`${step}: made in ${Math.round(performance.now() - startedMs)} ms`);
  } catch (error) {
    if (errorCode(error) === "ER_TABLE_EXISTS_ERROR") {
      say(`${step}: made by somebody else meanwhile`);
      return;
    }
    throw new SchemaRefusal(
      `${step}: ${errorText(error)}; ${place} of ${count} were made: see to this, then run apply again`,
    );
  }
}

function refuseDifferent(states: readonly TableState[]): void {
  const different = states.filter((state) => state.kind === "differs");
  if (different.length === 0) return;
  const which = different.map(({ file, differences }) => `${file.table.name} (${differences.join("; ")})`);
  throw new SchemaRefusal(
    `${which.join(", ")}: differs from the file, and apply alters no table: change it by hand, or use another database`,
  );
}
