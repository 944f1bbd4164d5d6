import type { Budget } from "./budget.ts";
import { hasMoreCodePoints } from "./code-points.ts";
import type { CompiledTest } from "./compile-test.ts";
import type { Variable } from "./condition.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import { type OccurringTexts, occurring } from "./occurring.ts";
import { shortestText } from "./shortest-text.ts";

/** A condition on one variable, ready to be asked. */
export interface CompiledCondition {
  variable: Variable;
  /** null: only whether it is there. */
  test: CompiledTest | null;
  negated: boolean;
}

/** What a variable may be, so that all conditions on it hold. */
export interface Allowed {
  absent: boolean;
  opaque: boolean;
  /** The shortest text, or one of few that can be at all; null: none. */
  text: string | null;
}

export function isImpossible({ absent, opaque, text }: Allowed): boolean {
  return !absent && !opaque && text === null;
}

/** `conditions` are of this variable. Throws BeyondLimit. */
export function allowedBy(
  conditions: readonly CompiledCondition[],
  variable: Variable,
  dialect: FilterDialect,
  budget: Budget,
): Allowed {
  const { absent, opaque, texts } = occurring(variable, dialect);
  const mustBeThere = conditions.some(({ test, negated }) => test === null && !negated);
  const mustBeAbsent = conditions.some(({ test, negated }) => test === null && negated);
  const mustBeText = conditions.some(({ test, negated }) => test !== null && !negated);
  return {
    absent: absent && !mustBeThere && !mustBeText,
    opaque: opaque && !mustBeAbsent && !mustBeText,
    text: mustBeAbsent || texts === null ? null : allowedText(conditions, texts, budget),
  };
}

/** Whether all conditions hold for a variable of this text. */
export function holdForText(conditions: readonly CompiledCondition[], text: string): boolean {
  return conditions.every(({ test, negated }) => (test === null || test.holds(text)) !== negated);
}

/** If the conditions name all texts that can hold: those of them that do, shortest first; null: they do not. */
export function listedTexts(
  conditions: readonly CompiledCondition[],
  texts: OccurringTexts,
  budget: Budget,
): string[] | null {
  const lists = conditions.flatMap(({ test, negated }) => (negated ? [] : [test?.words ?? []]));
  const shortest = lists.filter((list) => list.length > 0).sort((a, b) => a.length - b.length)[0];
  if (!shortest) return null;
  const sorted = [...shortest].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return sorted.filter((text) => {
    budget.spend(conditions.length + text.length);
    return texts.holds(text) && holdForText(conditions, text);
  });
}

function allowedText(
  conditions: readonly CompiledCondition[],
  texts: OccurringTexts,
  budget: Budget,
): string | null {
  const listed = listedTexts(conditions, texts, budget);
  if (listed) return listed[0] ?? null;
  const automataOf = (negated: boolean) =>
    conditions.flatMap((condition) =>
      condition.test && condition.negated === negated ? [condition.test.automaton()] : [],
    );
  const required = texts.automaton ? [texts.automaton, ...automataOf(false)] : automataOf(false);
  const text = shortestText(required, automataOf(true), texts.codePoints, budget);
  // If the shortest is too long, all are.
  return text === null || hasMoreCodePoints(text, texts.maxCodePoints) ? null : text;
}
