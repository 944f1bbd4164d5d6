import fc from "fast-check";
import type { Contract, Schema } from "./openapi-document.ts";

/**
 * Values that a schema of the document calls valid. It knows the keywords that the document uses for requests, and fails
 * on any other: a rule that is not understood would be a rule that nobody tests. A schema that refers to itself is gone
 * into once more, and then without what refers to it again.
 */

const ANNOTATIONS = ["description", "title", "default", "examples"];
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  any: [],
  $ref: ["$ref"],
  oneOf: ["oneOf"],
  anyOf: ["anyOf"],
  enum: ["type", "enum"],
  const: ["type", "const"],
  boolean: ["type"],
  integer: ["type", "minimum", "maximum"],
  number: ["type", "minimum", "maximum"],
  string: ["type", "pattern", "minLength", "maxLength", "contentEncoding"],
  array: ["type", "items", "minItems", "maxItems"],
  object: ["type", "properties", "required", "additionalProperties", "propertyNames", "maxProperties"],
};

export function kindOf(schema: Schema): string {
  for (const keyword of ["$ref", "oneOf", "anyOf", "enum", "const"]) if (keyword in schema) return keyword;
  return typeof schema.type === "string" ? schema.type : "any";
}

export function checkKeywords(schema: Schema): void {
  const known = KEYWORDS[kindOf(schema)];
  const unknown = Object.keys(schema).filter((name) => !known?.includes(name) && !ANNOTATIONS.includes(name));
  if (known === undefined || unknown.length > 0) {
    throw new Error(`no values are made for ${unknown.join(", ") || schema.type}: ${JSON.stringify(schema)}`);
  }
}

/** The alternatives of a `oneOf` or an `anyOf`. */
export function alternativesOf({ oneOf, anyOf }: Schema): Schema[] {
  return (oneOf ?? anyOf) as Schema[];
}

/** `full`: with every property that may be there. `trail`: the references that led here. */
export function valuesOf(
  contract: Contract,
  schema: Schema,
  full = false,
  trail: readonly string[] = [],
): fc.Arbitrary<unknown> {
  checkKeywords(schema);
  const inner = (part: unknown) => valuesOf(contract, part as Schema, full, trail);
  switch (kindOf(schema)) {
    case "$ref": {
      const { $ref } = schema as { $ref: string };
      return valuesOf(contract, contract.resolved({ $ref }), full, [...trail, $ref]);
    }
    case "oneOf":
    case "anyOf":
      return fc.oneof(...ending(alternativesOf(schema), trail).map(inner));
    case "enum":
      return fc.constantFrom(...(schema.enum as unknown[]));
    case "const":
      return fc.constant(schema.const);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer(boundsOf(schema));
    case "number":
      return fc.double({ ...boundsOf(schema), noNaN: true });
    case "string":
      return stringsOf(schema);
    case "array":
      return arraysOf(schema, inner(schema.items));
    case "object":
      return objectsOf(schema, inner, full);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

/** Those that come to an end, where a reference was followed twice already. */
function ending(alternatives: Schema[], trail: readonly string[]): Schema[] {
  const again = trail.filter((ref, i) => trail.indexOf(ref) < i);
  const found = alternatives.filter((one) => !again.some((ref) => JSON.stringify(one).includes(`"${ref}"`)));
  if (found.length === 0) throw new Error(`no value comes to an end: ${trail.join(" > ")}`);
  return found;
}

function boundsOf({ minimum, maximum }: Schema): { min: number; max: number } {
  if (typeof minimum !== "number" || typeof maximum !== "number")
    throw new Error("a number needs both its bounds");
  return { min: minimum, max: maximum };
}

/** Mostly short, now and then as long as it may be. */
function arraysOf({ minItems = 0, maxItems }: Schema, items: fc.Arbitrary<unknown>): fc.Arbitrary<unknown[]> {
  const min = minItems as number;
  const max = maxItems as number;
  if (typeof max !== "number")
    throw new Error("an array needs maxItems: nothing else bounds a request's work");
  const short = fc.array(items, { minLength: min, maxLength: Math.min(max, min + 3) });
  return fc.oneof(
    { weight: 12, arbitrary: short },
    { weight: 1, arbitrary: fc.array(items, { minLength: max, maxLength: max }) },
  );
}

function objectsOf(
  schema: Schema,
  inner: (part: unknown) => fc.Arbitrary<unknown>,
  full: boolean,
): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames, maxProperties } = schema;
  if (additionalProperties === undefined) throw new Error("an object must say what else may be in it");
  if (additionalProperties !== false) {
    if (Object.keys(properties as object).length > 0)
      throw new Error("a map must not have properties of its own");
    const names = stringsOf((propertyNames as Schema | undefined) ?? {});
    const maxKeys = Math.min(maxProperties as number, 4);
    return fc.dictionary(names, inner(additionalProperties), { maxKeys, minKeys: full ? 1 : 0 });
  }
  const model = Object.fromEntries(
    Object.entries(properties as Record<string, Schema>).map(([name, part]) => [name, inner(part)]),
  );
  return fc.record(model, { requiredKeys: full ? Object.keys(model) : (required as string[]) });
}

