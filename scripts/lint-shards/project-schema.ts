import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseCreateTable } from "../schema/create-table.ts";
import type { Tables } from "./bound-rules.ts";

export const PROJECT = resolve(import.meta.dirname, "../..");
export const VITESS_SCHEMA = "schema/vitess";
export const OBJECT_SCHEMA = "schema/object";

export interface SqlFile {
  /** Of the project, with slashes. */
  name: string;
  sql: string;
}

/** The SQL files of a folder of the project, in the order of their names; none if there is no such folder. */
export function sqlFiles(folder: string): SqlFile[] {
  return readdirSync(resolve(PROJECT, folder))
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({
      name: `${folder}/${name}`,
      sql: readFileSync(resolve(PROJECT, folder, name), "utf8"),
    }));
}

/** The tables of the Vitess log, by name. */
export function vitessTables(): Tables {
  const tables = sqlFiles(VITESS_SCHEMA).map(({ sql }) => parseCreateTable(sql));
  return new Map(tables.map((table) => [table.name, table]));
}
