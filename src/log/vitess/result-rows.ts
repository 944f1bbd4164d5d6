import type { Field } from "@planetscale/database";
import { fail } from "../../core/failure.ts";

/** A string holds bytes, a character each: who reads a column says whether they are text. */
export type SqlValue = string | number | null;
export type SqlRow = Record<string, SqlValue>;

const INTEGERS = new Set([
  "INT8",
  "INT16",
  "INT24",
  "INT32",
  "INT64",
  "UINT8",
  "UINT16",
  "UINT24",
  "UINT32",
  "UINT64",
]);
const REALS = new Set(["FLOAT32", "FLOAT64", "DECIMAL"]);
// The driver's own cast drops a leading byte order mark, and would let bytes that are no text pass as U+FFFD.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads a value as the driver hands it over: each character is a byte. Integers are exact or refused, never
 * rounded; all else stays as it is until it is read as text or bytes, since most of it is ASCII and needs no work.
 */
export function castValue(field: Field, value: string | null): SqlValue {
  if (value === null || value === undefined) return null;
  if (INTEGERS.has(field.type)) return exactInteger(value);
  if (REALS.has(field.type)) return Number(value);
  return field.type === "NULL" ? null : value;
}

export function exactInteger(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) fail("internal", "a number in the database is too large");
  return number;
}

const ASCII = /^[\0-\x7f]*$/;

function bytesOf(value: string): Uint8Array {
  const bytes = new Uint8Array(value.length);
  for (let place = 0; place < value.length; place++) bytes[place] = value.charCodeAt(place);
  return bytes;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return fail("internal", "a text in the database is not UTF-8");
  }
}

/** A column that the schema declares NOT NULL text. */
export function text(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== "string") return fail("internal", `column ${column} holds no text`);
  return ASCII.test(value) ? value : decodeText(bytesOf(value));
}

export function textOrNull(row: SqlRow, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function number(row: SqlRow, column: string): number {
  const value = row[column];
  return typeof value === "number" ? value : fail("internal", `column ${column} holds no number`);
}

export function numberOrNull(row: SqlRow, column: string): number | null {
  return row[column] === null ? null : number(row, column);
}

export function bytes(row: SqlRow, column: string): Uint8Array {
  const value = row[column];
  return typeof value === "string" ? bytesOf(value) : fail("internal", `column ${column} holds no bytes`);
}
