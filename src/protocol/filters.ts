import { z } from "zod";
import type { Filter } from "../splitting/filter/filter.ts";
import { parseFilter } from "../splitting/filter/parse-filter.ts";

/** Of a native split: names of headers in lower case, and always a partition key. */
const DIALECT = "fairlane";

const text = { type: "string" };
const tests = {
  exists: { type: "boolean" },
  equals: text,
  in: { type: "array", items: text, minItems: 1 },
  prefix: { ...text, minLength: 1 },
  matches: { ...text, description: "A regular expression for the whole value" },
};

function atoms(name: string): object[] {
  return Object.entries(tests).map(([test, schema]) => only({ [name]: { ...text, minLength: 1 }, [test]: schema }));
}

function only(properties: Record<string, object>): object {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

/** One level of it: what is inside `all`, `any` and `not` has the same form again. */
const FILTER_SCHEMA = {
  description:
    "Which messages a route takes, by their headers, baggage and partition key. `all`, `any` and `not` hold filters again",
  anyOf: [
    ...atoms("header"),
    ...atoms("baggage"),
    only({ key: { anyOf: [only({ equals: text }), only({ prefix: { ...text, minLength: 1 } })] } }),
    only({ everything: { const: true } }),
    only({ all: { type: "array", items: { type: "object" }, minItems: 1 } }),
    only({ any: { type: "array", items: { type: "object" }, minItems: 1 } }),
    only({ not: { type: "object" } }),
  ],
  examples: [{ header: "x-dev", equals: "alice" }],
};

/** A filter in its canonical form; what is wrong with it is said at its place. */
export const filterField = z
  .unknown()
  .transform((value, context): Filter => {
    const parsed = parseFilter(value, DIALECT);
    if (parsed.ok) return parsed.filter;
    for (const { path, message } of parsed.issues)
      context.issues.push({ code: "custom", input: value, path, message });
    return z.NEVER;
  })
  .meta({ override: FILTER_SCHEMA });

/** In replies: nothing validates it. */
export const filterReply = z.unknown().meta({ override: FILTER_SCHEMA });
