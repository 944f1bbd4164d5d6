import parser from "node-sql-parser/build/mysql.js";
import { isObject, type RawNode, readStatement, text } from "./read-ast.ts";
import { closingIndex, isWord, joinTokens, type SqlToken, sqlTokens } from "./sql-tokens.ts";
import type { Statement } from "./statement-model.ts";

export interface ParsedStatement {
  statement: Statement;
  tokens: SqlToken[];
  /** Indexes that the statement asks for by a hint, with the name of the table or alias before it. */
  hintedIndexes: string[];
}

export class UnreadableStatement extends Error {
  override name = "UnreadableStatement";
}

interface Rewrite {
  /** What MySQL and Vitess take and node-sql-parser does not. */
  form: string;
  apply(tokens: readonly SqlToken[], hintedIndexes: string[]): SqlToken[];
}

/** All that is changed before parsing. Nothing here takes away a table, a condition or a limit. */
export const REWRITES: readonly Rewrite[] = [
  { form: "FORCE INDEX (name), USE INDEX (name), IGNORE INDEX (name)", apply: dropIndexHints },
  {
    form: "SELECT STRAIGHT_JOIN",
    apply: (tokens) =>
      tokens.filter((token, at) => !(isWord(token, "STRAIGHT_JOIN") && isWord(tokens[at - 1], "SELECT"))),
  },
  { form: "_charset 'text'", apply: (tokens) => tokens.map(dropIntroducer) },
];

const grammar = new parser.Parser();

/** Reads one statement; throws `UnreadableStatement` on what is no single SELECT, INSERT, REPLACE, UPDATE or DELETE. */
export function parseStatement(sql: string): ParsedStatement {
  const hintedIndexes: string[] = [];
  let tokens: SqlToken[];
  try {
    tokens = sqlTokens(sql).filter(({ kind }) => kind !== "comment");
  } catch (error) {
    throw new UnreadableStatement(firstLine(error));
  }
  let readable = tokens;
  for (const rewrite of REWRITES) readable = rewrite.apply(readable, hintedIndexes);
  return { statement: readStatement(onlyStatement(joinTokens(readable))), tokens, hintedIndexes };
}

function onlyStatement(sql: string): RawNode {
  let ast: unknown;
  try {
    ast = grammar.parse(sql, { database: "mysql" }).ast;
  } catch (error) {
    throw new UnreadableStatement(firstLine(error));
  }
  const statements = (Array.isArray(ast) ? ast : [ast]).filter(isObject);
  const [only] = statements;
  if (!only || statements.length > 1) {
    throw new UnreadableStatement(`${statements.length} statements where one is allowed`);
  }
  if (!["select", "insert", "replace", "update", "delete"].includes(text(only, "type"))) {
    throw new UnreadableStatement(`a ${text(only, "type")} statement`);
  }
  return only;
}

function dropIndexHints(tokens: readonly SqlToken[], hintedIndexes: string[]): SqlToken[] {
  const kept: SqlToken[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as SqlToken;
    const isHint = ["FORCE", "USE", "IGNORE"].some((word) => isWord(token, word));
    const next = tokens[at + 1];
    if (!isHint || !(isWord(next, "INDEX") || isWord(next, "KEY"))) {
      kept.push(token);
      continue;
    }
    const open = tokens.findIndex((each, index) => index > at && each.text === "(");
    const end = closingIndex(tokens, open);
    const names = tokens.slice(open + 1, end).filter(({ kind }) => kind === "word" || kind === "quoted");
    hintedIndexes.push(...names.map(({ text: name }) => name.replaceAll("`", "")));
    at = end;
  }
  return kept;
}

function dropIntroducer(token: SqlToken): SqlToken {
  if (token.kind !== "string") return token;
  return { kind: "string", text: token.text.replace(/^_[a-zA-Z0-9]+\s*/, "") };
}

/** The grammar's message lists everything that it expected instead: thousands of characters. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const found = /but (.*) found\.?$/s.exec(message)?.[1];
  return found ? `not read from ${found} on` : (message.split("\n", 1)[0] ?? "").slice(0, 200);
}
