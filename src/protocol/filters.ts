import { z } from "zod";
import { MAX_KEY_CODE_POINTS } from "../core/limits.ts";
import type { Filter } from "../splitting/filter/filter.ts";
import type { FilterDialect } from "../splitting/filter/filter-dialect.ts";
import {
  MAX_ATOMS,
  MAX_DEPTH,
  MAX_EXPRESSION_CODE_POINTS,
  MAX_FILTER_BYTES,
  MAX_NAME_BYTES,
  MAX_NODES,
  MAX_TEXT_CODE_POINTS,
} from "../splitting/filter/limits.ts";
import { parseFilter } from "../splitting/filter/parse-filter.ts";
import { NAMED_KEY_PATTERN } from "./fields.ts";

/**
 * What the document says of a filter. It is written out, as `parseFilter` does the reading: what is said here of forms,
 * names and lengths is what it refuses; the rest is said in words.
 */

/** Header names as a publish takes them; members of baggage may have one character more. */
const HEADER_NAME = "^[A-Za-z0-9!#$%&'*+.^_|~-]+$";
const MEMBER_NAME = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const WELL_FORMED = "^\\P{Cs}*$";
const HEADER_TEXT = "^[^\\r\\n\\u0000\\p{Cs}]*$";

interface FilterWords {
  id: string;
  description: string;
  headerName: string;
  headerText: string;
  key: object;
}

const LIMITS =
  `At most ${MAX_ATOMS} conditions, ${MAX_DEPTH} levels and ${MAX_FILTER_BYTES} bytes of JSON. What no message can match ` +
  "is refused, and so is what is too large to be decided upon";

const textOf = (pattern: string) => ({ type: "string", pattern, maxLength: MAX_TEXT_CODE_POINTS });
const prefixOf = (pattern: string) => ({ ...textOf(pattern), minLength: 1 });
const nameOf = (pattern: string) => ({ type: "string", pattern, minLength: 1, maxLength: MAX_NAME_BYTES });

const FAIRLANE: FilterWords = {
  id: "Filter",
  description:
    "Which messages a route takes, by their headers, baggage and partition key. `header`, whatever the case of its name, " +
    "`baggage`, a member of the W3C baggage header, and `key` are asked one thing each; `all`, `any` and `not` hold " +
    `filters again. ${LIMITS}`,
  headerName: HEADER_NAME,
  headerText: HEADER_TEXT,
  key: { type: "string", pattern: NAMED_KEY_PATTERN, minLength: 1, maxLength: MAX_KEY_CODE_POINTS },
};
const BROKER: FilterWords = {
  id: "BrokerFilter",
  description:
    "Which messages of a broker a route takes, by their headers, baggage and record key, of which RabbitMQ has none. " +
    `Names of headers have at most ${MAX_NAME_BYTES} bytes and are compared byte for byte; a header that stands twice counts by its last value, and one that is no ` +
    "UTF-8 text exists but equals nothing. " +
    `In all else as a filter of a Fairlane topic. ${LIMITS}`,
  headerName: WELL_FORMED,
  headerText: WELL_FORMED,
  key: textOf(WELL_FORMED),
};

function schemaOf({ id, description, headerName, headerText, key }: FilterWords): object {
  const again = { $ref: `#/$defs/${id}` };
  const filters = { type: "array", items: again, minItems: 1, maxItems: MAX_ATOMS };
  const atoms = (subject: string, name: object, text: string) =>
    Object.entries(testsOf(text)).map(([test, schema]) => only({ [subject]: name, [test]: schema }));
  return {
    description,
    anyOf: [
      ...atoms("header", nameOf(headerName), headerText),
      ...atoms("baggage", nameOf(MEMBER_NAME), WELL_FORMED),
      only({ key: { anyOf: [only({ equals: key }), only({ prefix: prefixOf(WELL_FORMED) })] } }),
      only({ all: filters }),
      only({ any: filters }),
      only({ not: again }),
      only({ everything: { type: "boolean", const: true } }),
    ],
    examples: [{ header: "x-dev", equals: "alice" }],
  };
}

function testsOf(pattern: string): Record<string, object> {
  return {
    exists: { type: "boolean" },
    equals: textOf(pattern),
    in: { type: "array", items: textOf(pattern), minItems: 1, maxItems: MAX_NODES - 1 },
    prefix: prefixOf(pattern),
    matches: {
      type: "string",
      minLength: 1,
      maxLength: MAX_EXPRESSION_CODE_POINTS,
      description: "A regular expression for the whole value, without back-references and look-around",
    },
  };
}

function only(properties: Record<string, object>): object {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

const FAIRLANE_SCHEMA = { id: FAIRLANE.id, override: schemaOf(FAIRLANE) };
const BROKER_SCHEMA = { id: BROKER.id, override: schemaOf(BROKER) };

function schemaFor(dialect: FilterDialect) {
  return dialect === "fairlane" ? FAIRLANE_SCHEMA : BROKER_SCHEMA;
}

/** A filter in its canonical form; what is wrong with it is said at its place. */
export function filterFieldOf(dialect: FilterDialect) {
  return z
    .unknown()
    .transform((value, context): Filter => {
      const parsed = parseFilter(value, dialect);
      if (parsed.ok) return parsed.filter;
      for (const { path, message } of parsed.issues)
        context.issues.push({ code: "custom", input: value, path, message });
      return z.NEVER;
    })
    .meta(schemaFor(dialect));
}

/** In replies: nothing validates it. */
export function filterReplyOf(dialect: FilterDialect) {
  return z.unknown().meta(schemaFor(dialect));
}

/** Of a native split: names of headers in lower case, and always a partition key. */
export const filterField = filterFieldOf("fairlane");
export const filterReply = filterReplyOf("fairlane");