const LONG_CHARS = 1500;
const NAME_CHARS = [..."abcdefghijklmnopqrstuvwxyz0123456789._-"];

/** Texts of many kinds; a pattern chooses among them. */
function pools(minLength: number, maxLength: number): fc.Arbitrary<string>[] {
  const name = fc.string({ unit: fc.constantFrom(...NAME_CHARS), minLength: 1, maxLength: 40 });
  const longest = Math.min(maxLength, LONG_CHARS);
  return [
    name,
    name.map((text) => `${text}_dlq`),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom("a", " ", "%", "~", "é", "🚚", "\n", "'"),
      minLength: 1,
      maxLength: 12,
    }),
    fc.string({ unit: fc.constantFrom(..."aB9!#$%&'*+.^_|~-"), minLength: 1, maxLength: 12 }),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("base64")),
    fc.integer({ min: 0, max: 15 }).map((lane) => `~${lane}`),
    fc.constantFrom("a", "0", "é", "🚚", "=").map((character) => character.repeat(longest)),
    fc.constantFrom("a", "0", "é", "🚚").map((character) => character.repeat(minLength)),
    fc.constantFrom("__proto__", "constructor"),
    fc.constantFrom("\ud800", "\udc00\ud800"),
  ];
}

const PROBES = 200;
/** A pool of which less fits makes the generator search for long. */
const MIN_FITTING = PROBES / 3;

const probed = new Map<string, fc.Arbitrary<string>>();

/** The document repeats its few kinds of text again and again: each is looked into once. */
function stringsOf(schema: Schema): fc.Arbitrary<string> {
  checkKeywords({ ...schema, type: "string" });
  const { pattern, minLength, maxLength } = schema;
  const kind = JSON.stringify([pattern, minLength, maxLength]);
  const strings = probed.get(kind) ?? fittingStrings(schema);
  probed.set(kind, strings);
  return strings;
}

function fittingStrings(schema: Schema): fc.Arbitrary<string> {
  const minLength = (schema.minLength as number | undefined) ?? 0;
  const maxLength = (schema.maxLength as number | undefined) ?? Number.POSITIVE_INFINITY;
  const pattern = new RegExp((schema.pattern as string | undefined) ?? "", "u");
  const fits = (text: string) => {
    const length = [...text].length;
    return pattern.test(text) && length >= minLength && length <= maxLength;
  };
  const fitting = pools(minLength, maxLength).filter(
    (pool) => fc.sample(pool, { numRuns: PROBES, seed: 1 }).filter(fits).length >= MIN_FITTING,
  );
  if (fitting.length === 0) throw new Error(`no texts are made for ${JSON.stringify(schema)}`);
  return fc.oneof(...fitting.map((pool) => pool.filter(fits)));
}
