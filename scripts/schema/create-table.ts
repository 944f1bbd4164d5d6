import parser from "node-sql-parser/build/mysql.js";
import { sqlTokens } from "../lint-shards/sql-tokens.ts";
import {
  type ColumnSchema,
  isTextType,
  type KeyPart,
  type KeySchema,
  normalType,
  PRIMARY,
  primaryKeyColumns,
  type TableSchema,
} from "./table-schema.ts";

type RawNode = Readonly<Record<string, unknown>>;

export class UnreadableTable extends Error {
  override name = "UnreadableTable";
}

const grammar = new parser.Parser();

/** Reads a file with one CREATE TABLE; throws `UnreadableTable` on anything else. */
export function parseCreateTable(sql: string): TableSchema {
  const statement = onlyStatement(sql);
  const name = text(node(list(statement.table)[0]), "table");
  const options = list(statement.table_options).map(node);
  const definitions = list(statement.create_definitions).map(node);
  const table: TableSchema = {
    name,
    engine: option(options, /^engine$/)?.toLowerCase() ?? null,
    columns: [],
    keys: [],
    hasForeignKey: definitions.some((each) => /foreign key/i.test(text(each, "constraint_type"))),
  };
  const characterSet = option(options, /(?:character set|charset)$/)?.toLowerCase() ?? null;
  const collation = option(options, /collate$/)?.toLowerCase() ?? null;
  const isCommented = commentedDefinitions(sql);
  for (const [place, definition] of definitions.entries()) {
    const hasComment = isCommented[place] ?? false;
    if (definition.resource === "column") {
      const column = readColumn(definition, characterSet, collation);
      table.columns.push({ ...column, hasComment: column.hasComment || hasComment });
      table.keys.push(...columnKeys(definition));
    } else if (!/foreign key|check/i.test(text(definition, "constraint_type"))) {
      const key = readKey(definition);
      table.keys.push({ ...key, hasComment: key.hasComment || hasComment });
    }
  }
  checkKeys(table);
  return table;
}

/** Of each column and key, in their order: whether a `--` comment stands right before it. */
function commentedDefinitions(sql: string): boolean[] {
  const found: boolean[] = [];
  let depth = 0;
  let isStart = false;
  let hasComment = false;
  for (const { kind, text: part } of sqlTokens(sql)) {
    if (kind === "comment") {
      hasComment ||= isStart;
      continue;
    }
    if (isStart) found.push(hasComment);
    isStart = false;
    if (part === "(") isStart = ++depth === 1;
    else if (part === ")") depth--;
    else if (part === "," && depth === 1) isStart = true;
    if (isStart) hasComment = false;
  }
  return found;
}

function onlyStatement(sql: string): RawNode {
  let ast: unknown;
  try {
    ast = grammar.parse(sql, { database: "mysql" }).ast;
  } catch (error) {
    throw new UnreadableTable(problemOf(error));
  }
  const statements = list(ast).map(node);
  const [only] = statements;
  if (!only || statements.length > 1 || only.type !== "create" || only.keyword !== "table") {
    throw new UnreadableTable("not one CREATE TABLE");
  }
  return only;
}

/** The grammar's own message lists everything that it expected instead: thousands of characters. */
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = node(node(node(error).location).start).line;
  const found = /but (.*) found\.?$/s.exec(message)?.[1];
  return `line ${line ?? "?"}: ${found ? `not read from ${found} on` : message.slice(0, 200)}`;
}

function readColumn(
  definition: RawNode,
  characterSet: string | null,
  collation: string | null,
): ColumnSchema {
  const kind = node(definition.definition);
  const type = normalType(typeText(kind));
  const isText = isTextType(type);
  const ownSet = word(node(definition.character_set).value)?.toLowerCase() ?? null;
  const ownCollation = text(node(node(definition.collate).collate), "name").toLowerCase() || null;
  return {
    name: columnName(node(definition.column)),
    type,
    characterSet: isText ? (ownSet ?? characterSet) : null,
    // A column with a character set of its own does not take the table's collation.
    collation: isText ? (ownCollation ?? (ownSet === null ? collation : null)) : null,
    nullable: text(node(definition.nullable), "value").toLowerCase() !== "not null",
    defaultValue: defaultValue(definition.default_val),
    autoIncrement: Boolean(definition.auto_increment),
    generated: Boolean(definition.generated),
    hasComment: commentText(definition.comment) !== "",
  };
}

