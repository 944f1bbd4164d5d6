import { type Automaton, DEAD } from "./automaton.ts";

const ASCII = 128;

/** An automaton as a table of `states × classes`: what an expression is compiled to, and what matches values. */
export class TableAutomaton implements Automaton {
  readonly starts: readonly number[];
  readonly stateCount: number;
  readonly #classes: readonly number[];
  readonly #classCount: number;
  readonly #table: Int16Array;
  readonly #accepting: Uint8Array;
  readonly #asciiClasses: Uint16Array;

  /**
   * @param starts where an interval of one class begins, ascending from 0
   * @param classes the class of each interval
   * @param table the next state by `state * classCount + class`, or DEAD
   * @param accepting 1 for each state that accepts
   */
  constructor(
    starts: readonly number[],
    classes: readonly number[],
    classCount: number,
    table: Int16Array,
    accepting: Uint8Array,
  ) {
    this.starts = starts;
    this.stateCount = accepting.length;
    this.#classes = classes;
    this.#classCount = classCount;
    this.#table = table;
    this.#accepting = accepting;
    this.#asciiClasses = new Uint16Array(ASCII);
    for (const [index, start] of starts.entries()) {
      if (start >= ASCII) break;
      this.#asciiClasses.fill(classes[index] as number, start, starts[index + 1] ?? ASCII);
    }
  }

  get tableEntries(): number {
    return this.#table.length;
  }

  classOf(codePoint: number): number {
    return codePoint < ASCII ? (this.#asciiClasses[codePoint] as number) : this.#search(codePoint);
  }

  next(state: number, classIndex: number): number {
    return this.#table[state * this.#classCount + classIndex] as number;
  }

  isAccepting(state: number): boolean {
    return this.#accepting[state] === 1;
  }

  /** One step a code point, whatever the expression. */
  matches(text: string): boolean {
    const table = this.#table;
    const asciiClasses = this.#asciiClasses;
    const classCount = this.#classCount;
    let state = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      let classIndex: number;
      if (unit < ASCII) {
        classIndex = asciiClasses[unit] as number;
      } else {
        const codePoint = text.codePointAt(i) as number;
        if (codePoint > 0xffff) i++;
        classIndex = this.#search(codePoint);
      }
      state = table[state * classCount + classIndex] as number;
      if (state === DEAD) return false;
    }
    return this.isAccepting(state);
  }

  #search(codePoint: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] as number) <= codePoint) low = middle;
      else high = middle - 1;
    }
    return this.#classes[low] as number;
  }
}
