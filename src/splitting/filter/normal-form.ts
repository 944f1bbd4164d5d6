import { BeyondLimit } from "./budget.ts";
import { type Condition, conditionOf } from "./condition.ts";
import type { Filter } from "./filter.ts";
import { MAX_CONJUNCTIONS } from "./limits.ts";

/** All of them have to hold; none: every message. */
export type Conjunction = readonly Condition[];

/** The filter as alternatives of conjunctions; none: no message. Throws BeyondLimit. */
export function conjunctionsOf(filter: Filter, negated = false): Conjunction[] {
  if ("not" in filter) return conjunctionsOf(filter.not, !negated);
  if ("all" in filter) return negated ? union(filter.all, true) : product(filter.all, false);
  if ("any" in filter) return negated ? product(filter.any, true) : union(filter.any, false);
  if ("everything" in filter) return negated ? [] : [[]];
  return [[conditionOf(filter, negated)]];
}

function union(filters: readonly Filter[], negated: boolean): Conjunction[] {
  const all: Conjunction[] = [];
  for (const filter of filters) {
    all.push(...conjunctionsOf(filter, negated));
    if (all.some((conjunction) => conjunction.length === 0)) return [[]];
    checkCount(all.length);
  }
  return all;
}

function product(filters: readonly Filter[], negated: boolean): Conjunction[] {
  // What has no alternatives comes first: it is not joined again and again to each of the others' alternatives.
  const parts = filters.map((filter) => conjunctionsOf(filter, negated)).sort((a, b) => a.length - b.length);
  let all: Conjunction[] = [[]];
  for (const part of parts) {
    checkCount(all.length * part.length);
    all = all.flatMap((left) => part.map((right) => joined(left, right)));
  }
  return all;
}

/** Both, and what they share once. */
export function joined(left: Conjunction, right: Conjunction): Conjunction {
  const known = new Set(left.map(({ key }) => key));
  return [...left, ...right.filter(({ key }) => !known.has(key))];
}

function checkCount(count: number): void {
  if (count > MAX_CONJUNCTIONS) {
    throw new BeyondLimit(`its alternatives are more than ${MAX_CONJUNCTIONS} when they are written out`);
  }
}
