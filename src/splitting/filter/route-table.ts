import { type Matcher, matcherOf } from "./compile-filter.ts";
import { TestCompiler } from "./compile-test.ts";
import { conditionOf } from "./condition.ts";
import type { Filter } from "./filter.ts";
import { Readings } from "./readings.ts";
import type { FilterSubject } from "./subject.ts";

/** A filter matches only if one of its guards holds: the variable has one of the words. */
interface Guard {
  /** Of the variable in the readings. */
  number: number;
  words: readonly string[];
  /** The filter matches then, whatever else the message says. */
  isEnough: boolean;
}

interface Candidate {
  /** Place in the list of routes. */
  place: number;
  /** null: there is nothing more to ask. */
  matcher: Matcher | null;
}

interface WordIndex {
  number: number;
  candidates: Map<string, Candidate[]>;
}

/**
 * Which of many routes takes a message. The filters should be disjoint; where they are not, the first in the list
 * counts. Routes that want one of some words in a header are found by the word; only the others are tried in turn.
 */
export class RouteTable {
  /** Lookups need these headers of a message, and no others. */
  readonly headerNames: ReadonlySet<string>;
  readonly #names: readonly string[];
  readonly #readings = new Readings();
  readonly #indexes: readonly WordIndex[];
  /** By place. */
  readonly #unindexed: readonly { place: number; matcher: Matcher }[];

  /** Filters as `parseFilter` gives them. */
  constructor(routes: readonly { route: string; filter: Filter }[]) {
    const indexes = new Map<number, WordIndex>();
    const unindexed: { place: number; matcher: Matcher }[] = [];
    for (const [place, { filter }] of routes.entries()) {
      const matcher = matcherOf(filter, this.#readings, new TestCompiler(1));
      const guards = guardsOf(filter, this.#readings);
      if (guards === null) unindexed.push({ place, matcher });
      for (const guard of guards ?? []) addGuard(indexes, guard, { place, matcher });
    }
    this.#names = routes.map(({ route }) => route);
    this.#indexes = [...indexes.values()];
    this.#unindexed = unindexed;
    this.headerNames = this.#readings.headerNames;
  }

  /** null: no route takes it, the application does. */
  routeOf(subject: FilterSubject): string | null {
    const readings = this.#readings;
    readings.begin(subject);
    let first = this.#names.length;
    for (const { number, candidates } of this.#indexes) {
      const value = readings.read(number);
      const found = typeof value === "string" ? candidates.get(value) : undefined;
      if (found === undefined) continue;
      for (const { place, matcher } of found) {
        if (place < first && (matcher === null || matcher(readings))) first = place;
      }
    }
    for (const { place, matcher } of this.#unindexed) {
      if (place > first) break;
      if (matcher(readings)) {
        first = place;
        break;
      }
    }
    return this.#names[first] ?? null;
  }
}

function addGuard(
  indexes: Map<number, WordIndex>,
  { number, words, isEnough }: Guard,
  { place, matcher }: Candidate,
): void {
  const index = indexes.get(number) ?? { number, candidates: new Map<string, Candidate[]>() };
  indexes.set(number, index);
  for (const word of words) {
    const known = index.candidates.get(word) ?? [];
    known.push({ place, matcher: isEnough ? null : matcher });
    index.candidates.set(word, known);
  }
}

/** null: it can match without any word being there. */
function guardsOf(filter: Filter, readings: Readings): Guard[] | null {
  if ("any" in filter) {
    const guards = filter.any.map((part) => guardsOf(part, readings));
    return guards.every((some) => some !== null) ? guards.flat() : null;
  }
  if ("all" in filter) {
    const fewest = filter.all
      .map((part) => guardsOf(part, readings))
      .filter((some) => some !== null)
      .sort((a, b) => a.length - b.length)[0];
    return (
      fewest?.map((guard) => ({ ...guard, isEnough: guard.isEnough && filter.all.length === 1 })) ?? null
    );
  }
  if ("not" in filter || "everything" in filter) return null;
  const { variable, test } = conditionOf(filter, false);
  if (test === null || !("equals" in test || "in" in test)) return null;
  const words = "equals" in test ? [test.equals] : test.in;
  return [{ number: readings.numberOf(variable), words, isEnough: true }];
}
