import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filterFieldOf } from "../../../src/protocol/filters.ts";
import { SchemaCollection } from "../../../src/protocol/json-schema.ts";
import type { FilterDialect } from "../../../src/splitting/filter/filter-dialect.ts";
import { MAX_FILTER_BYTES } from "../../../src/splitting/filter/limits.ts";
import { parseFilter } from "../../../src/splitting/filter/parse-filter.ts";
import { Contract, type OpenApi, type Schema } from "../../live/openapi-document.ts";
import { faultsOf, ODD_TEXTS } from "../../live/openapi-faults.ts";
import { inWordsAlone } from "../../live/openapi-filters.ts";
import { valuesOf } from "../../live/openapi-values.ts";

// What the document says of a filter's form, and what the parser refuses, are written twice: they must agree.

const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_517);
const FACTOR = Number(process.env.PROPERTY_FACTOR ?? 1);

const TEXT = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: fc.constantFrom(..."aB9~ \0\r\ud800é🚚`!#$%&'*+.^_|-/"), maxLength: 3 }),
  fc.string({ unit: fc.constantFrom(..."abz09._-"), minLength: 1, maxLength: 8 }),
  fc.integer({ min: 0, max: 20 }).map((lane) => `~${lane}`),
  fc.constantFrom(254, 255, 256, 1000, 1001).map((length) => "a".repeat(length)),
);

describe.each<[FilterDialect, string]>([
  ["fairlane", "Filter"],
  ["kafka", "BrokerFilter"],
])("a filter of %s", (dialect, name) => {
  const schemas = new SchemaCollection();
  const schema: Schema = schemas.of(filterFieldOf(dialect), "input");
  const contract = new Contract({
    openapi: "3.1.0",
    paths: {},
    components: { schemas: schemas.components },
  } as unknown as OpenApi);

  test("is a schema of its own, which refers to itself", () => {
    expect(schema).toEqual({ $ref: `#/components/schemas/${name}` });
    expect(JSON.stringify(schemas.components[name])).toContain(`"$ref":"#/components/schemas/${name}"`);
  });

  test("that the document calls valid is taken, but for what is said in words", () => {
    let taken = 0;
    fc.assert(
      fc.property(valuesOf(contract, schema), (value) => {
        const parsed = parseFilter(value, dialect);
        if (parsed.ok) taken += 1;
        else expect(inWordsAlone(parsed.issues), JSON.stringify([value, parsed.issues])).toBe(true);
      }),
      { seed: SEED, numRuns: 300 * FACTOR },
    );
    expect(taken).toBeGreaterThan(150);
  });

  test("of which the document calls one thing wrong is refused, at its place or the filter's", () => {
    const faults = faultsOf(contract, schema);
    expect(faults.length).toBeGreaterThan(200);
    for (const { what, value } of faults) {
      expect(parseFilter(value, dialect).ok, `${what}: ${JSON.stringify(value).slice(0, 300)}`).toBe(false);
    }
  });

  test.each<[string, (text: string) => unknown]>([
    ["the name of a header", (text) => ({ header: text, exists: true })],
    ["the name of a member", (text) => ({ baggage: text, exists: true })],
    ["the text of a header", (text) => ({ header: "a", equals: text })],
    ["one of the texts of a header", (text) => ({ header: "a", in: [text] })],
    ["the text of a member", (text) => ({ baggage: "a", equals: text })],
    ["the beginning of a header", (text) => ({ header: "a", prefix: text })],
    ["a key", (text) => ({ key: { equals: text } })],
    ["the beginning of a key", (text) => ({ key: { prefix: text } })],
  ])("has %s where the document says so", (_, filterOf) => {
    let taken = 0;
    fc.assert(
      fc.property(TEXT, (text) => {
        const parsed = parseFilter(filterOf(text), dialect);
        const isTaken = parsed.ok || inWordsAlone(parsed.issues);
        if (isTaken) taken += 1;
        expect(contract.isValid(schema, filterOf(text)), JSON.stringify(text)).toBe(isTaken);
      }),
      { seed: SEED, numRuns: 400 * FACTOR },
    );
    expect(taken).toBeGreaterThan(50);
  });

  test("nested deeper than the document shows is the same again", () => {
    const atom = { header: "a", equals: "b" };
    for (const value of [{ not: { any: [{ all: [{ not: atom }] }] } }, { all: [{ not: { not: atom } }] }]) {
      expect(contract.isValid(schema, value)).toBe(true);
      expect(parseFilter(value, dialect).ok).toBe(true);
    }
    const wrong = { not: { any: [{ all: [{ not: { header: "a", equal: "b" } }] }] } };
    expect(contract.isValid(schema, wrong)).toBe(false);
    expect(parseFilter(wrong, dialect).ok).toBe(false);
  });
});

test("what is said in words alone is told from the rest", () => {
  const issuesOf = (value: unknown) => {
    const parsed = parseFilter(value, "fairlane");
    return parsed.ok ? [] : parsed.issues;
  };
  const many = Array.from({ length: 200 }, (_, i) => `${i}${"x".repeat(MAX_FILTER_BYTES / 200)}`);
  for (const value of [
    { not: { everything: true } },
    { header: "a", matches: "(" },
    {
      any: [
        { header: "a", equals: "b" },
        { baggage: "c", matches: "[" },
      ],
    },
    { header: "a", in: many },
  ]) {
    expect(issuesOf(value).length, JSON.stringify(value)).toBeGreaterThan(0);
    expect(inWordsAlone(issuesOf(value))).toBe(true);
  }
  for (const value of [{}, { header: "a" }, { header: "a", equals: 1 }, { header: "a b", exists: true }]) {
    expect(inWordsAlone(issuesOf(value)), JSON.stringify(value)).toBe(false);
  }
});
