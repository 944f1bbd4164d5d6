// Column types of the MySQL protocol to Vitess's names (query.proto, enum Type). The driver reads the name to cast a
// value and the character set to tell bytes from text.

const FLAG_UNSIGNED = 32;
const FLAG_ENUM = 256;
const FLAG_SET = 2048;
/** The character set of what is bytes. */
const CHARSET_BINARY = 63;

const NUMBERS: Readonly<Record<number, string>> = {
  0: "DECIMAL",
  1: "INT8",
  2: "INT16",
  3: "INT32",
  4: "FLOAT32",
  5: "FLOAT64",
  8: "INT64",
  9: "INT24",
  13: "YEAR",
  246: "DECIMAL",
};

const OTHERS: Readonly<Record<number, string>> = {
  6: "NULL_TYPE",
  7: "TIMESTAMP",
  10: "DATE",
  11: "TIME",
  12: "DATETIME",
  14: "DATE",
  16: "BIT",
  17: "TIMESTAMP",
  18: "DATETIME",
  19: "TIME",
  242: "VECTOR",
  245: "JSON",
  247: "ENUM",
  248: "SET",
  255: "GEOMETRY",
};

/** Column type to the name as text and as bytes. */
const STRINGS: Readonly<Record<number, readonly [text: string, bytes: string]>> = {
  15: ["VARCHAR", "VARBINARY"],
  253: ["VARCHAR", "VARBINARY"],
  254: ["CHAR", "BINARY"],
};

/** 249 to 252, and whatever a server may have got since: the driver needs to know only whether it is text. */
const LONG_STRING = ["TEXT", "BLOB"] as const;

export interface ColumnType {
  columnType: number;
  flags: number;
  charset: number;
  /** MariaDB has no JSON on the wire: it says so beside the type. */
  isJson: boolean;
}

export function fieldType({ columnType, flags, charset, isJson }: ColumnType): string {
  if (isJson) return "JSON";
  const number = NUMBERS[columnType];
  if (number !== undefined) {
    return number.startsWith("INT") && flags & FLAG_UNSIGNED ? `U${number}` : number;
  }
  const other = OTHERS[columnType];
  if (other !== undefined) return other;
  if (flags & FLAG_ENUM) return "ENUM";
  if (flags & FLAG_SET) return "SET";
  const [text, bytes] = STRINGS[columnType] ?? LONG_STRING;
  return charset === CHARSET_BINARY ? bytes : text;
}
