import { MAX_HEADERS, MAX_HEADERS_BYTES } from "../core/limits.ts";
import { utf8Length } from "./utf8.ts";

/**
 * A message's headers on their way in: pairs in source order, because an object would lose repeated
 * names, the order of names that look like integers, and `__proto__`.
 */
export type HeaderPair = readonly [name: string, value: unknown];

export interface HeaderIssue {
  /** null: the headers as a whole. */
  name: string | null;
  message: string;
}

/** Matched before lowering: a Kelvin sign would become a plain k. */
const NAME_PATTERN = /^[A-Za-z0-9!#$%&'*+.^_|~-]+$/;
const FORBIDDEN_IN_VALUE = /[\r\n\0]/;

/** At most one issue a header, and none after the count or the size is over: the list stays short. */
export function headerIssues(pairs: readonly HeaderPair[]): HeaderIssue[] {
  if (pairs.length > MAX_HEADERS) return [{ name: null, message: `must be at most ${MAX_HEADERS}` }];
  const issues: HeaderIssue[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of pairs) {
    const problem = nameProblem(name, seen) ?? valueProblem(value);
    if (problem !== null) issues.push({ name, message: problem });
    if (problem === null) bytes += name.length + utf8Length(value as string);
  }
  if (bytes > MAX_HEADERS_BYTES) {
    issues.push({
      name: null,
      message: `must have at most ${MAX_HEADERS_BYTES} bytes, names and values together`,
    });
  }
  return issues;
}

function nameProblem(name: string, seen: Set<string>): string | null {
  if (!NAME_PATTERN.test(name)) return "must have a name of letters, digits and !#$%&'*+.^_|~-";
  const lower = name.toLowerCase();
  if (seen.has(lower)) return "must be there only once, whatever the case of its letters";
  seen.add(lower);
  return null;
}

function valueProblem(value: unknown): string | null {
  if (typeof value !== "string") return "must be a string";
  if (FORBIDDEN_IN_VALUE.test(value)) return "must not hold CR, LF or NUL";
  return value.isWellFormed() ? null : "must be well-formed Unicode: it holds a lone surrogate";
}

/** Valid pairs as JSON object text with lower-case names, "" for none. */
export function headersText(pairs: readonly HeaderPair[]): string {
  if (pairs.length === 0) return "";
  let text = "";
  for (const [name, value] of pairs) {
    text += `${text === "" ? "{" : ","}"${name.toLowerCase()}":${JSON.stringify(value)}`;
  }
  return `${text}}`;
}
