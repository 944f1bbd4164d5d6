/** What a table looks like: read from its file, or from a server's information_schema. */
export interface TableSchema {
  name: string;
  /** Lower case; null where the file leaves it to the server. */
  engine: string | null;
  columns: ColumnSchema[];
  keys: KeySchema[];
  hasForeignKey: boolean;
}

export interface ColumnSchema {
  name: string;
  /** Lower case, as MySQL 8 shows it: `varchar(64)`, `bigint unsigned`; no display width of integers. */
  type: string;
  /** Of text columns, null for others. */
  characterSet: string | null;
  /** null for columns that are not text, and where the file leaves it to the character set's default. */
  collation: string | null;
  nullable: boolean;
  /** As text; null for none and for NULL. */
  defaultValue: string | null;
  autoIncrement: boolean;
  generated: boolean;
  hasComment: boolean;
}

export interface KeySchema {
  /** `PRIMARY` for the primary key. */
  name: string;
  unique: boolean;
  parts: KeyPart[];
  hasComment: boolean;
}

export interface KeyPart {
  column: string;
  /** Characters, for a key on the beginning of a column; null for all of it. */
  prefix: number | null;
  descending: boolean;
}

export const PRIMARY = "PRIMARY";

export function primaryKeyColumns(table: TableSchema): string[] {
  return table.keys.find(({ name }) => name === PRIMARY)?.parts.map(({ column }) => column) ?? [];
}

const TEXT_TYPE = /^(?:var)?char\b|^(?:tiny|medium|long)?text\b|^enum\b|^set\b/;

export function isTextType(type: string): boolean {
  return TEXT_TYPE.test(type);
}

const SYNONYMS: Readonly<Record<string, string>> = {
  integer: "int",
  dec: "decimal",
  numeric: "decimal",
  bool: "tinyint",
  boolean: "tinyint",
  real: "double",
  "double precision": "double",
};

/** MariaDB and MySQL 5.7 show `bigint(20) unsigned` where MySQL 8 shows `bigint unsigned`. */
export function normalType(type: string): string {
  const lower = type.trim().toLowerCase().replace(/\s+/g, " ");
  const withoutWidth = lower.replace(/^((?:tiny|small|medium|big)?int(?:eger)?)\([0-9]+\)/, "$1");
  const word = /^[a-z ]+?(?=\(| unsigned|$)/.exec(withoutWidth)?.[0] ?? withoutWidth;
  return (SYNONYMS[word] ?? word) + withoutWidth.slice(word.length);
}
