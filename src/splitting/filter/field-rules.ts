import { SPREAD_LANES } from "../../core/limits.ts";
import { namedKeyProblem } from "../../core/names.ts";
import { isMemberName } from "./baggage.ts";
import { hasMoreBytes, hasMoreCodePoints } from "./code-points.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import { MAX_NAME_BYTES, MAX_TEXT_CODE_POINTS } from "./limits.ts";

/**
 * What names and texts a filter may hold. Each check answers null, or what is wrong in words that fit behind the field.
 * Texts that no message of the source can have are refused: their author is mistaken.
 */
export type Subject = "header" | "baggage" | "key";

/** As a publish takes them, before they are lower-cased: a Kelvin sign would become a plain k. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_|~-]+$/;

export function nameProblem(name: string, subject: Subject, dialect: FilterDialect): string | null {
  const problem = sizeProblem(name, MAX_NAME_BYTES) ?? wellFormedProblem(name);
  if (problem !== null) return problem;
  if (hasMoreBytes(name, MAX_NAME_BYTES)) return `must have at most ${MAX_NAME_BYTES} bytes`;
  if (name === "") return "must not be empty";
  if (subject === "baggage") {
    return isMemberName(name)
      ? null
      : "must be of letters, digits and !#$%&'*+.^_`|~-, as baggage members are";
  }
  if (dialect === "fairlane" && !HEADER_NAME.test(name)) {
    return "must be of letters, digits and !#$%&'*+.^_|~-, as header names are";
  }
  return null;
}

/** Of equals, in and prefix. */
export function textProblem(text: string, subject: Subject, dialect: FilterDialect): string | null {
  const problem = sizeProblem(text, MAX_TEXT_CODE_POINTS) ?? wellFormedProblem(text);
  if (problem !== null) return problem;
  if (dialect === "fairlane" && subject === "header" && /[\r\n\0]/.test(text)) {
    return "must not hold CR, LF or NUL: no header does";
  }
  return null;
}

/** Of equals on the key. */
export function keyProblem(key: string, dialect: FilterDialect): string | null {
  const problem = textProblem(key, "key", dialect);
  if (problem !== null || dialect !== "fairlane") return problem;
  if (!key.startsWith("~")) return namedKeyProblem(key);
  return namedKeyProblem(key) && `must be one of ~0 to ~${SPREAD_LANES - 1} if it starts with ~`;
}

/** Of prefix. */
export function prefixProblem(prefix: string, subject: Subject, dialect: FilterDialect): string | null {
  if (prefix === "") {
    return subject === "key"
      ? 'must not be empty: every message is {"everything": true}'
      : 'must not be empty: whether it is there at all is asked by {"exists": true}';
  }
  return textProblem(prefix, subject, dialect);
}

function sizeProblem(text: string, max: number): string | null {
  return hasMoreCodePoints(text, max) ? `must have at most ${max} characters` : null;
}

function wellFormedProblem(text: string): string | null {
  return text.isWellFormed() ? null : "must be well-formed Unicode: it holds a lone surrogate";
}
