import type { Row, SchemaConnection } from "./connection.ts";
import {
  type ColumnSchema,
  isTextType,
  type KeySchema,
  normalType,
  type TableSchema,
} from "./table-schema.ts";

export interface LiveTable extends TableSchema {
  /** An estimate of the server's; null where it has none. */
  rowsRoughly: number | null;
}

/** The tables of the connection's database, by name. */
export async function readLiveTables(connection: SchemaConnection): Promise<Map<string, LiveTable>> {
  const tables = await connection.rows(
    `SELECT table_name AS name, engine AS engine, table_rows AS row_estimate FROM information_schema.tables
     WHERE table_schema = database()`,
  );
  const columns = await connection.rows(
    `SELECT table_name AS table_name, column_name AS name, column_type AS type, is_nullable AS nullable,
       column_default AS default_value, character_set_name AS character_set, collation_name AS collation,
       extra AS extra
     FROM information_schema.columns WHERE table_schema = database() ORDER BY table_name, ordinal_position`,
  );
  const parts = await connection.rows(
    `SELECT table_name AS table_name, index_name AS name, non_unique AS non_unique, column_name AS column_name,
       sub_part AS prefix, collation AS direction
     FROM information_schema.statistics WHERE table_schema = database()
     ORDER BY table_name, index_name, seq_in_index`,
  );
  const foreign = await connection.rows(
    `SELECT table_name AS table_name FROM information_schema.table_constraints
     WHERE table_schema = database() AND constraint_type = 'FOREIGN KEY'`,
  );
  return new Map(
    tables.map((table) => {
      const name = String(table.name);
      const ofTable = (row: Row) => String(row.table_name) === name;
      const live: LiveTable = {
        name,
        engine: table.engine === null ? null : String(table.engine).toLowerCase(),
        columns: columns.filter(ofTable).map(columnOf),
        keys: keysOf(parts.filter(ofTable)),
        hasForeignKey: foreign.some(ofTable),
        rowsRoughly: table.row_estimate === null ? null : Number(table.row_estimate),
      };
      return [name, live];
    }),
  );
}

function columnOf(row: Row): ColumnSchema {
  const type = normalType(String(row.type));
  const isText = isTextType(type);
  const extra = String(row.extra).toLowerCase();
  return {
    name: String(row.name),
    type,
    characterSet: isText ? String(row.character_set) : null,
    collation: isText ? String(row.collation) : null,
    nullable: row.nullable === "YES",
    defaultValue: defaultOf(row.default_value),
    autoIncrement: extra.includes("auto_increment"),
    generated: extra.includes("generated") && !extra.includes("default_generated"),
    hasComment: false,
  };
}

/** MariaDB shows text in quotes, and NULL as a word; MySQL shows neither. */
function defaultOf(value: unknown): string | null {
  if (value === null || value === "NULL") return null;
  const text = String(value);
  const quoted = /^'(.*)'$/s.exec(text)?.[1]?.replaceAll("''", "'");
  return quoted ?? text.toLowerCase().replace(/\([0-9]*\)$/, "");
}

function keysOf(rows: readonly Row[]): KeySchema[] {
  const keys = new Map<string, KeySchema>();
  for (const row of rows) {
    const name = String(row.name);
    const key = keys.get(name) ?? {
      name,
      unique: Number(row.non_unique) === 0,
      parts: [],
      hasComment: false,
    };
    key.parts.push({
      column: String(row.column_name),
      prefix: row.prefix === null ? null : Number(row.prefix),
      descending: row.direction === "D",
    });
    keys.set(name, key);
  }
  return [...keys.values()];
}
