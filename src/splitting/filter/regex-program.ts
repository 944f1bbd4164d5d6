import type { AST } from "@eslint-community/regexpp";
import { BeyondLimit, type Budget } from "./budget.ts";
import { type CodePointSet, codePointSet, inverse, type Range } from "./code-points.ts";
import { MAX_PROGRAM_STATES } from "./limits.ts";

/** What an expression must not hold, in words for its author. */
export class UnsupportedExpression extends Error {
  override name = "UnsupportedExpression";
}

export type ProgramState =
  /** Reads one code point of `sets[set]`. */
  | { kind: "read"; set: number; to: number }
  /** Goes on in each of them without reading. */
  | { kind: "fork"; to: number[] }
  | { kind: "end" };

/** What writing one out costs, in units of looking at one. */
const STEPS_OF_AN_ELEMENT = 10;

const TOO_LONG = `an expression is longer than ${MAX_PROGRAM_STATES} when it is written out`;

const LINE_ENDS: CodePointSet = codePointSet([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);
const DIGITS: CodePointSet = [[0x30, 0x39]];
const WORD: CodePointSet = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
/** WhiteSpace and LineTerminator of ECMA-262. */
const SPACES: CodePointSet = codePointSet([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]);

/**
 * A parsed expression with its repetitions written out: a nondeterministic automaton. It is built from its end, each
 * piece being given the state that follows it.
 */
export class RegexProgram {
  readonly states: ProgramState[] = [];
  readonly sets: CodePointSet[] = [];
  readonly start: number;
  readonly #setIndexes = new Map<string, number>();
  readonly #budget: Budget;

  /** Throws UnsupportedExpression, BeyondLimit. */
  constructor(pattern: AST.Pattern, budget: Budget) {
    this.#budget = budget;
    const end = this.#add({ kind: "end" });
    this.start = this.#fork(
      pattern.alternatives.map(({ elements }) => this.#sequence(withoutEnds(elements), end)),
    );
  }

  #add(state: ProgramState): number {
    if (this.states.length === MAX_PROGRAM_STATES) {
      throw new BeyondLimit(TOO_LONG);
    }
    return this.states.push(state) - 1;
  }

  #fork(to: number[]): number {
    return to.length === 1 ? (to[0] as number) : this.#add({ kind: "fork", to });
  }

  #read(set: CodePointSet, to: number): number {
    const key = set.join(";");
    let index = this.#setIndexes.get(key);
    if (index === undefined) {
      index = this.sets.push(set) - 1;
      this.#setIndexes.set(key, index);
    }
    return this.#add({ kind: "read", set: index, to });
  }

  #sequence(elements: readonly AST.Element[], next: number): number {
    return elements.reduceRight((to, element) => this.#element(element, to), next);
  }

  #element(element: AST.Element, next: number): number {
    // Repetitions of nothing add no state, and must end all the same.
    this.#budget.spend(STEPS_OF_AN_ELEMENT);
    switch (element.type) {
      case "Group":
        if (element.modifiers) throw new UnsupportedExpression("must not switch flags on or off");
        return this.#fork(element.alternatives.map(({ elements }) => this.#sequence(elements, next)));
      case "CapturingGroup":
        return this.#fork(element.alternatives.map(({ elements }) => this.#sequence(elements, next)));
      case "Quantifier":
        return this.#repeat(element, next);
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
        return this.#read(setOf(element), next);
      default:
        throw new UnsupportedExpression(refusal(element));
    }
  }

  /** Lazy or greedy is the same language. */
  #repeat({ element, min, max }: AST.Quantifier, next: number): number {
    const isEndless = max === Number.POSITIVE_INFINITY;
    if ((isEndless ? min : max) > MAX_PROGRAM_STATES) throw new BeyondLimit(TOO_LONG);
    let entry = next;
    let copies = min;
    if (isEndless) {
      const loop: number[] = [];
      entry = this.#add({ kind: "fork", to: loop });
      const body = this.#element(element, entry);
      loop.push(body, next);
      if (min > 0) {
        entry = body;
        copies -= 1;
      }
    } else {
      for (let optional = min; optional < max; optional++) {
        entry = this.#fork([this.#element(element, entry), next]);
      }
    }
    for (; copies > 0; copies--) entry = this.#element(element, entry);
    return entry;
  }
}

/** An expression is for the whole value: ^ and $ at its very ends say nothing more. */
function withoutEnds(elements: readonly AST.Element[]): readonly AST.Element[] {
  const first = elements[0];
  const from = first?.type === "Assertion" && first.kind === "start" ? 1 : 0;
  const last = elements.at(-1);
  const to = elements.length - (last?.type === "Assertion" && last.kind === "end" ? 1 : 0);
  return elements.slice(from, Math.max(from, to));
}

function setOf(
  element: AST.Character | AST.CharacterSet | AST.CharacterClass | AST.CharacterClassElement,
): CodePointSet {
  switch (element.type) {
    case "Character":
      return codePointSet([[element.value, element.value]]);
    case "CharacterClassRange":
      return codePointSet([[element.min.value, element.max.value]]);
    case "CharacterClass": {
      const set = codePointSet(element.elements.flatMap((part): readonly Range[] => setOf(part)));
      return element.negate ? inverse(set) : set;
    }
    case "CharacterSet":
      return characterSet(element);
    default:
      throw new UnsupportedExpression(refusal(element));
  }
}

function characterSet(element: AST.CharacterSet): CodePointSet {
  switch (element.kind) {
    case "any":
      return inverse(LINE_ENDS);
    case "digit":
      return element.negate ? inverse(DIGITS) : DIGITS;
    case "word":
      return element.negate ? inverse(WORD) : WORD;
    case "space":
      return element.negate ? inverse(SPACES) : SPACES;
    case "property":
      // A newer runtime knows more letters: filters that were apart would not be for sure.
      throw new UnsupportedExpression(
        `must not use ${element.raw}: it changes with the version of Unicode; list the characters`,
      );
  }
}

function refusal(element: AST.Element | AST.CharacterClassElement): string {
  if (element.type === "Backreference") return `must not refer back to a group: ${element.raw}`;
  if (element.type !== "Assertion") return `must not use ${element.raw}`;
  switch (element.kind) {
    case "lookahead":
    case "lookbehind":
      return `must not look around: ${element.raw}`;
    case "word":
      return `must not use ${element.raw}: write out what stands there`;
    default:
      return `may have ${element.raw} only at its very ends: it is for the whole value anyway`;
  }
}
