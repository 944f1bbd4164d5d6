import type { SqlRow, SqlValue } from "../../durable/ports.ts";

/** What may be bound to a statement. */
export type SqlParam = string | number | null | Uint8Array;

/** A column that the schema declares NOT NULL TEXT. */
export function text(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function textOrNull(row: SqlRow, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

/** A column that the schema declares NOT NULL INTEGER or REAL. */
export function number(row: SqlRow, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new TypeError(`column ${column} holds no number`);
  return value;
}

export function numberOrNull(row: SqlRow, column: string): number | null {
  return row[column] === null ? null : number(row, column);
}

/** Blobs are ArrayBuffer on the platform and Uint8Array in Node. */
export function toBytes(value: SqlValue): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError("column holds no blob");
}

/** A body as it was bound: JSON source text or bytes. */
export function textOrBytes(row: SqlRow, column: string): string | Uint8Array {
  const value = row[column];
  return typeof value === "string" ? value : toBytes(value ?? null);
}
