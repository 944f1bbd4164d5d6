import type { Atom, Test } from "./filter.ts";

/** What of a message is looked at. Each is a variable of its own, but that baggage members are part of a header. */
export type Variable = { kind: "header"; name: string } | { kind: "baggage"; name: string } | { kind: "key" };

/** About a text. */
export type TextTest = Exclude<Test, { exists: boolean }>;

/** One condition of a conjunction. */
export interface Condition {
  variable: Variable;
  /** null: only whether it is there. */
  test: TextTest | null;
  negated: boolean;
  /** The same for conditions that mean the same. */
  key: string;
}

/** What an atom that is not `everything` asks for, or its opposite. */
export function conditionOf(atom: Exclude<Atom, { everything: true }>, negated: boolean): Condition {
  if ("key" in atom) return condition({ kind: "key" }, textTestOf(atom.key), negated);
  const variable: Variable =
    "header" in atom ? { kind: "header", name: atom.header } : { kind: "baggage", name: atom.baggage };
  if ("exists" in atom) return condition(variable, null, atom.exists === negated);
  return condition(variable, textTestOf(atom), negated);
}

/** The same for the same variable. */
export function variableKey(variable: Variable): string {
  return variable.kind === "key" ? "key" : `${variable.kind}:${variable.name}`;
}

function condition(variable: Variable, test: TextTest | null, negated: boolean): Condition {
  return { variable, test, negated, key: JSON.stringify([variableKey(variable), test, negated]) };
}

function textTestOf(test: TextTest): TextTest {
  if ("equals" in test) return { equals: test.equals };
  if ("in" in test) return { in: test.in };
  if ("prefix" in test) return { prefix: test.prefix };
  return { matches: test.matches };
}
