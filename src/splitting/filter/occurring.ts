import { assert } from "../../core/assert.ts";
import { MAX_KEY_CODE_POINTS, SPREAD_LANES } from "../../core/limits.ts";
import { namedKeyProblem } from "../../core/names.ts";
import type { Automaton } from "./automaton.ts";
import { Budget } from "./budget.ts";
import { type CodePointSet, codePointSet, EVERY_CODE_POINT, inverse } from "./code-points.ts";
import { compileRegex } from "./compile-regex.ts";
import type { Variable } from "./condition.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import { MAX_COMPILE_STEPS } from "./limits.ts";

/** What a variable can be in a message that exists. */
export interface Occurring {
  absent: boolean;
  /** There, and no text. */
  opaque: boolean;
  /** null: never a text. */
  texts: OccurringTexts | null;
}

export interface OccurringTexts {
  codePoints: CodePointSet;
  /** Accepts them, but for their length; null: every text of the code points. */
  automaton: Automaton | null;
  maxCodePoints: number;
  holds(text: string): boolean;
}

const ANY_TEXT: OccurringTexts = {
  codePoints: EVERY_CODE_POINT,
  automaton: null,
  maxCodePoints: Number.POSITIVE_INFINITY,
  holds: () => true,
};
/** As a publish refuses the others: CR, LF and NUL. */
const HEADER_TEXT: OccurringTexts = {
  ...ANY_TEXT,
  codePoints: inverse(
    codePointSet([
      [0x00, 0x00],
      [0x0a, 0x0a],
      [0x0d, 0x0d],
    ]),
  ),
  holds: (text) => !/[\r\n\0]/.test(text),
};
const KEY_TEXT: OccurringTexts = {
  ...ANY_TEXT,
  automaton: keyAutomaton(),
  maxCodePoints: MAX_KEY_CODE_POINTS,
  holds: (text) => namedKeyProblem(text) === null,
};

/**
 * A member of the baggage is absent or any text, as it is percent-encoded. A key that is no text is as none to a
 * filter, which only asks whether it equals or begins with one.
 */
export function occurring({ kind }: Variable, dialect: FilterDialect): Occurring {
  switch (kind) {
    case "baggage":
      return { absent: true, opaque: false, texts: ANY_TEXT };
    case "header":
      return dialect === "fairlane"
        ? { absent: true, opaque: false, texts: HEADER_TEXT }
        : { absent: true, opaque: true, texts: ANY_TEXT };
    case "key":
      if (dialect === "fairlane") return { absent: false, opaque: false, texts: KEY_TEXT };
      return { absent: true, opaque: false, texts: dialect === "kafka" ? ANY_TEXT : null };
  }
}

/** A key as a producer may choose it, or the lane of a message that was published without. */
function keyAutomaton(): Automaton {
  const lanes = Array.from({ length: SPREAD_LANES }, (_, lane) => lane).join("|");
  const compiled = compileRegex(
    `~(?:${lanes})|[^~ \\0]|[^~\\0][^\\0]*[^ \\0]`,
    new Budget(MAX_COMPILE_STEPS),
  );
  assert(compiled.ok, "the rule of keys is an expression");
  return compiled.automaton;
}
