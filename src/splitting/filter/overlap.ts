import { MAX_HEADERS, MAX_HEADERS_BYTES } from "../../core/limits.ts";
import { type Allowed, allowedBy, type CompiledCondition, isImpossible } from "./allowed.ts";
import { BAGGAGE_HEADER } from "./baggage.ts";
import { type BaggagePart, placeBaggage } from "./baggage-overlap.ts";
import { BeyondLimit, Budget } from "./budget.ts";
import { hasMoreBytes } from "./code-points.ts";
import { TestCompiler } from "./compile-test.ts";
import { type Condition, type Variable, variableKey } from "./condition.ts";
import type { Filter } from "./filter.ts";
import type { FilterDialect } from "./filter-dialect.ts";
import { MAX_DECISION_STEPS } from "./limits.ts";
import { type Conjunction, conjunctionsOf, joined } from "./normal-form.ts";
import type { Witness } from "./witness.ts";

/**
 * Whether some message is matched by two filters. It is decided on the normal form: for each pair of conjunctions and
 * each variable by itself, whether it can be absent, no text, or a text that the automata of all conditions allow.
 * Only the header `baggage` and its members are not independent: see `placeBaggage`.
 *
 * `disjoint` is a proof, over all messages that the source can hold; `overlap` comes with a message that both match;
 * whatever is neither is `undecided`, with what was too large or too entangled.
 */
export type Overlap = { kind: "disjoint" } | { kind: "overlap"; witness: Witness } | Undecided;

export type Satisfiability =
  | { kind: "satisfiable"; witness: Witness }
  | { kind: "contradiction" }
  | Undecided;

export interface Undecided {
  kind: "undecided";
  /** A limit of this decision, the size of a message, or that a header is asked about whole and by its members. */
  because: "limit" | "size" | "baggage";
  /** For people; does not name the filters. */
  reason: string;
}

/** Both filters as `parseFilter` gives them, for this dialect. */
export function overlapOf(f: Filter, g: Filter, dialect: FilterDialect): Overlap {
  const answer = answerOf(dialect, new TestCompiler(2), () => {
    const right = conjunctionsOf(g);
    return conjunctionsOf(f).flatMap((left) => right.map((other) => [left, other] as const));
  });
  if (answer.kind === "possible") return { kind: "overlap", witness: answer.witness };
  return answer.kind === "impossible" ? { kind: "disjoint" } : answer;
}

/** Whether some message is matched by the filter at all. */
export function satisfiable(
  filter: Filter,
  dialect: FilterDialect,
  compiler = new TestCompiler(1),
): Satisfiability {
  const answer = answerOf(dialect, compiler, () => conjunctionsOf(filter).map((all) => [all, []] as const));
  if (answer.kind === "possible") return { kind: "satisfiable", witness: answer.witness };
  return answer.kind === "impossible" ? { kind: "contradiction" } : answer;
}

type Answer = { kind: "possible"; witness: Witness } | { kind: "impossible" } | Undecided;

function answerOf(
  dialect: FilterDialect,
  compiler: TestCompiler,
  pairsOf: () => readonly (readonly [Conjunction, Conjunction])[],
): Answer {
  let undecided: Undecided | null = null;
  try {
    const question = new Question(dialect, compiler);
    for (const [left, right] of pairsOf()) {
      const answer = question.ask(left, right);
      if (answer.kind === "possible") return answer;
      if (answer.kind === "undecided") undecided ??= answer;
    }
  } catch (error) {
    if (!(error instanceof BeyondLimit)) throw error;
    undecided = { kind: "undecided", because: "limit", reason: error.message };
  }
  return undecided ?? { kind: "impossible" };
}

/** A condition that was compiled once, and its number. */
interface Interned {
  index: number;
  condition: CompiledCondition;
}

interface VariablePart {
  variable: Variable;
  conditions: CompiledCondition[];
  allowed: Allowed;
}

/** What taking one up for a pair of conjunctions costs, in units of one step of an automaton. */
const STEPS_OF_A_CONDITION = 4;

