import { type KeyPart, PRIMARY, type TableSchema } from "../schema/table-schema.ts";
import type { Violation } from "./violation.ts";

/** InnoDB takes no longer key: rows in the DYNAMIC format, pages of 16 KiB. */
export const MAX_KEY_BYTES = 3072;
export const TENANT = "tenant";

const CHARACTER_BYTES: Readonly<Record<string, number>> = {
  ascii: 1,
  latin1: 1,
  binary: 1,
  utf8: 3,
  utf8mb3: 3,
  utf8mb4: 4,
};
const FIXED_BYTES: Readonly<Record<string, number>> = {
  tinyint: 1,
  smallint: 2,
  mediumint: 3,
  int: 4,
  bigint: 8,
  float: 4,
  double: 8,
  date: 3,
  year: 1,
};
/** Bytes without a fraction of seconds; a fraction takes one more for each two digits. */
const TIME_BYTES: Readonly<Record<string, number>> = { time: 3, timestamp: 4, datetime: 5 };
const NULL_BYTES = 1;
const LENGTH_BYTES = 2;

/** The rules for one table of the Vitess log. */
export function tableViolations(file: string, table: TableSchema): Violation[] {
  const found: Violation[] = [];
  const add = (rule: string, advice: string) => {
    found.push({ where: file, rule, advice });
  };
  if (!table.keys.some(({ name }) => name === PRIMARY)) {
    add("tenant-leads-keys", `${table.name} has no primary key: give it one that begins with ${TENANT}`);
  }
  for (const key of table.keys) {
    const what =
      key.name === PRIMARY ? "the primary key" : `${key.unique ? "unique key" : "index"} ${key.name}`;
    const [first] = key.parts;
    if (first?.column !== TENANT || first.prefix !== null) {
      const rule = key.unique ? "tenant-leads-keys" : "tenant-leads-indexes";
      add(
        rule,
        `${what} of ${table.name} begins with ${first?.column}: begin it with the whole of ${TENANT}`,
      );
    }
    if (!key.hasComment)
      add("comments", `${what} of ${table.name} has no COMMENT: say which query it serves`);
    lengthViolation(table, key.parts, (advice) => add("key-bytes", `${what} of ${table.name} ${advice}`));
  }
  for (const column of table.columns) {
    if (column.autoIncrement) {
      add("no-auto-increment", `column ${column.name}: a number for each shard is no offset; take it out`);
    }
    if (!column.hasComment) {
      add("comments", `column ${column.name} of ${table.name} has no COMMENT: say what it is and its unit`);
    }
  }
  tenantColumnViolation(table, (advice) => add("tenant-column", advice));
  if (table.hasForeignKey) {
    add(
      "no-foreign-key",
      `${table.name} has a foreign key, which a sharded keyspace does not enforce: take it out`,
    );
  }
  return found;
}

/** The vindex hashes bytes: what the database takes for equal must be the same bytes. */
function tenantColumnViolation(table: TableSchema, add: (advice: string) => void): void {
  const tenant = table.columns.find(({ name }) => name === TENANT);
  if (!tenant) {
    add(`${table.name} has no column ${TENANT}: add it`);
    return;
  }
  if (tenant.nullable)
    add(`column ${TENANT} of ${table.name} may be NULL, which has no shard: make it NOT NULL`);
  const isExact = tenant.type.startsWith("varbinary") || tenant.collation?.endsWith("_bin");
  if (!isExact) {
    add(`column ${TENANT} of ${table.name} is not compared byte for byte: give it a binary collation`);
  }
}

function lengthViolation(table: TableSchema, parts: readonly KeyPart[], add: (advice: string) => void): void {
  let bytes = 0;
  for (const part of parts) {
    const own = keyPartBytes(table, part);
    if (own === null) {
      add(`holds ${part.column}, whose length is not known: name a length, or a type that has one`);
      return;
    }
    bytes += own;
  }
  if (bytes >= MAX_KEY_BYTES) add(`is ${bytes} bytes long: stay under ${MAX_KEY_BYTES}`);
}

/** The most bytes that a column, or its beginning, takes in a key; null where its type does not say. */
export function keyPartBytes(table: TableSchema, part: KeyPart): number | null {
  const column = table.columns.find(({ name }) => name === part.column);
  if (!column) return null;
  const length = typeBytes(column.type, column.characterSet, part.prefix);
  return length === null ? null : length + (column.nullable ? NULL_BYTES : 0);
}

function typeBytes(type: string, characterSet: string | null, prefix: number | null): number | null {
  const [, word = "", size] = /^([a-z]+)(?:\(([0-9]+)(?:,[0-9]+)?\))?/.exec(type) ?? [];
  const fixed = FIXED_BYTES[word];
  if (fixed !== undefined) return fixed;
  const time = TIME_BYTES[word];
  if (time !== undefined) return time + Math.ceil(Number(size ?? 0) / 2);
  const length = prefix ?? (size === undefined ? null : Number(size));
  // A TEXT or BLOB is indexed by its beginning only.
  if (length === null || (/text$|blob$/.test(word) && prefix === null)) return null;
  switch (word) {
    case "binary":
      return length;
    case "varbinary":
    case "tinyblob":
    case "blob":
    case "mediumblob":
    case "longblob":
      return length + LENGTH_BYTES;
    case "char":
      return textBytes(length, characterSet);
    case "varchar":
    case "tinytext":
    case "text":
    case "mediumtext":
    case "longtext":
      return (textBytes(length, characterSet) ?? Number.NaN) + LENGTH_BYTES || null;
    default:
      return null;
  }
}

function textBytes(length: number, characterSet: string | null): number | null {
  const each = characterSet === null ? undefined : CHARACTER_BYTES[characterSet];
  return each === undefined ? null : length * each;
}
