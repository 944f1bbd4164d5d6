import { tableDifferences } from "./compare-tables.ts";
import type { SchemaConnection } from "./connection.ts";
import { parseCreateTable } from "./create-table.ts";
import { readLiveTables } from "./live-tables.ts";
import type { TableSchema } from "./table-schema.ts";

/** A table's file, read. */
export interface TableFile {
  table: TableSchema;
  sql: string;
}

export type TableState = { file: TableFile } & (
  | { kind: "present"; rowsRoughly: number | null }
  | { kind: "missing" }
  | { kind: "differs"; rowsRoughly: number | null; differences: string[] }
);

export function tableFiles(files: readonly { sql: string }[]): TableFile[] {
  return files.map(({ sql }) => ({ table: parseCreateTable(sql), sql }));
}

/** In the order of the files. Other tables of the database are nobody's business here. */
export async function tableStates(
  connection: SchemaConnection,
  files: readonly TableFile[],
): Promise<TableState[]> {
  const live = await readLiveTables(connection);
  return files.map((file): TableState => {
    const found = live.get(file.table.name);
    if (!found) return { kind: "missing", file };
    const { rowsRoughly } = found;
    const differences = tableDifferences(file.table, found);
    if (differences.length === 0) return { kind: "present", file, rowsRoughly };
    return { kind: "differs", file, rowsRoughly, differences };
  });
}

export function stateLine(state: TableState): string {
  const { name } = state.file.table;
  switch (state.kind) {
    case "missing":
      return `${name}: missing`;
    case "present":
      return `${name}: present, ${rowsText(state.rowsRoughly)}`;
    case "differs":
      return `${name}: differs, ${rowsText(state.rowsRoughly)}: ${state.differences.join("; ")}`;
  }
}

function rowsText(rows: number | null): string {
  return rows === null ? "rows not known" : `about ${rows} rows`;
}
