import { DEAD } from "./automaton.ts";
import { BeyondLimit, type Budget } from "./budget.ts";
import type { CodePointSet } from "./code-points.ts";
import { MAX_STATES } from "./limits.ts";
import type { ProgramState, RegexProgram } from "./regex-program.ts";
import { TableAutomaton } from "./table-automaton.ts";

/** Of the code points that no set of the expression holds: nothing follows them. */
const OTHER = 0;

interface Alphabet {
  starts: number[];
  classes: number[];
  classCount: number;
  /** Of each set of the program. */
  classesOfSets: number[][];
}

/** Stops as soon as it has more than MAX_STATES: throws BeyondLimit. */
export function determinise(program: RegexProgram, budget: Budget): TableAutomaton {
  const alphabet = alphabetOf(program.sets, budget);
  const { rows, accepting } = new SubsetConstruction(program, alphabet, budget).run();
  const { classCount } = alphabet;
  const table = new Int16Array(rows.length * classCount).fill(DEAD);
  const isLive = liveStates(rows, accepting);
  for (const [state, row] of rows.entries()) {
    for (const [classIndex, to] of row) if (isLive.has(to)) table[state * classCount + classIndex] = to;
  }
  return new TableAutomaton(
    alphabet.starts,
    alphabet.classes,
    classCount,
    table,
    Uint8Array.from(accepting, (accepts) => (accepts ? 1 : 0)),
  );
}

/** Code points that are in the same sets are one class. */
function alphabetOf(sets: readonly CodePointSet[], budget: Budget): Alphabet {
  const borders = new Set([0]);
  for (const set of sets) for (const [from, to] of set) borders.add(from).add(to + 1);
  const starts = [...borders].sort((a, b) => a - b);
  const indexOf = new Map(starts.map((start, index) => [start, index]));
  const members: number[][] = starts.map(() => []);
  for (const [setIndex, set] of sets.entries()) {
    for (const [from, to] of set) {
      const end = indexOf.get(to + 1) as number;
      for (let i = indexOf.get(from) as number; i < end; i++) members[i]?.push(setIndex);
      budget.spend(end);
    }
  }
  const known = new Map([["", OTHER]]);
  const classesOfSets: number[][] = sets.map(() => []);
  const classes = members.map((inSets) => {
    const key = inSets.join();
    const found = known.get(key);
    if (found !== undefined) return found;
    const classIndex = known.size;
    known.set(key, classIndex);
    for (const setIndex of inSets) classesOfSets[setIndex]?.push(classIndex);
    return classIndex;
  });
  return { starts, classes, classCount: known.size, classesOfSets };
}

class SubsetConstruction {
  readonly #states: readonly ProgramState[];
  readonly #start: number;
  readonly #alphabet: Alphabet;
  readonly #budget: Budget;
  /** The states of the program that each found state stands for; forks are followed and left out. */
  readonly #subsets: number[][] = [];
  readonly #accepting: boolean[] = [];
  readonly #found = new Map<string, number>();
  /** When a state of the program was last seen, by number of the closure. */
  readonly #seen: Uint32Array;
  #closures = 0;

  constructor(program: RegexProgram, alphabet: Alphabet, budget: Budget) {
    this.#states = program.states;
    this.#start = program.start;
    this.#alphabet = alphabet;
    this.#budget = budget;
    this.#seen = new Uint32Array(program.states.length);
  }

  run(): { rows: Map<number, number>[]; accepting: boolean[] } {
    const rows: Map<number, number>[] = [];
    this.#stateFor([this.#start]);
    for (let state = 0; state < this.#subsets.length; state++) rows.push(this.#row(state));
    return { rows, accepting: this.#accepting };
  }

  #row(state: number): Map<number, number> {
    const targets = new Map<number, number[]>();
    for (const member of this.#subsets[state] ?? []) {
      const read = this.#states[member];
      if (read?.kind !== "read") continue;
      const classes = this.#alphabet.classesOfSets[read.set] ?? [];
      this.#budget.spend(classes.length + 1);
      for (const classIndex of classes) {
        const list = targets.get(classIndex);
        if (list) list.push(read.to);
        else targets.set(classIndex, [read.to]);
      }
    }
    const row = new Map<number, number>();
    for (const [classIndex, list] of targets) row.set(classIndex, this.#stateFor(list));
    return row;
  }

  #stateFor(entries: readonly number[]): number {
    const subset = this.#closure(entries);
    const key = subset.join();
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    if (this.#subsets.length === MAX_STATES) {
      throw new BeyondLimit(`an expression needs more than ${MAX_STATES} states`);
    }
    const state = this.#subsets.push(subset) - 1;
    this.#found.set(key, state);
    this.#accepting.push(subset.some((member) => this.#states[member]?.kind === "end"));
    return state;
  }

  #closure(entries: readonly number[]): number[] {
    this.#closures += 1;
    const subset: number[] = [];
    const open = [...entries];
    this.#budget.spend(open.length);
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      if (this.#seen[member] === this.#closures) continue;
      this.#seen[member] = this.#closures;
      const state = this.#states[member] as ProgramState;
      if (state.kind === "fork") {
        this.#budget.spend(state.to.length);
        open.push(...state.to);
      } else subset.push(member);
    }
    return subset.sort((a, b) => a - b);
  }
}

/** From which some text is accepted. */
function liveStates(
  rows: readonly ReadonlyMap<number, number>[],
  accepting: readonly boolean[],
): Set<number> {
  const sources: number[][] = rows.map(() => []);
  for (const [state, row] of rows.entries()) for (const to of row.values()) sources[to]?.push(state);
  const open = accepting.flatMap((accepts, state) => (accepts ? [state] : []));
  const live = new Set(open);
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const source of sources[state] ?? []) {
      if (live.has(source)) continue;
      live.add(source);
      open.push(source);
    }
  }
  return live;
}
