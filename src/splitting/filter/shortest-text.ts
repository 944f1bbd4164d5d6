import { type Automaton, DEAD } from "./automaton.ts";
import { BeyondLimit, type Budget } from "./budget.ts";
import type { CodePointSet } from "./code-points.ts";
import { MAX_EXPLORED_STATES } from "./limits.ts";
import { type ReadableCodePoint, readableIn } from "./readable.ts";

/** Code points that none of the automata tells apart. */
interface Letter extends ReadableCodePoint {
  /** For each automaton. */
  classes: readonly number[];
}

interface Place {
  /** Of each automaton. */
  states: readonly number[];
  /** The place before, and the code point that led here; null at the start. */
  before: { place: Place; codePoint: number } | null;
}

/**
 * The shortest text of these code points that all `required` accept and no `refused` does; null: there is none. Of
 * texts of one length the most readable, and the empty one only if there is no other. It is the intersection with the
 * complements, explored breadth first and never built. Throws BeyondLimit.
 */
export function shortestText(
  required: readonly Automaton[],
  refused: readonly Automaton[],
  codePoints: CodePointSet,
  budget: Budget,
): string | null {
  const automata = [...required, ...refused];
  const accepts = (states: readonly number[]): boolean =>
    automata.every((automaton, index) => {
      const state = states[index] as number;
      return (state !== DEAD && automaton.isAccepting(state)) === index < required.length;
    });
  const isHopeless = (states: readonly number[]): boolean =>
    required.some((_, index) => states[index] === DEAD);
  const letters = lettersOf(automata, codePoints, budget);
  const start: Place = { states: automata.map(() => 0), before: null };
  const seen = new Set([start.states.join()]);
  const open = [start];
  // Appended to while it is gone through.
  for (const place of open) {
    budget.spend(letters.length * (automata.length + 1));
    for (const letter of letters) {
      const states = automata.map((automaton, index) => {
        const state = place.states[index] as number;
        return state === DEAD ? DEAD : automaton.next(state, letter.classes[index] as number);
      });
      if (isHopeless(states)) continue;
      const next: Place = { states, before: { place, codePoint: letter.codePoint } };
      if (accepts(states)) return textTo(next);
      const key = states.join();
      if (seen.has(key)) continue;
      if (seen.size === MAX_EXPLORED_STATES) {
        throw new BeyondLimit(`more than ${MAX_EXPLORED_STATES} combined states`);
      }
      seen.add(key);
      open.push(next);
    }
  }
  return accepts(start.states) ? "" : null;
}

function lettersOf(automata: readonly Automaton[], codePoints: CodePointSet, budget: Budget): Letter[] {
  const borders = new Set<number>();
  for (const { starts } of automata) for (const start of starts) borders.add(start);
  for (const [from, to] of codePoints) borders.add(from).add(to + 1);
  const sorted = [...borders].sort((a, b) => a - b);
  const letters = new Map<string, Letter>();
  let range = 0;
  for (const [index, from] of sorted.entries()) {
    while (range < codePoints.length && (codePoints[range]?.[1] as number) < from) range++;
    const within = codePoints[range];
    if (!within) break;
    if (from < within[0]) continue;
    budget.spend(automata.length + 1);
    const classes = automata.map((automaton) => automaton.classOf(from));
    const readable = readableIn(from, (sorted[index + 1] as number) - 1);
    const key = classes.join();
    const known = letters.get(key);
    if (!known || readable.rank < known.rank) letters.set(key, { ...readable, classes });
  }
  return [...letters.values()].sort((a, b) => a.rank - b.rank || a.codePoint - b.codePoint);
}

function textTo(place: Place): string {
  const codePoints: number[] = [];
  for (let { before } = place; before !== null; before = before.place.before)
    codePoints.push(before.codePoint);
  return String.fromCodePoint(...codePoints.reverse());
}
