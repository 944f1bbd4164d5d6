import { parseAst } from "vite";
import type { NamedStatement } from "./statement-rules.ts";
import type { Violation } from "./violation.ts";

export interface SourceFile {
  /** Of the project, with slashes. */
  path: string;
  text: string;
}

const LOG = "src/log/vitess/";
/** The one place where statements are made, and the one that sends them. */
const MAKER = "src/log/vitess/statement.ts";
const SENDER = "src/log/vitess/database.ts";
/** readStatement, writeStatement, and what wraps them. */
const MAKER_CALL = /Statement$/;
const DRIVERS = /^(?:@planetscale\/database|mysql2)(?:\/|$)/;
const DRIVER_USERS = [LOG, "src/gateway/"];

/** Words that a text has only if it is SQL: ours is in upper case; else by how a statement begins. */
const LOOKS_LIKE_SQL =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|UNION|VALUES|WHERE|FROM|JOIN|LIMIT|HAVING|TRUNCATE|ALTER TABLE|DROP TABLE|CALL|ORDER BY|GROUP BY|ON DUPLICATE|BETWEEN|WHEN|AND|FORCE INDEX)\b|[=<>] ?\?|\bIN \(/;
const BEGINS_LIKE_SQL =
  /^\s*(?:select\b.*\bfrom\b|(?:insert|replace)\s+into\b|update\b.*\bset\b|delete\s+from\b|start transaction\b|(?:begin|commit|rollback)\s*;?\s*$)/is;

/**
 * Whether a statement can get around the linter: SQL that is no part of a listed statement, a statement made or sent
 * elsewhere than in the one place for it, or a driver used by another part of the product.
 */
export function sourceViolations(
  files: readonly SourceFile[],
  listed: readonly NamedStatement[],
): { violations: Violation[]; texts: number } {
  const violations: Violation[] = [];
  const statements = listed.map(({ sql }) => dense(sql));
  const names = new Set(listed.map(({ name }) => name));
  const made = new Set<string>();
  let texts = 0;
  for (const file of files) {
    // Only a file with such a word in it can import a driver.
    if (!file.path.startsWith(LOG) && !/planetscale|mysql2/.test(file.text)) continue;
    const report = (rule: string, advice: string) => {
      violations.push({ where: file.path, rule, advice });
    };
    const program = parseAst(file.text, { lang: "ts" }) as unknown as Node;
    for (const node of nodesOf(program)) {
      checkImport(node, file.path, report);
      if (!file.path.startsWith(LOG)) continue;
      texts += checkText(node, statements, report);
      checkMaker(node, file.path, names, made, report);
    }
  }
  return { violations, texts };
}

type Report = (rule: string, advice: string) => void;

interface Node {
  type: string;
  [field: string]: unknown;
}

function checkImport(node: Node, path: string, report: Report): void {
  const isImport = [
    "ImportDeclaration",
    "ImportExpression",
    "ExportNamedDeclaration",
    "ExportAllDeclaration",
  ];
  if (!isImport.includes(node.type) || !isNode(node.source)) return;
  const specifier = String(node.source.value);
  if (DRIVERS.test(specifier) && !DRIVER_USERS.some((folder) => path.startsWith(folder))) {
    report("no-other-driver", `uses ${specifier}: go through the Vitess log, whose statements are checked`);
  }
}

/** Returns 1 for a text with SQL in it. Of a template, all pieces must be of one statement. */
function checkText(node: Node, statements: readonly string[], report: Report): number {
  const pieces = piecesOf(node).filter((piece) => LOOKS_LIKE_SQL.test(piece) || BEGINS_LIKE_SQL.test(piece));
  if (pieces.length === 0) return 0;
  const fragments = pieces.map(dense);
  const isListed = statements.some((sql) => fragments.every((fragment) => sql.includes(fragment)));
  if (!isListed) {
    const shown = fragments.join(" ... ").slice(0, 120);
    report("listed-sql", `has SQL that is in no statement of vitessStatements(): list it: ${shown}`);
  }
  return 1;
}

function piecesOf(node: Node): string[] {
  if (node.type === "Literal") return typeof node.value === "string" ? [node.value] : [];
  if (node.type !== "TemplateLiteral" || !Array.isArray(node.quasis)) return [];
  return node.quasis
    .filter(isNode)
    .map((quasi) => String((quasi.value as { cooked?: unknown }).cooked ?? ""));
}

/** `made`: names of statements found so far. One name, one place: then a listed name means a listed statement. */
function checkMaker(
  node: Node,
  path: string,
  names: ReadonlySet<string>,
  made: Set<string>,
  report: Report,
): void {
  if (node.type === "ObjectExpression" && path !== MAKER) {
    const keys = propertyNames(node);
    if (keys.has("sql") && (keys.has("access") || keys.has("isIdempotent"))) {
      report("made-in-one-place", "makes a statement by hand: use readStatement or writeStatement");
    }
  }
  if (node.type !== "CallExpression" || !isNode(node.callee)) return;
  const called = calledName(node.callee);
  const takesText = called === "connect" || (called === "send" && node.callee.type === "MemberExpression");
  if (takesText && path !== SENDER) {
    report("made-in-one-place", `calls ${called}, which takes any text: use execute with a statement`);
  }
  const [name] = Array.isArray(node.arguments) ? node.arguments.filter(isNode) : [];
  if (!MAKER_CALL.test(called) || !name) return;
  if (name.type === "Literal" && typeof name.value === "string") {
    if (made.has(name.value)) {
      report(
        "listed-sql",
        `makes a second statement ${name.value}, which the list need not hold: name it anew`,
      );
    }
    made.add(name.value);
  }
  // A name may be chosen or put together; one that is handed in stands at the caller.
  for (const piece of [...nodesOf(name)].flatMap(piecesOf).filter((each) => each !== "")) {
    const isListed = [...names].some((each) =>
      name.type === "Literal" ? each === piece : each.includes(piece),
    );
    if (!isListed)
      report("listed-sql", `makes the statement ${piece}, which is not in vitessStatements(): list it`);
  }
}

function calledName(callee: Node): string {
  if (callee.type === "Identifier") return String(callee.name);
  return callee.type === "MemberExpression" && isNode(callee.property) ? String(callee.property.name) : "";
}

function propertyNames(node: Node): Set<string> {
  const properties = Array.isArray(node.properties) ? node.properties.filter(isNode) : [];
  return new Set(properties.map(({ key }) => (isNode(key) ? String(key.name ?? key.value) : "")));
}

function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* nodesOf(child);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function dense(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
