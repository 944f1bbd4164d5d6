import { assert } from "../../core/assert.ts";
import type { Automaton } from "./automaton.ts";
import { BeyondLimit, Budget } from "./budget.ts";
import { compileRegex } from "./compile-regex.ts";
import type { TextTest } from "./condition.ts";
import { MAX_COMPILE_STEPS, MAX_TABLE_ENTRIES } from "./limits.ts";
import { WordAutomaton } from "./word-automaton.ts";

/** What matches a value, and what decides about it: they agree because it is the same expression's automaton. */
export interface CompiledTest {
  holds(text: string): boolean;
  /** Made when it is asked for. */
  automaton(): Automaton;
  /** All texts that it holds for; null: it does not say. */
  readonly words: readonly string[] | null;
}

/** Compiles the tests of some filters, each expression once, within the limits of so many filters. */
export class TestCompiler {
  readonly #budget: Budget;
  readonly #maxTableEntries: number;
  readonly #expressions = new Map<string, CompiledTest>();
  #tableEntries = 0;

  constructor(filterCount: number) {
    this.#budget = new Budget(filterCount * MAX_COMPILE_STEPS);
    this.#maxTableEntries = filterCount * MAX_TABLE_ENTRIES;
  }

  /** Throws BeyondLimit. The expression is one that has no problem. */
  compile(test: TextTest): CompiledTest {
    if ("equals" in test) return wordTest([test.equals]);
    if ("in" in test) return wordTest(test.in);
    if ("prefix" in test) return prefixTest(test.prefix);
    const compiled = this.#compiled(test.matches);
    assert(typeof compiled !== "string", "an expression was not checked");
    return compiled;
  }

  /** What is wrong with an expression, or null. Throws BeyondLimit. */
  expressionProblem(source: string): string | null {
    const compiled = this.#compiled(source);
    return typeof compiled === "string" ? compiled : null;
  }

  /** The problem if there is one. */
  #compiled(source: string): CompiledTest | string {
    const known = this.#expressions.get(source);
    if (known) return known;
    const compiled = compileRegex(source, this.#budget);
    if (!compiled.ok) return compiled.message;
    const { automaton } = compiled;
    this.#tableEntries += automaton.tableEntries;
    if (this.#tableEntries > this.#maxTableEntries) {
      throw new BeyondLimit(`the expressions need more than ${this.#maxTableEntries} table entries together`);
    }
    const test = {
      holds: (text: string) => automaton.matches(text),
      automaton: () => automaton,
      words: null,
    };
    this.#expressions.set(source, test);
    return test;
  }
}

function wordTest(words: readonly string[]): CompiledTest {
  const automaton = once(() => new WordAutomaton(words, false));
  const [only] = words;
  if (words.length === 1) return { holds: (text) => text === only, automaton, words };
  const known = new Set(words);
  return { holds: (text) => known.has(text), automaton, words };
}

function prefixTest(prefix: string): CompiledTest {
  return {
    holds: (text) => text.startsWith(prefix),
    automaton: once(() => new WordAutomaton([prefix], true)),
    words: null,
  };
}

function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
