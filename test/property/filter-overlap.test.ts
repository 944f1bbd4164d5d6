import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { namedKeyProblem } from "../../src/core/names.ts";
import { headerIssues } from "../../src/protocol/message-headers.ts";
import { compileFilter } from "../../src/splitting/filter/compile-filter.ts";
import type { Filter } from "../../src/splitting/filter/filter.ts";
import type { FilterDialect } from "../../src/splitting/filter/filter-dialect.ts";
import { overlapOf } from "../../src/splitting/filter/overlap.ts";
import { type ParsedFilter, parseFilter } from "../../src/splitting/filter/parse-filter.ts";
import { type Witness, witnessText } from "../../src/splitting/filter/witness.ts";
import { referenceMatches } from "./filter-reference.ts";
import { type Message, messageOf, messagesOf, pairFor, picksFor, subjectOf } from "./filter-source.ts";
import { holds } from "./replay.ts";

/** In all: FILTER_PAIRS has more of them compared. */
const PAIRS = Number(process.env.FILTER_PAIRS ?? 10_002);
const DIALECTS: readonly FilterDialect[] = ["fairlane", "rabbitmq", "kafka"];
const MESSAGES = 8;

interface Tally {
  disjoint: number;
  overlap: number;
  undecided: number;
  contradiction: number;
  tooLarge: number;
  /** Messages that both filters took. */
  taken: number;
}

class PairCheck {
  readonly tally: Tally = { disjoint: 0, overlap: 0, undecided: 0, contradiction: 0, tooLarge: 0, taken: 0 };
  readonly #dialect: FilterDialect;

  constructor(dialect: FilterDialect) {
    this.#dialect = dialect;
  }

  check(f: Filter, g: Filter, picks: readonly number[][]): void {
    const messages = messagesOf([f, g], picks, this.#dialect);
    const left = this.#parsed(f, messages);
    const right = this.#parsed(g, messages);
    if (!left.ok || !right.ok) return;
    const overlap = overlapOf(left.filter, right.filter, this.#dialect);
    this.tally[overlap.kind] += 1;
    const common = messages.filter((message) => referenceMatches(f, message) && referenceMatches(g, message));
    this.tally.taken += common.length;
    if (overlap.kind === "disjoint" && common.length > 0) expect(common).toEqual([]);
    if (overlap.kind === "overlap") for (const filter of [f, g]) this.#checkWitness(overlap.witness, filter);
  }

  #parsed(filter: Filter, messages: readonly Message[]): ParsedFilter {
    const parsed = parseFilter(filter, this.#dialect);
    if (parsed.ok) return parsed;
    const message = parsed.issues[0]?.message ?? "";
    if (message.startsWith("is too large")) {
      this.tally.tooLarge += 1;
      return parsed;
    }
    expect(message).toMatch(/^contradicts itself/);
    this.tally.contradiction += 1;
    expect(messages.filter((message) => referenceMatches(filter, message))).toEqual([]);
    return parsed;
  }

  #checkWitness(witness: Witness, filter: Filter): void {
    const message = messageOf(witness);
    const isTaken =
      referenceMatches(filter, message) && compileFilter(filter).matches(subjectOf(message, this.#dialect));
    if (!isTaken) expect.fail(`${JSON.stringify(filter)} does not take ${witnessText(witness)}`);
    if (this.#dialect !== "fairlane") return;
    const problems = [
      ...headerIssues(Object.entries(witness.headers)),
      ...(witness.opaqueHeaders ?? []),
      ...(witness.key === undefined ? [] : [namedKeyProblem(witness.key)]),
    ];
    if (problems.some((problem) => problem !== null)) expect(problems).toEqual([]);
  }
}

describe("two filters", () => {
  test.each(DIALECTS)("that are disjoint take no message both; a witness is taken by both: %s", (dialect) => {
    const pairs = new PairCheck(dialect);
    const runs = Math.ceil(PAIRS / DIALECTS.length);
    holds(
      fc.property(pairFor(dialect), picksFor(MESSAGES), ([f, g], picks) => pairs.check(f, g, picks)),
      runs,
    );
    const { tally } = pairs;
    console.log(dialect, JSON.stringify(tally));
    // Or the pairs would say little.
    expect(tally.disjoint).toBeGreaterThan(runs / 10);
    expect(tally.overlap).toBeGreaterThan(runs / 5);
    expect(tally.contradiction).toBeGreaterThan(runs / 100);
    expect(tally.undecided).toBeLessThan(runs / 10);
    expect(tally.tooLarge).toBeLessThan(runs / 100);
    expect(tally.taken).toBeGreaterThan(runs / 2);
  });

  test("are told the same in either order", () => {
    holds(
      fc.property(pairFor("kafka"), ([f, g]) => {
        expect(overlapOf(g, f, "kafka").kind).toBe(overlapOf(f, g, "kafka").kind);
      }),
    );
  });
});
