import type { FilterDialect } from "./filter-dialect.ts";
import type { FilterIssue } from "./filter-issues.ts";
import { MAX_FILTER_BYTES } from "./limits.ts";
import { type ParsedFilter, parseFilter } from "./parse-filter.ts";
import { type ShortCondition, ShortFilterError, ShortScanner } from "./short-scanner.ts";

/**
 * A filter as the command line takes it: conditions that must all hold, with commas or spaces between them.
 *
 *     filter    := condition { ("," | space) condition }
 *     condition := name                       it is there
 *                | "!" name                   it is not
 *                | name "=" text              it is this text
 *                | name "=" text "|" text …   it is one of them
 *                | name "^=" text             it begins with it
 *                | name "~=" expression       the whole of it is as the regular expression says
 *                | "key=" text | "key^=" text
 *     name      := header | "header:" header | "baggage:" member
 *
 * `x-user=alice, baggage:tenant=a|b key^=order-`. A text or name with a space, a comma or another of these signs in it
 * stands in double quotes, and a quote in it is doubled; a backslash is a backslash. A quoted name is a header, and a
 * header called key is `header:key`. Text that starts with `{` is the JSON of a filter. An issue names the place in the
 * text, where it can.
 */
export function parseShortFilter(text: string, dialect: FilterDialect): ParsedFilter {
  if (text.length > MAX_FILTER_BYTES) return refused(`must have at most ${MAX_FILTER_BYTES} characters`);
  if (text.trim() === "") {
    return refused('must not be empty; matching every message must be said: {"everything": true}');
  }
  if (text.trimStart().startsWith("{")) return parseJson(text, dialect);
  try {
    return parseConditions(new ShortScanner(text).conditions(), dialect);
  } catch (error) {
    if (!(error instanceof ShortFilterError)) throw error;
    return refused(error.message);
  }
}

function parseJson(text: string, dialect: FilterDialect): ParsedFilter {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return refused(`must be JSON, as it starts with {: ${error.message}`);
  }
  return parseFilter(value, dialect);
}

function parseConditions(conditions: readonly ShortCondition[], dialect: FilterDialect): ParsedFilter {
  const [only] = conditions as [ShortCondition];
  const isAlone = conditions.length === 1;
  const parsed = parseFilter(
    isAlone ? only.filter : { all: conditions.map(({ filter }) => filter) },
    dialect,
  );
  if (parsed.ok) return parsed;
  const issues: FilterIssue[] = [];
  for (const { path, message } of parsed.issues) {
    const condition = path.length === 0 ? undefined : isAlone ? only : conditions[Number(path[1])];
    if (!condition) {
      issues.push({ path, message });
      continue;
    }
    issues.push({ path, message: placedMessage(path, message, condition) });
    // What follows is the rest of the expression.
    if (condition.mayBeCut) break;
  }
  return { ok: false, issues };
}

/** Where it stands in the text, as nobody wrote the path. */
function placedMessage(path: FilterIssue["path"], message: string, condition: ShortCondition): string {
  const field = path.filter((part) => typeof part === "string" && part !== "all").join(".");
  const hint = condition.mayBeCut
    ? "; an expression with a comma, a space or a quote in it must be quoted"
    : "";
  return `at character ${condition.position}: ${field} ${message}${hint}`;
}

function refused(message: string): ParsedFilter {
  return { ok: false, issues: [{ path: [], message }] };
}