function typeText(kind: RawNode): string {
  const scale = typeof kind.scale === "number" ? `,${kind.scale}` : "";
  const length = kind.length === undefined || kind.length === null ? "" : `(${kind.length}${scale})`;
  const suffix = list(kind.suffix)
    .filter((part) => typeof part === "string")
    .join(" ");
  return `${text(kind, "dataType")}${length} ${suffix}`;
}

function defaultValue(value: unknown): string | null {
  const given = node(node(value).value);
  if (given.type === undefined || given.type === "null") return null;
  if (typeof given.value === "string" || typeof given.value === "number") return String(given.value);
  return word(list(node(given.name).name)[0])?.toLowerCase() ?? "";
}

/** PRIMARY KEY and UNIQUE written at the column. */
function columnKeys(definition: RawNode): KeySchema[] {
  const column = columnName(node(definition.column));
  const hasComment = commentText(definition.comment) !== "";
  const parts = [{ column, prefix: null, descending: false }];
  if (definition.primary_key) return [{ name: PRIMARY, unique: true, parts, hasComment }];
  if (definition.unique) return [{ name: column, unique: true, parts, hasComment }];
  return [];
}

function readKey(definition: RawNode): KeySchema {
  const type = `${text(definition, "constraint_type")} ${text(definition, "keyword")}`.toLowerCase();
  const isPrimary = type.includes("primary");
  const name = text(definition, "index") || text(definition, "constraint");
  const parts = list(definition.definition).map((part) => keyPart(node(part)));
  const comments = list(definition.index_options).map(node);
  return {
    name: isPrimary ? PRIMARY : name,
    unique: isPrimary || type.includes("unique"),
    parts,
    hasComment: comments.some((each) => each.type === "comment" && commentText(each) !== ""),
  };
}

function keyPart(part: RawNode): KeyPart {
  const prefix = /^\(([0-9]+)\)$/.exec(text(part, "suffix"))?.[1];
  return {
    column: columnName(part),
    prefix: prefix === undefined ? null : Number(prefix),
    descending: text(part, "order_by").toUpperCase() === "DESC",
  };
}

/** And makes the primary key's columns NOT NULL, as the server does. */
function checkKeys(table: TableSchema): void {
  if (table.name === "" || table.columns.length === 0) throw new UnreadableTable("a table without columns");
  const columns = new Set(table.columns.map(({ name }) => name));
  for (const { name, parts } of table.keys) {
    const unknown = parts.find(({ column }) => !columns.has(column));
    if (unknown) throw new UnreadableTable(`key ${name} names ${unknown.column}, which is no column`);
  }
  const primary = new Set(primaryKeyColumns(table));
  for (const column of table.columns) if (primary.has(column.name)) column.nullable = false;
}

function option(options: readonly RawNode[], keyword: RegExp): string | null {
  const found = options.find((each) => keyword.test(text(each, "keyword").toLowerCase()));
  return found ? word(found.value) : null;
}

/** A word, plain or as a node around it. */
function word(value: unknown): string | null {
  if (typeof value === "string") return value;
  const inner = node(value);
  if (typeof inner.value === "string") return inner.value;
  if (typeof inner.name === "string") return inner.name;
  return null;
}

function columnName(column: RawNode): string {
  return word(column.column) ?? word(node(column.column).expr) ?? "";
}

function commentText(comment: unknown): string {
  return word(node(comment).value)?.trim() ?? "";
}

function node(value: unknown): RawNode {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as RawNode) : {};
}

function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return value === null || value === undefined ? [] : [value];
}

function text(from: RawNode, field: string): string {
  const value = from[field];
  return typeof value === "string" ? value : "";
}
