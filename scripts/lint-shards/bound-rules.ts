import { PRIMARY, type TableSchema } from "../schema/table-schema.ts";
import type { Report } from "./routing-rules.ts";
import {
  type Block,
  type ChangeStatement,
  conditionsOn,
  type Expression,
  expressionsOf,
  type Query,
  type Source,
  type Statement,
  subQueries,
  walk,
} from "./statement-model.ts";

export type Tables = ReadonlyMap<string, TableSchema>;

const OFFSET = "message_offset";
/** They read one end of an index. COUNT and SUM read all of it. */
const ONE_ROW_AGGREGATES = new Set(["MIN", "MAX"]);

/** No statement reads or changes more than the caller bounded: by LIMIT, by whole primary keys, or by a closed range. */
export function boundViolations(statement: Statement, tables: Tables, report: Report): void {
  switch (statement.kind) {
    case "select":
      checkQuery(statement.query, tables, report);
      return;
    case "insert":
      if (statement.query) checkQuery(statement.query, tables, report);
      return;
    case "update":
    case "delete":
      if (!isBoundedChange(statement, tables)) {
        report(
          "bounded-change",
          `${statement.kind.toUpperCase()} without a bound: add LIMIT, the whole primary key, or a range closed at both ends on ${OFFSET}`,
        );
      }
  }
}

function isBoundedChange(statement: ChangeStatement, tables: Tables): boolean {
  if (statement.hasLimit) return true;
  const [source] = statement.sources;
  if (!source || statement.sources.length > 1) return false;
  const conditions = conditionsOn(source, statement.sources, statement.where);
  const table = tables.get(source.table ?? "");
  return table !== undefined && (isByKey(source, table, conditions) || isByRange(source, table, conditions));
}

function checkQuery(query: Query, tables: Tables, report: Report): void {
  for (const arm of query.arms) {
    if (!isBoundedBlock(arm, tables)) {
      const names = arm.sources.map(({ name }) => name).join(", ");
      report(
        "bounded-read",
        `SELECT from ${names} without a bound: add LIMIT, or the whole primary key; count inside a derived table with LIMIT`,
      );
    }
    checkInner(arm, tables, report);
  }
}

function checkInner(arm: Block, tables: Tables, report: Report): void {
  for (const { query } of arm.sources) if (query) checkQuery(query, tables, report);
  for (const { query, under } of expressionsOf(arm).flatMap((expression) => subQueries(expression))) {
    // EXISTS stops at the first row that it finds.
    if (under?.endsWith("EXISTS")) for (const inner of query.arms) checkInner(inner, tables, report);
    else checkQuery(query, tables, report);
  }
}

function isBoundedBlock(arm: Block, tables: Tables): boolean {
  if (arm.hasLimit || arm.sources.length === 0) return true;
  if (areBounded(arm, tables)) return true;
  const aggregates = arm.columns
    .flatMap(({ expression }) => [...walk(expression)])
    .filter((each) => each.kind === "call" && each.aggregate)
    .map((each) => (each.kind === "call" ? each.name : ""));
  return (
    arm.groupBy.length === 0 &&
    aggregates.length > 0 &&
    aggregates.every((name) => ONE_ROW_AGGREGATES.has(name))
  );
}

/** Each source has few rows for each row of those before it: it is derived, or bound by its key or a closed range. */
function areBounded({ sources, where }: Block, tables: Tables): boolean {
  const bounded = new Set(sources.filter(({ query }) => query !== null).map(({ name }) => name));
  for (let before = -1; bounded.size > before; ) {
    before = bounded.size;
    for (const source of sources) {
      const table = tables.get(source.table ?? "");
      if (!table) continue;
      const conditions = conditionsOn(source, sources, where);
      const isAlone = sources.length === 1;
      const isSmall =
        isByKey(source, table, conditions, bounded, isAlone) || isByRange(source, table, conditions, isAlone);
      if (isSmall) bounded.add(source.name);
    }
  }
  return sources.every(({ name }) => bounded.has(name));
}

function isByKey(
  source: Source,
  table: TableSchema,
  conditions: readonly Expression[],
  bounded: ReadonlySet<string> = new Set(),
  isAlone = true,
): boolean {
  const fixed = fixedColumns(source, conditions, bounded, isAlone);
  return table.keys.some(({ unique, parts }) => unique && parts.every(({ column }) => fixed.has(column)));
}

/** Equal in all of the key before the offset, and between two ends in the offset. */
function isByRange(
  source: Source,
  table: TableSchema,
  conditions: readonly Expression[],
  isAlone = true,
): boolean {
  const key = table.keys.find(({ name }) => name === PRIMARY)?.parts.map(({ column }) => column) ?? [];
  if (key.at(-1) !== OFFSET) return false;
  const fixed = fixedColumns(source, conditions, new Set(), isAlone);
  if (!key.slice(0, -1).every((column) => fixed.has(column))) return false;
  let [hasLow, hasHigh] = [false, false];
  for (const condition of conditions) {
    if (condition.kind !== "binary" || !isColumn(source, condition.left, isAlone, OFFSET)) continue;
    if (condition.operator === "BETWEEN") [hasLow, hasHigh] = [true, true];
    if ([">", ">="].includes(condition.operator) && isGiven(condition.right)) hasLow = true;
    if (["<", "<="].includes(condition.operator) && isGiven(condition.right)) hasHigh = true;
  }
  return hasLow && hasHigh;
}

/** Columns equal to what is made of values and bounded sources' columns, or in a list of such; also as rows. */
function fixedColumns(
  source: Source,
  conditions: readonly Expression[],
  bounded: ReadonlySet<string>,
  isAlone: boolean,
): Set<string> {
  const fixed = new Set<string>();
  const isFixed = (value: Expression) =>
    [...walk(value)].every((part) => {
      if (part.kind === "column") return part.table !== null && bounded.has(part.table);
      return part.kind !== "query";
    });
  const fix = (column: Expression, values: readonly Expression[]) => {
    if (column.kind !== "column" || !isColumn(source, column, isAlone)) return;
    if (values.length > 0 && values.every(isFixed)) fixed.add(column.column);
  };
  for (const condition of conditions) {
    if (condition.kind !== "binary") continue;
    const { operator, left, right } = condition;
    if (operator === "=") {
      fix(left, [right]);
      fix(right, [left]);
    }
    if (operator === "IN" && right.kind === "list") {
      if (left.kind !== "list") fix(left, right.items);
      else for (const [place, column] of left.items.entries()) fix(column, columnOfRows(right.items, place));
    }
  }
  return fixed;
}

function columnOfRows(rows: readonly Expression[], place: number): Expression[] {
  return rows.map((row) => (row.kind === "list" ? row.items[place] : undefined) ?? row);
}

function isColumn(source: Source, value: Expression, isAlone: boolean, column?: string): boolean {
  if (value.kind !== "column" || (column !== undefined && value.column !== column)) return false;
  return value.table === source.name || (value.table === null && isAlone);
}

function isGiven(value: Expression): boolean {
  return value.kind === "param" || value.kind === "literal";
}
