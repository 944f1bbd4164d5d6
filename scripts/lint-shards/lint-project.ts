import { readdirSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { parseCreateTable, UnreadableTable } from "../schema/create-table.ts";
import type { TableSchema } from "../schema/table-schema.ts";
import { checkObjectTables } from "./object-table-rules.ts";
import { OBJECT_SCHEMA, PROJECT, type SqlFile, sqlFiles, VITESS_SCHEMA } from "./project-schema.ts";
import { type SourceFile, sourceViolations } from "./source-rules.ts";
import { type NamedStatement, statementViolations } from "./statement-rules.ts";
import { tableViolations } from "./table-rules.ts";
import type { Violation } from "./violation.ts";
import { vschemaViolations } from "./vschema-rules.ts";

export interface LintInput {
  vitessFiles: readonly SqlFile[];
  vschema: { name: string; text: string };
  objectFiles: readonly SqlFile[];
  statements: readonly NamedStatement[];
  sources: readonly SourceFile[];
}

export interface LintResult {
  violations: Violation[];
  checked: { tables: number; keys: number; statements: number; sourceTexts: number };
}

/** All rules over all that is given. Finding nothing to check is a violation, too. */
export function lintShards(input: LintInput): LintResult {
  const violations: Violation[] = [];
  const tables: TableSchema[] = [];
  for (const { name, sql } of input.vitessFiles) {
    try {
      const table = parseCreateTable(sql);
      if (tables.some((each) => each.name === table.name)) {
        violations.push({
          where: name,
          rule: "readable",
          advice: `makes ${table.name} a second time: keep one`,
        });
      }
      tables.push(table);
      violations.push(...tableViolations(name, table));
    } catch (error) {
      if (!(error instanceof UnreadableTable || error instanceof SyntaxError)) throw error;
      violations.push({ where: name, rule: "readable", advice: `${error.message}: write one CREATE TABLE` });
    }
  }
  violations.push(...vschemaViolations(input.vschema.name, input.vschema.text, tables));
  const object = checkObjectTables(input.objectFiles);
  violations.push(...object.violations);
  const byName = new Map(tables.map((table) => [table.name, table]));
  violations.push(...input.statements.flatMap((statement) => statementViolations(statement, byName)));
  const sources = sourceViolations(input.sources, input.statements);
  violations.push(...sources.violations);
  const keys = tables.reduce((sum, table) => sum + table.keys.length, object.keys);
  violations.push(...emptinessViolations(input, tables.length, object.tables, sources.texts));
  return {
    violations,
    checked: {
      tables: tables.length + object.tables,
      keys,
      statements: input.statements.length,
      sourceTexts: sources.texts,
    },
  };
}

function emptinessViolations(
  input: LintInput,
  vitessTables: number,
  objectTables: number,
  sourceTexts: number,
): Violation[] {
  const counts: [string, number, string][] = [
    [VITESS_SCHEMA, vitessTables, "tables"],
    [OBJECT_SCHEMA, objectTables, "tables"],
    ["vitessStatements()", input.statements.length, "statements"],
    ["src", sourceTexts, "SQL"],
  ];
  return counts
    .filter(([, count]) => count === 0)
    .map(([where, , what]) => ({
      where,
      rule: "found-something",
      advice: `no ${what} found: nothing was checked`,
    }));
}

/** What the project has now. */
export function projectInput(statements: readonly NamedStatement[]): LintInput {
  const vschema = `${VITESS_SCHEMA}/vschema.json`;
  return {
    vitessFiles: sqlFiles(VITESS_SCHEMA),
    vschema: { name: vschema, text: readFileSync(resolve(PROJECT, vschema), "utf8") },
    objectFiles: sqlFiles(OBJECT_SCHEMA),
    statements,
    sources: sourceFiles("src"),
  };
}

function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(resolve(PROJECT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourceFiles(path);
    if (!entry.name.endsWith(".ts") || entry.name.endsWith(".d.ts")) return [];
    return [{ path: path.split(sep).join("/"), text: readFileSync(resolve(PROJECT, path), "utf8") }];
  });
}