/** Of one pair of filters: its conjunctions have most conditions in common, which are compiled and decided once. */
class Question {
  readonly #dialect: FilterDialect;
  readonly #budget = new Budget(MAX_DECISION_STEPS);
  readonly #compiler: TestCompiler;
  readonly #interned = new Map<string, Interned>();
  readonly #allowed = new Map<string, Allowed>();

  constructor(dialect: FilterDialect, compiler: TestCompiler) {
    this.#dialect = dialect;
    this.#compiler = compiler;
  }

  ask(left: Conjunction, right: Conjunction): Answer {
    const parts = this.#partsOf(joined(left, right));
    if (parts === null) return { kind: "impossible" };
    const baggage: BaggagePart = { header: null, members: [] };
    const headers: [string, string][] = [];
    const opaque: string[] = [];
    let key: string | null = null;
    for (const { variable, allowed, conditions } of parts) {
      if (variable.kind === "key") {
        if (!allowed.absent) key = allowed.text;
      } else if (variable.kind === "baggage") {
        baggage.members.push({ name: variable.name, conditions, allowed });
      } else if (variable.name === BAGGAGE_HEADER) {
        baggage.header = { conditions, allowed };
      } else if (!allowed.absent) {
        if (allowed.text !== null) headers.push([variable.name, allowed.text]);
        else opaque.push(variable.name);
      }
    }
    const placed = placeBaggage(baggage, this.#dialect, this.#budget);
    if (placed.kind === "impossible" || placed.kind === "undecided") return placed;
    if (placed.kind === "text") headers.push([BAGGAGE_HEADER, placed.text]);
    if (placed.kind === "opaque") opaque.push(BAGGAGE_HEADER);
    // Object.fromEntries defines: a header __proto__ is one as well.
    const witness: Witness = { headers: Object.fromEntries(headers) };
    if (opaque.length > 0) witness.opaqueHeaders = opaque;
    if (key !== null) witness.key = key;
    return this.#checked(witness);
  }

  /** null: some variable can be nothing at all. */
  #partsOf(conjunction: Conjunction): VariablePart[] | null {
    const byVariable = new Map<string, Interned[]>();
    for (const condition of conjunction) {
      this.#budget.spend(STEPS_OF_A_CONDITION);
      const key = variableKey(condition.variable);
      const known = byVariable.get(key);
      if (known) known.push(this.#intern(condition));
      else byVariable.set(key, [this.#intern(condition)]);
    }
    const parts: VariablePart[] = [];
    for (const interned of byVariable.values()) {
      const conditions = interned.map(({ condition }) => condition);
      const { variable } = conditions[0] as CompiledCondition;
      const allowed = this.#allowedBy(variable, interned, conditions);
      if (isImpossible(allowed)) return null;
      parts.push({ variable, conditions, allowed });
    }
    return parts;
  }

  #intern({ key, variable, test, negated }: Condition): Interned {
    const known = this.#interned.get(key);
    if (known) return known;
    const compiled = test && this.#compiler.compile(test);
    const interned = { index: this.#interned.size, condition: { variable, test: compiled, negated } };
    this.#interned.set(key, interned);
    return interned;
  }

  #allowedBy(variable: Variable, interned: readonly Interned[], conditions: CompiledCondition[]): Allowed {
    const key = interned
      .map(({ index }) => index)
      .sort((a, b) => a - b)
      .join();
    const allowed = this.#allowed.get(key) ?? allowedBy(conditions, variable, this.#dialect, this.#budget);
    this.#allowed.set(key, allowed);
    return allowed;
  }

  /** On a Fairlane topic the message must be one that a publish takes. */
  #checked(witness: Witness): Answer {
    if (this.#dialect !== "fairlane" || isPublishable(witness.headers)) return { kind: "possible", witness };
    const limit = `${MAX_HEADERS} headers or ${MAX_HEADERS_BYTES} bytes of them`;
    return { kind: "undecided", because: "size", reason: `a matching message may need more than ${limit}` };
  }
}

function isPublishable(headers: Readonly<Record<string, string>>): boolean {
  const texts = Object.entries(headers).flat();
  return texts.length <= 2 * MAX_HEADERS && !hasMoreBytes(texts.join(""), MAX_HEADERS_BYTES);
}
