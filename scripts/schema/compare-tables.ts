import type { ColumnSchema, KeySchema, TableSchema } from "./table-schema.ts";

/** How a server's table differs from its file, in a few words each; comments do not count. Empty: it does not. */
export function tableDifferences(file: TableSchema, live: TableSchema): string[] {
  const found: string[] = [];
  if (file.engine !== null && live.engine !== null && file.engine !== live.engine) {
    found.push(`engine is ${live.engine}, not ${file.engine}`);
  }
  if (file.hasForeignKey !== live.hasForeignKey) {
    found.push(file.hasForeignKey ? "has no foreign key" : "has a foreign key");
  }
  const columns = byName(live.columns);
  for (const column of file.columns) {
    const other = columns.get(column.name);
    if (other) found.push(...columnDifferences(column, other));
    else found.push(`column ${column.name} is missing`);
  }
  const wanted = byName(file.columns);
  for (const { name } of live.columns) if (!wanted.has(name)) found.push(`column ${name} is not in the file`);
  const keys = byName(live.keys);
  for (const key of file.keys) {
    const other = keys.get(key.name);
    if (!other) found.push(`key ${key.name} is missing`);
    else if (keyText(key) !== keyText(other)) {
      found.push(`key ${key.name} is ${keyText(other)}, not ${keyText(key)}`);
    }
  }
  const wantedKeys = byName(file.keys);
  for (const { name } of live.keys) if (!wantedKeys.has(name)) found.push(`key ${name} is not in the file`);
  return found;
}

function columnDifferences(file: ColumnSchema, live: ColumnSchema): string[] {
  const found: string[] = [];
  const compare = (what: string, wanted: unknown, is: unknown) => {
    if (wanted !== is) found.push(`column ${file.name}: ${what} is ${is ?? "none"}, not ${wanted ?? "none"}`);
  };
  compare("type", file.type, live.type);
  if (file.characterSet !== null) compare("character set", file.characterSet, live.characterSet);
  if (file.collation !== null) compare("collation", file.collation, live.collation);
  compare("NULL", file.nullable ? "allowed" : "refused", live.nullable ? "allowed" : "refused");
  compare("default", file.defaultValue, live.defaultValue);
  compare("AUTO_INCREMENT", file.autoIncrement ? "on" : "off", live.autoIncrement ? "on" : "off");
  compare("value", file.generated ? "generated" : "given", live.generated ? "generated" : "given");
  return found;
}

function keyText({ unique, parts }: KeySchema): string {
  const columns = parts.map(({ column, prefix, descending }) => {
    return `${column}${prefix === null ? "" : `(${prefix})`}${descending ? " DESC" : ""}`;
  });
  return `${unique ? "unique " : ""}(${columns.join(", ")})`;
}

function byName<T extends { name: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}
