import { assert } from "../../core/assert.ts";

/** What may be bound to a statement. Numbers are integers; anything else goes as text. */
export type SqlParam = string | number | null | Uint8Array;

/**
 * A statement's text with its parameters in it. Own code, not the driver's: that one leaves a `?` without a
 * parameter as it is, and builds an array of strings for each byte of a body, more memory than a Worker has for a
 * batch of 4 MiB.
 *
 * The statements hold no `?` but their placeholders; backslash escapes are on in every session (sql_mode has no
 * NO_BACKSLASH_ESCAPES; Vitess reads no other way).
 */
export function formatSql(sql: string, params: readonly SqlParam[]): string {
  const parts = sql.split("?");
  assert(parts.length === params.length + 1, "as many parameters as placeholders");
  let text = parts[0] ?? "";
  for (const [place, param] of params.entries()) text += literal(param) + (parts[place + 1] ?? "");
  return text;
}

function literal(param: SqlParam): string {
  if (param === null) return "NULL";
  if (typeof param === "string") return quoted(param);
  if (typeof param === "number") {
    assert(Number.isSafeInteger(param), "a number that is bound is an exact integer");
    return String(param);
  }
  assert(param instanceof Uint8Array, "bytes are bound as Uint8Array");
  return `x'${hex(param)}'`;
}

/** What would end a string, or read as an escape; NUL ends a statement for some readers. */
const SPECIAL = /[\0'\\]/g;
const ESCAPES: Record<string, string> = { "\0": "\\0", "'": "\\'", "\\": "\\\\" };

function quoted(text: string): string {
  assert(text.isWellFormed(), "text that is bound is well-formed");
  return `'${text.replace(SPECIAL, (char) => ESCAPES[char] ?? char)}'`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** Joined in pieces: appending two characters a million times leaves a million small strings. */
const HEX_CHUNK_BYTES = 4096;

function hex(bytes: Uint8Array): string {
  const chunks: string[] = [];
  for (let start = 0; start < bytes.length; start += HEX_CHUNK_BYTES) {
    let chunk = "";
    for (const byte of bytes.subarray(start, start + HEX_CHUNK_BYTES)) chunk += HEX[byte];
    chunks.push(chunk);
  }
  return chunks.join("");
}
