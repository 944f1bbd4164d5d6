import type { Filter, Test } from "../../src/splitting/filter/filter.ts";
import type { Message } from "./filter-source.ts";

/** What a filter means, told as plainly and as slowly as can be: nothing of the product's own code is used. */
export function referenceMatches(filter: Filter, message: Message): boolean {
  if ("all" in filter) return filter.all.every((part) => referenceMatches(part, message));
  if ("any" in filter) return filter.any.some((part) => referenceMatches(part, message));
  if ("not" in filter) return !referenceMatches(filter.not, message);
  if ("everything" in filter) return true;
  if ("key" in filter) return holds(filter.key, message.key ?? undefined);
  if ("header" in filter) return holds(filter, headerOf(filter.header, message));
  return holds(filter, memberOf(filter.baggage, message));
}

/** undefined: absent; null: there, and no text. */
function holds(test: Test, value: string | null | undefined): boolean {
  if ("exists" in test) return test.exists === (value !== undefined);
  if (value === undefined || value === null) return false;
  if ("equals" in test) return value === test.equals;
  if ("in" in test) return test.in.includes(value);
  if ("prefix" in test) return value.startsWith(test.prefix);
  return engineFor(test.matches).test(value);
}

/** The last one: each filter is asked about many messages. */
let engine: { source: string; expression: RegExp } | null = null;

function engineFor(source: string): RegExp {
  if (engine?.source !== source) engine = { source, expression: new RegExp(`^(?:${source})$`, "u") };
  return engine.expression;
}

function headerOf(name: string, { headers }: Message): string | null | undefined {
  return headers.find(([other]) => other === name)?.[1];
}

function memberOf(name: string, message: Message): string | undefined {
  const header = headerOf("baggage", message);
  let value: string | undefined;
  for (const member of (header ?? "").split(",")) {
    const [, key, text = ""] = /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*=([^;]*)/.exec(member) ?? [];
    if (key !== name) continue;
    try {
      value = decodeURIComponent(text.replace(/^[ \t]+|[ \t]+$/g, ""));
    } catch {
      // Malformed: as if it were not there.
    }
  }
  return value;
}
