import { RegExpParser, RegExpSyntaxError } from "@eslint-community/regexpp";
import type { Budget } from "./budget.ts";
import { hasMoreCodePoints } from "./code-points.ts";
import { determinise } from "./determinise.ts";
import { MAX_EXPRESSION_CODE_POINTS } from "./limits.ts";
import { RegexProgram, UnsupportedExpression } from "./regex-program.ts";
import type { TableAutomaton } from "./table-automaton.ts";

export type CompiledRegex = { ok: true; automaton: TableAutomaton } | { ok: false; message: string };

const parser = new RegExpParser();

/**
 * A regular expression of ECMA-262 with the flag u, for the whole value: as `^(?:…)$`. Throws BeyondLimit for one
 * that needs too much; `message` says what else is wrong with it.
 */
export function compileRegex(source: string, budget: Budget): CompiledRegex {
  if (hasMoreCodePoints(source, MAX_EXPRESSION_CODE_POINTS)) {
    return { ok: false, message: `must have at most ${MAX_EXPRESSION_CODE_POINTS} characters` };
  }
  try {
    const pattern = parser.parsePattern(source, 0, source.length, { unicode: true });
    return { ok: true, automaton: determinise(new RegexProgram(pattern, budget), budget) };
  } catch (error) {
    if (error instanceof UnsupportedExpression) return { ok: false, message: error.message };
    if (!(error instanceof RegExpSyntaxError)) throw error;
    return { ok: false, message: `is no regular expression: ${reasonOf(error, source)}` };
  }
}

/** The parser repeats the whole expression first, which its author knows. Its index may be that of any later character. */
function reasonOf({ message }: RegExpSyntaxError, source: string): string {
  const quoted = `/${source}/u: `;
  const at = message.indexOf(quoted);
  const reason = at === -1 ? message : message.slice(at + quoted.length);
  return `${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}
