import { type Automaton, DEAD } from "./automaton.ts";
import { codePointsOf } from "./code-points.ts";

/** Of every code point that is in no word. */
const OTHER = 0;

/**
 * Accepts some words, or every text that begins with one of them: a tree, as large as the words are long. Values are
 * not matched by it, only decided upon.
 */
export class WordAutomaton implements Automaton {
  readonly starts: readonly number[];
  readonly #asPrefix: boolean;
  readonly #classes = new Map<number, number>();
  readonly #branches: Map<number, number>[] = [new Map()];
  readonly #ends = new Set<number>();

  constructor(words: readonly string[], asPrefix: boolean) {
    this.#asPrefix = asPrefix;
    for (const word of words) this.#add(word);
    const starts = new Set([0]);
    for (const codePoint of this.#classes.keys()) starts.add(codePoint).add(codePoint + 1);
    this.starts = [...starts].sort((a, b) => a - b);
  }

  classOf(codePoint: number): number {
    return this.#classes.get(codePoint) ?? OTHER;
  }

  next(state: number, classIndex: number): number {
    if (this.#asPrefix && this.#ends.has(state)) return state;
    return this.#branches[state]?.get(classIndex) ?? DEAD;
  }

  isAccepting(state: number): boolean {
    return this.#ends.has(state);
  }

  #add(word: string): void {
    let state = 0;
    for (const codePoint of codePointsOf(word)) {
      const classIndex = this.#classes.get(codePoint) ?? this.#classes.size + 1;
      this.#classes.set(codePoint, classIndex);
      const branches = this.#branches[state] as Map<number, number>;
      let next = branches.get(classIndex);
      if (next === undefined) {
        next = this.#branches.push(new Map()) - 1;
        branches.set(classIndex, next);
      }
      state = next;
    }
    this.#ends.add(state);
  }
}
