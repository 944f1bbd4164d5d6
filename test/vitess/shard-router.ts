import sqlParser from "node-sql-parser";

// Which shard a statement belongs to, by the tenants that it names. Vitess would do it by the vindex; this is its
// stand-in for two databases behind the gateway, and is stricter: it also refuses what Vitess would scatter.

const parser = new sqlParser.Parser();
/** Longer ones are bodies: the parser would go through them character by character. */
const LONGEST_LITERAL = 300;

type Node = Record<string, unknown>;

/**
 * The tenants that a statement names, each once: string literals that are compared with a column `tenant` (`=`, `IN`)
 * or put into one. Throws when the parser does not know the statement.
 */
export function tenantsOf(sql: string): string[] {
  const found = new Set<string>();
  const { ast } = parser.parse(parseable(sql), { database: "MariaDB" });
  for (const statement of Array.isArray(ast) ? ast : [ast]) visit(statement, found);
  return [...found];
}

/** A route for the gateway. Throws when a statement names no tenant, or two. */
export function tenantRoute(shardOf: (tenant: string) => number): (sql: string) => number {
  return (sql) => {
    const tenants = tenantsOf(sql);
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error("the statement names no tenant");
    if (tenants.length > 1) throw new Error(`the statement names ${tenants.length} tenants`);
    return shardOf(tenant);
  };
}

function visit(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, found);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const node = value as Node;
  if (node.type === "binary_expr" && (node.operator === "=" || node.operator === "IN")) {
    if (isTenantColumn(node.left)) addLiterals(node.right, found);
    if (isTenantColumn(node.right)) addLiterals(node.left, found);
  }
  if (node.type === "insert" || node.type === "replace") visitInsert(node, found);
  for (const child of Object.values(node)) visit(child, found);
}

/** Rows of values, or the list of a SELECT, by the place of `tenant` among the columns. */
function visitInsert(node: Node, found: Set<string>): void {
  const columns = Array.isArray(node.columns) ? node.columns.map(String) : [];
  const place = columns.findIndex((name) => name.toLowerCase() === "tenant");
  if (place < 0) return;
  const source = node.values as Node | Node[] | undefined;
  if (Array.isArray(source)) addRows(source, place, found);
  else if (source?.type === "values") addRows(source.values as Node[], place, found);
  else if (source?.type === "select" && Array.isArray(source.columns)) {
    addLiterals((source.columns[place] as Node | undefined)?.expr, found);
  }
}

function addRows(rows: readonly Node[], place: number, found: Set<string>): void {
  for (const row of rows) addLiterals((row.value as unknown[] | undefined)?.[place], found);
}

function isTenantColumn(value: unknown): boolean {
  const node = value as Node | null;
  if (node?.type !== "column_ref") return false;
  const column = node.column as unknown;
  const name =
    typeof column === "string" ? column : ((column as Node | null)?.expr as Node | undefined)?.value;
  return String(name).toLowerCase() === "tenant";
}

function addLiterals(value: unknown, found: Set<string>): void {
  const node = value as Node | null | undefined;
  if (node?.type === "expr_list") for (const item of node.value as unknown[]) addLiterals(item, found);
  if (node?.type === "single_quote_string" || node?.type === "string") found.add(String(node.value));
}

/** Without what the parser does not know, or is slow with, and what names no tenant. */
function parseable(sql: string): string {
  const short = withoutLongLiterals(sql).replaceAll(/\b(?:FORCE|USE|IGNORE) INDEX \([\w`, ]+\)/gi, "");
  return /^\s*DELETE\b/i.test(short) ? short.replace(/(?:\bORDER BY [\w, ]+)?\bLIMIT \d+\s*$/i, "") : short;
}

/** Each long quoted literal becomes an empty one. */
function withoutLongLiterals(sql: string): string {
  let kept = "";
  let from = 0;
  for (let at = sql.indexOf("'"); at >= 0; at = sql.indexOf("'", at)) {
    const end = endOfLiteral(sql, at);
    if (end - at > LONGEST_LITERAL) {
      kept += `${sql.slice(from, at)}''`;
      from = end;
    }
    at = end;
  }
  return kept + sql.slice(from);
}

/** Index behind the closing quote. */
function endOfLiteral(sql: string, start: number): number {
  for (let at = start + 1; at < sql.length; at++) {
    if (sql[at] === "\\") at++;
    else if (sql[at] === "'") {
      if (sql[at + 1] !== "'") return at + 1;
      at++;
    }
  }
  return sql.length;
}
