import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Budget } from "../../src/splitting/filter/budget.ts";
import { compileFilter } from "../../src/splitting/filter/compile-filter.ts";
import { compileRegex } from "../../src/splitting/filter/compile-regex.ts";
import { canonicalFilter, filterText, shortFilter } from "../../src/splitting/filter/format-filter.ts";
import { MAX_COMPILE_STEPS } from "../../src/splitting/filter/limits.ts";
import { parseFilter } from "../../src/splitting/filter/parse-filter.ts";
import { parseShortFilter } from "../../src/splitting/filter/parse-short-filter.ts";
import { RouteTable } from "../../src/splitting/filter/route-table.ts";
import { referenceMatches } from "./filter-reference.ts";
import { expression, filterFor, messagesOf, picksFor, subjectOf } from "./filter-source.ts";
import { holds } from "./replay.ts";

const picks = picksFor(8);
const anyText = fc.string({ unit: fc.constantFrom("a", "b", "c", "é", "😀", "7", "\n", "-"), maxLength: 6 });

describe("a filter", () => {
  test.each(["fairlane", "rabbitmq", "kafka"] as const)("matches what it means: %s", (dialect) => {
    let matched = 0;
    holds(
      fc.property(filterFor(dialect), picks, (filter, choices) => {
        const compiled = compileFilter(filter);
        for (const message of messagesOf([filter], choices, dialect)) {
          const expected = referenceMatches(filter, message);
          if (expected) matched += 1;
          expect(compiled.matches(subjectOf(message, dialect))).toBe(expected);
        }
      }),
    );
    expect(matched).toBeGreaterThan(300);
  });

  test("is read again as it was written", () => {
    let short = 0;
    holds(
      fc.property(filterFor("fairlane"), (filter) => {
        const parsed = parseFilter(filter, "fairlane");
        if (!parsed.ok) return;
        expect(parsed.filter).toEqual(canonicalFilter(filter));
        expect(parseFilter(JSON.parse(filterText(parsed.filter)), "fairlane")).toEqual(parsed);
        expect(filterText(parsed.filter)).toBe(filterText(filter));
        const text = shortFilter(parsed.filter);
        if (text === null) return;
        short += 1;
        expect(parseShortFilter(text, "fairlane")).toEqual(parsed);
      }),
    );
    expect(short).toBeGreaterThan(50);
  });

  test("is written in short with any names and texts", () => {
    const name = fc.oneof(
      fc.constantFrom("key", "header", "baggage:x", "header:", "!x", "a^=b", "~=", "{"),
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 6 }),
    );
    const value = fc.oneof(
      fc.constantFrom('"', '""', ",", "|", " ", "=", "\\"),
      fc.string({ unit: "grapheme", maxLength: 6 }),
    );
    const atom = fc.oneof(
      fc.record({ header: name, equals: value }),
      fc.record({ header: name, prefix: value.filter((text) => text !== "") }),
      fc.record({ header: name, in: fc.uniqueArray(value, { minLength: 2, maxLength: 3 }) }),
      fc.record({ header: name, exists: fc.boolean() }),
      fc.record({ key: fc.record({ equals: value }) }),
      fc.record({ baggage: fc.constantFrom("user", "a|b", "a^", "~"), equals: value }),
    );
    holds(
      fc.property(fc.array(atom, { minLength: 1, maxLength: 3 }), (atoms) => {
        const parsed = parseFilter(atoms.length === 1 ? atoms[0] : { all: atoms }, "kafka");
        if (!parsed.ok) return;
        expect(parseShortFilter(shortFilter(parsed.filter) as string, "kafka")).toEqual(parsed);
      }),
    );
  });
});

describe("a table of routes", () => {
  test("gives a message to the first route that matches", () => {
    let routed = 0;
    holds(
      fc.property(fc.array(filterFor("kafka"), { maxLength: 6 }), picks, (filters, choices) => {
        const table = new RouteTable(filters.map((filter, index) => ({ route: `route-${index}`, filter })));
        for (const message of messagesOf(filters, choices, "kafka")) {
          const first = filters.findIndex((filter) => referenceMatches(filter, message));
          if (first > 0) routed += 1;
          expect(table.routeOf(subjectOf(message, "kafka"))).toBe(first === -1 ? null : `route-${first}`);
        }
      }),
    );
    expect(routed).toBeGreaterThan(100);
  });
});

describe("an expression", () => {
  test("accepts what the engine does", () => {
    let accepted = 0;
    holds(
      fc.property(expression, fc.array(anyText, { minLength: 12, maxLength: 12 }), (source, texts) => {
        const compiled = compileRegex(source, new Budget(MAX_COMPILE_STEPS));
        if (!compiled.ok) throw new Error(compiled.message);
        const engine = new RegExp(`^(?:${source})$`, "u");
        for (const text of texts) {
          const expected = engine.test(text);
          if (expected) accepted += 1;
          expect(compiled.automaton.matches(text), JSON.stringify(text)).toBe(expected);
        }
      }),
      600,
    );
    expect(accepted).toBeGreaterThan(500);
  });
});
