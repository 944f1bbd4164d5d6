import type {
  Block,
  ChangeStatement,
  ColumnValue,
  Expression,
  InsertStatement,
  Query,
  Source,
  Statement,
} from "./statement-model.ts";

/**
 * From node-sql-parser's syntax tree to ours. The tree has no useful types, so it is read as plain objects; a form
 * that is not known here becomes `other` with whatever lies inside, so that no sub-query is ever lost.
 */
export type RawNode = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is RawNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(node: RawNode, field: string): string {
  const value = node[field];
  return typeof value === "string" ? value : "";
}

function nodes(value: unknown): RawNode[] {
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}

export function readStatement(node: RawNode): Statement {
  switch (node.type) {
    case "insert":
    case "replace":
      return readInsert(node);
    case "update":
    case "delete":
      return readChange(node);
    default:
      return { kind: "select", query: readQuery(node) };
  }
}

function readInsert(node: RawNode): InsertStatement {
  const values = isObject(node.values) ? node.values : {};
  const isRows = values.type === "values";
  const update = isObject(node.on_duplicate_update) ? node.on_duplicate_update : {};
  return {
    kind: "insert",
    replace: node.type === "replace",
    ignore: /\bignore\b/i.test(text(node, "prefix")),
    table: text(nodes(node.table)[0] ?? {}, "table"),
    columns: Array.isArray(node.columns) ? node.columns.map(String) : null,
    rows: isRows ? nodes(values.values).map((row) => nodes(row.value).map(readExpression)) : null,
    query: isRows ? null : readQuery(values),
    onDuplicate: readColumnValues(update.set),
  };
}

function readChange(node: RawNode): ChangeStatement {
  return {
    kind: node.type === "update" ? "update" : "delete",
    sources: nodes(node.type === "update" ? node.table : node.from).map(readSource),
    set: readColumnValues(node.set),
    where: readOptional(node.where),
    orderBy: readExpressions(node.orderby),
    hasLimit: hasLimit(node.limit),
  };
}

function readColumnValues(value: unknown): ColumnValue[] {
  return nodes(value).map((node) => ({ column: text(node, "column"), value: readExpression(node.value) }));
}

export function readQuery(node: RawNode): Query {
  const arms: Block[] = [];
  const hasNamedQueries = node.with !== null && node.with !== undefined;
  let arm: RawNode | null = node;
  while (arm) {
    arms.push(readBlock(arm));
    arm = isObject(arm._next) ? arm._next : null;
  }
  return {
    arms,
    orderBy: readExpressions(node._orderby),
    hasLimit: hasLimit(node._limit),
    hasNamedQueries,
  };
}

function readBlock(node: RawNode): Block {
  const group = isObject(node.groupby) ? node.groupby.columns : null;
  return {
    columns: nodes(node.columns).map((column) => ({
      expression: readExpression(column.expr),
      name: nameOf(column),
    })),
    sources: nodes(node.from).map(readSource),
    where: readOptional(node.where),
    groupBy: readExpressions(group),
    having: readOptional(node.having),
    orderBy: readExpressions(node.orderby),
    hasLimit: hasLimit(node.limit),
  };
}

function nameOf(column: RawNode): string | null {
  if (text(column, "as") !== "") return text(column, "as");
  return isObject(column.expr) && column.expr.type === "column_ref" ? text(column.expr, "column") : null;
}

function readSource(node: RawNode): Source {
  const derived = isObject(node.expr) && isObject(node.expr.ast) ? node.expr.ast : null;
  const table = derived ? null : text(node, "table");
  return {
    name: text(node, "as") || (table ?? ""),
    table,
    query: derived ? readQuery(derived) : null,
    join: text(node, "join").toUpperCase() || null,
    on: readOptional(node.on),
    using: nodes(node.using).length > 0,
  };
}

function hasLimit(value: unknown): boolean {
  return isObject(value) && nodes(value.value).length > 0;
}

/** Of ORDER BY and GROUP BY, whose items may be wrapped. */
function readExpressions(value: unknown): Expression[] {
  return nodes(value).map((item) => readExpression(item.type === undefined || item.expr ? item.expr : item));
}

function readOptional(value: unknown): Expression | null {
  return isObject(value) ? readExpression(value) : null;
}

const LITERALS = new Set([
  "number",
  "bigint",
  "single_quote_string",
  "double_quote_string",
  "string",
  "hex_string",
  "full_hex_string",
  "null",
  "bool",
]);

function readExpression(value: unknown): Expression {
  if (!isObject(value)) return { kind: "other", name: "", parts: [] };
  if (isObject(value.ast)) return { kind: "query", query: readQuery(value.ast) };
  const type = text(value, "type");
  if (type === "origin") return value.value === "?" ? { kind: "param" } : { kind: "literal" };
  if (LITERALS.has(type)) return { kind: "literal" };
  switch (type) {
    case "select":
      return { kind: "query", query: readQuery(value) };
    case "column_ref":
      return { kind: "column", table: text(value, "table") || null, column: text(value, "column") };
    case "star":
      return { kind: "literal" };
    case "expr_list":
      return { kind: "list", items: nodes(value.value).map(readExpression) };
    case "binary_expr":
      return {
        kind: "binary",
        operator: text(value, "operator").toUpperCase(),
        left: readExpression(value.left),
        right: readExpression(value.right),
      };
    case "function":
    case "aggr_func":
      return {
        kind: "call",
        name: callName(value),
        aggregate: type === "aggr_func",
        args: partsIn(value.args),
      };
    default:
      return { kind: "other", name: text(value, "operator").toUpperCase() || type, parts: partsIn(value) };
  }
}

function callName(node: RawNode): string {
  if (typeof node.name === "string") return node.name.toUpperCase();
  const names = isObject(node.name) ? nodes(node.name.name).map((part) => text(part, "value")) : [];
  return names.join(".").toUpperCase();
}

/** Every typed node directly or indirectly below an untyped or unknown one. */
function partsIn(value: unknown): Expression[] {
  if (Array.isArray(value)) return value.flatMap(partsIn);
  if (!isObject(value)) return [];
  return Object.values(value).flatMap((part) => {
    if (Array.isArray(part))
      return part.flatMap((item) => (isExpression(item) ? [readExpression(item)] : partsIn(item)));
    return isExpression(part) ? [readExpression(part)] : partsIn(part);
  });
}

function isExpression(value: unknown): boolean {
  return (
    isObject(value) && (isObject(value.ast) || (typeof value.type === "string" && value.type !== "default"))
  );
}
