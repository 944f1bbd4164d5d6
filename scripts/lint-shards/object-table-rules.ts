import { DatabaseSync } from "node:sqlite";
import { TENANT } from "./table-rules.ts";
import type { Violation } from "./violation.ts";

export interface ObjectTables {
  violations: Violation[];
  tables: number;
  keys: number;
}

/**
 * The tables of the tenant object, made in SQLite in the order of their files, which may alter those of files before,
 * and asked for their keys: all are led by the tenant.
 */
export function checkObjectTables(files: readonly { name: string; sql: string }[]): ObjectTables {
  const result: ObjectTables = { violations: [], tables: 0, keys: 0 };
  const database = new DatabaseSync(":memory:");
  try {
    const checked = new Set<string>();
    for (const { name, sql } of files) {
      try {
        database.exec(sql);
      } catch (error) {
        const why = error instanceof Error ? error.message : error;
        result.violations.push({ where: name, rule: "readable", advice: `SQLite refuses it: ${why}` });
        continue;
      }
      checkNewKeys(database, name, checked, result);
    }
  } finally {
    database.close();
  }
  return result;
}

/** Looks at the tables and indexes that the file made, that is those not in `checked` yet. */
function checkNewKeys(
  database: DatabaseSync,
  file: string,
  checked: Set<string>,
  result: ObjectTables,
): void {
  const check = (name: string, rule: string, what: string, columns: readonly unknown[]) => {
    if (checked.has(name)) return;
    checked.add(name);
    result.keys++;
    if (columns[0] === TENANT) return;
    const state = columns.length === 0 ? "is missing" : `begins with ${columns[0]}`;
    result.violations.push({ where: file, rule, advice: `${what} ${state}: begin it with ${TENANT}` });
  };
  for (const table of names(database, "SELECT name FROM sqlite_schema WHERE type = 'table'")) {
    if (!checked.has(table)) result.tables++;
    const key = names(database, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table);
    check(table, "tenant-leads-keys", `the primary key of ${table}`, key);
    const indexes = names(database, "SELECT name FROM pragma_index_list(?) WHERE origin <> 'pk'", table);
    for (const index of indexes) {
      const columns = names(database, "SELECT name FROM pragma_index_info(?) ORDER BY seqno", index);
      check(index, "tenant-leads-indexes", `index ${index}`, columns);
    }
  }
}

function names(database: DatabaseSync, query: string, ...params: string[]): string[] {
  return database
    .prepare(query)
    .all(...params)
    .map(({ name }) => String(name));
}
