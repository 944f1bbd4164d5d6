import fc from "fast-check";
import type { Contract, Schema } from "./openapi-document.ts";
import { alternativesOf, checkKeywords, kindOf, valuesOf } from "./openapi-values.ts";

/** A value in which exactly one thing is wrong, by the document. */
export interface Fault {
  what: string;
  value: unknown;
  /** Where an issue must be, e.g. `messages[0].id`. */
  path: string;
  /** The variant of an object is told by what is there: the issue may be at a property beside this one. */
  orBeside?: string;
}

/** Texts that some pattern or length refuses; those that are fine where they are tried are left out. */
export const ODD_TEXTS = [
  "",
  " ",
  "a ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "~",
  "~x",
  "~16",
  "~01",
  "UPPER",
  "ü",
  ".a",
  "_dlq",
  "a_dlq",
  "a/b",
  "a\n",
  "\na",
  "a\r\nb",
  "AB==",
  "AAA",
  "A A=",
  "_-8=",
  "no-such-word",
  "a".repeat(129),
  "a".repeat(256),
  "🚚".repeat(256),
];

const OF_EACH_TYPE: readonly unknown[] = [null, true, 7, 1.5, "text", []];
/** Where an object or an array is expected, one with something else in it is wrong inside, not in its type. */
const WITH_CONTENT: readonly unknown[] = [[1], { some: 1 }];
const CONTAINERS = ["object", "array", "oneOf", "anyOf", "$ref"];

/**
 * All that can be wrong with a value of this schema, one thing at a time. What a schema refers to itself for is only tried
 * in its place: inside, the same is wrong as outside.
 *
 * @param trail the references that led here
 */
export function faultsOf(
  contract: Contract,
  schema: Schema,
  path = "",
  trail: readonly string[] = [],
): Fault[] {
  checkKeywords(schema);
  const [full] = fc.sample(valuesOf(contract, schema, true, trail), { numRuns: 1, seed: 2 });
  const isAgain = trail.includes(String(schema.$ref));
  const inner = isAgain ? [] : innerFaults({ contract, trail }, schema, full, path);
  return [...valueFaults(schema, path), ...inner].filter(({ value }) => !contract.isValid(schema, value));
}

/** Where in the document a schema was met. */
interface Place {
  contract: Contract;
  trail: readonly string[];
}

/** Of the value itself, whatever is in it. */
function valueFaults(schema: Schema, path: string): Fault[] {
  const fault = (what: string, value: unknown): Fault => ({ what, value, path });
  const others = CONTAINERS.includes(kindOf(schema)) ? OF_EACH_TYPE : [...OF_EACH_TYPE, ...WITH_CONTENT];
  const faults = others.map((value) => fault(`${JSON.stringify(value)} in its place`, value));
  switch (kindOf(schema)) {
    case "string":
    case "enum":
    case "const":
      return [...faults, ...ODD_TEXTS.map((text) => fault(`the text ${shown(text)}`, text))];
    case "integer":
    case "number": {
      const { minimum, maximum } = schema as { minimum: number; maximum: number };
      return [...faults, fault("below its minimum", minimum - 1), fault("above its maximum", maximum + 1)];
    }
    default:
      return faults;
  }
}

function innerFaults(place: Place, schema: Schema, full: unknown, path: string): Fault[] {
  const { contract, trail } = place;
  switch (kindOf(schema)) {
    case "$ref": {
      const { $ref } = schema as { $ref: string };
      return faultsOf(contract, contract.resolved({ $ref }), path, [...trail, $ref]);
    }
    case "array":
      return arrayFaults(place, schema, full as unknown[], path);
    case "object":
      return objectFaults(place, schema, full as Record<string, unknown>, path);
    case "oneOf":
    case "anyOf":
      return alternativesOf(schema).flatMap((variant) =>
        faultsOf(contract, variant, path, trail).map((fault) => ({ ...fault, orBeside: path })),
      );
    default:
      return [];
  }
}

function arrayFaults({ contract, trail }: Place, schema: Schema, full: unknown[], path: string): Fault[] {
  const { minItems, maxItems, items } = schema as { minItems?: number; maxItems: number; items: Schema };
  const faults: Fault[] = [];
  if (minItems !== undefined)
    faults.push({ what: "too few items", value: full.slice(0, minItems - 1), path });
  const [item] = fc.sample(valuesOf(contract, items, true, trail), { numRuns: 1, seed: 3 });
  faults.push({ what: "too many items", value: Array(maxItems + 1).fill(item), path });
  for (const fault of faultsOf(contract, items, `${path}[1]`, trail)) {
    faults.push({ ...fault, value: [item, fault.value] });
  }
  return faults;
}

function objectFaults(
  { contract, trail }: Place,
  schema: Schema,
  full: Record<string, unknown>,
  path: string,
): Fault[] {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>;
    required?: string[];
    additionalProperties: false | Schema;
  };
  const faults: Fault[] = [];
  for (const name of required) {
    const { [name]: _, ...value } = full;
    faults.push({ what: `without ${name}`, value, path: below(path, name) });
  }
  for (const name of ["unknownField", "__proto__"]) {
    const value = { ...full };
    Object.defineProperty(value, name, { value: "v", enumerable: true });
    if (additionalProperties === false) faults.push({ what: `with ${name}`, value, path: below(path, name) });
  }
  for (const [name, part] of Object.entries(properties)) {
    for (const fault of faultsOf(contract, part, below(path, name), trail)) {
      faults.push({ ...fault, value: { ...full, [name]: fault.value } });
    }
  }
  if (additionalProperties !== false) faults.push(...mapFaults(contract, schema, path));
  return faults;
}

/** Of an object whose names are free. */
function mapFaults(contract: Contract, schema: Schema, path: string): Fault[] {
  const { additionalProperties, maxProperties } = schema as {
    additionalProperties: Schema;
    maxProperties: number;
  };
  const faults = faultsOf(contract, additionalProperties, below(path, "named")).map(
    (fault): Fault => ({
      ...fault,
      value: { named: fault.value },
    }),
  );
  const odd = ODD_TEXTS.filter((name) => [...name].length < 100);
  for (const name of odd) {
    faults.push({ what: `the name ${shown(name)}`, value: { [name]: "v" }, path: below(path, name) });
  }
  const many = Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, i) => [`n${i}`, "v"]));
  faults.push({ what: "too many names", value: many, path });
  return faults;
}

/** As the API writes where something is: a name that is no identifier stands in brackets. */
export function below(path: string, name: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name.toWellFormed())}]`;
  return path === "" ? name : `${path}.${name}`;
}

export function shown(text: string): string {
  return JSON.stringify(text.length > 20 ? `${text.slice(0, 10)}… (${text.length})` : text);
}
