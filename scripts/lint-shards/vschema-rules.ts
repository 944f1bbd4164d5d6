import type { TableSchema } from "../schema/table-schema.ts";
import { TENANT } from "./table-rules.ts";
import type { Violation } from "./violation.ts";

/**
 * Vindex types that hash the bytes they are given (Vitess, go/vt/vtgate/vindexes: xxhash.go, binarymd5.go). Not `binary`,
 * whose keyspace ID is the name itself, so that names alike share a shard; not `hash` and `numeric`, which want
 * numbers; not `unicode_loose_md5` and `unicode_loose_xxhash`, which fold letter case and trailing spaces.
 */
export const BYTE_EXACT_VINDEXES = ["xxhash", "binary_md5"] as const;

type Json = Readonly<Record<string, unknown>>;

/** What vschema.json says must be what the SQL says, table by table, and nothing besides. */
export function vschemaViolations(file: string, text: string, tables: readonly TableSchema[]): Violation[] {
  const found: Violation[] = [];
  const add = (rule: string, advice: string) => {
    found.push({ where: file, rule, advice });
  };
  const vschema = readJson(text);
  if (!vschema) {
    add("vschema", "is no JSON object: write the keyspace's vschema");
    return found;
  }
  const extra = Object.keys(vschema).filter((field) => !["sharded", "vindexes", "tables"].includes(field));
  if (extra.length > 0) add("vschema", `has ${extra.join(", ")}, which the SQL has not: take it out`);
  if (vschema.sharded !== true) add("vschema", "does not say sharded: set it to true");
  const vindexes = object(vschema.vindexes);
  const listed = object(vschema.tables);
  for (const [name, vindex] of Object.entries(vindexes)) vindexViolations(name, object(vindex), listed, add);
  const names = new Set(tables.map(({ name }) => name));
  for (const name of Object.keys(listed).filter((each) => !names.has(each))) {
    add("vschema-tables", `has the table ${name}, which no SQL file makes: take it out`);
  }
  for (const { name } of tables) {
    if (listed[name] === undefined) add("vschema-tables", `lacks the table ${name}: add it`);
    else tableViolations(name, object(listed[name]), vindexes, add);
  }
  return found;
}

type Add = (rule: string, advice: string) => void;

function vindexViolations(name: string, vindex: Json, tables: Json, add: Add): void {
  const type = String(vindex.type);
  if (!BYTE_EXACT_VINDEXES.some((exact) => exact === type)) {
    add("vschema-vindex", `vindex ${name} is of type ${type}: use one of ${BYTE_EXACT_VINDEXES.join(", ")}`);
  }
  const isUsed = Object.values(tables).some((table) =>
    columnVindexes(object(table)).some((use) => use.name === name),
  );
  if (!isUsed) add("vschema-vindex", `vindex ${name} is used by no table: take it out`);
  const extra = Object.keys(vindex).filter((field) => field !== "type");
  if (extra.length > 0)
    add("vschema-vindex", `vindex ${name} has ${extra.join(", ")}: a hash of bytes needs none`);
}

function tableViolations(name: string, table: Json, vindexes: Json, add: Add): void {
  if (table.auto_increment !== undefined || table.type === "sequence") {
    add("no-sequence", `${name} uses a sequence, which one keyspace serves for all: take it out`);
  }
  const known = ["column_vindexes", "auto_increment", "type", "columns", "column_list_authoritative"];
  const extra = Object.keys(table).filter((field) => !known.includes(field) || field === "type");
  if (extra.length > 0) add("vschema", `table ${name} has ${extra.join(", ")}: take it out`);
  const uses = columnVindexes(table);
  const [use] = uses;
  const columns = use?.columns ?? (use?.column === undefined ? [] : [use.column]);
  if (uses.length !== 1 || !Array.isArray(columns) || columns.join() !== TENANT) {
    add("vschema-vindex", `table ${name} must have exactly one column vindex, on ${TENANT} alone`);
  } else if (vindexes[String(use?.name)] === undefined) {
    add("vschema-vindex", `table ${name} names the vindex ${use?.name}, which is not defined: define it`);
  }
}

function columnVindexes(table: Json): Json[] {
  return Array.isArray(table.column_vindexes) ? table.column_vindexes.map(object) : [];
}

function readJson(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    // What is no JSON is reported as such by the caller.
    return null;
  }
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}
