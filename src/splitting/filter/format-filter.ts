import type { Atom, Filter, Test } from "./filter.ts";

/** The same filter with its fields in one order, and the texts of `in` sorted, each once. */
export function canonicalFilter(filter: Filter): Filter {
  if ("all" in filter) return { all: filter.all.map(canonicalFilter) };
  if ("any" in filter) return { any: filter.any.map(canonicalFilter) };
  if ("not" in filter) return { not: canonicalFilter(filter.not) };
  if ("everything" in filter) return { everything: true };
  if ("header" in filter) return { header: filter.header, ...canonicalTest(filter) };
  if ("baggage" in filter) return { baggage: filter.baggage, ...canonicalTest(filter) };
  return { key: "equals" in filter.key ? { equals: filter.key.equals } : { prefix: filter.key.prefix } };
}

/** As it is stored and sent: JSON text of the canonical filter, the same for the same filter. */
export function filterText(filter: Filter): string {
  return JSON.stringify(canonicalFilter(filter));
}

/** As `parseShortFilter` reads it; null: it has no short form, only its JSON. */
export function shortFilter(filter: Filter): string | null {
  const canonical = canonicalFilter(filter);
  if (!("all" in canonical)) return shortAtom(canonical);
  if (canonical.all.length < 2) return null;
  const parts: string[] = [];
  for (const part of canonical.all) {
    const short = shortAtom(part);
    if (short === null) return null;
    parts.push(short);
  }
  return parts.join(", ");
}

function canonicalTest(test: Test): Test {
  if ("exists" in test) return { exists: test.exists };
  if ("equals" in test) return { equals: test.equals };
  if ("in" in test) return { in: [...new Set(test.in)].sort() };
  if ("prefix" in test) return { prefix: test.prefix };
  return { matches: test.matches };
}

function shortAtom(filter: Filter): string | null {
  if ("all" in filter || "any" in filter || "not" in filter || "everything" in filter) return null;
  if ("key" in filter) return `key${shortTest(filter.key)}`;
  const name = shortName(filter);
  if ("exists" in filter) return filter.exists ? name : `!${name}`;
  const test = shortTest(filter);
  return test && `${name}${test}`;
}

/** Names that the reader would not take for something else stand as they are. */
function shortName(atom: Exclude<Atom, { key: unknown } | { everything: true }>): string {
  const name = "header" in atom ? atom.header : atom.baggage;
  const isPlain = /^[A-Za-z0-9._-]+$/.test(name) && !/^(?:and|or|not)$/i.test(name);
  const shown = isPlain ? name : quoted(name);
  if ("baggage" in atom) return `baggage:${shown}`;
  return name === "key" ? `header:${shown}` : shown;
}

function shortTest(test: Exclude<Test, { exists: boolean }>): string | null {
  if ("equals" in test) return `=${shortValue(test.equals, /^[^\s,"|]+$/)}`;
  // One text with = is equals.
  if ("in" in test)
    return test.in.length < 2 ? null : `=${test.in.map((text) => shortValue(text, /^[^\s,"|]+$/)).join("|")}`;
  if ("prefix" in test) return `^=${shortValue(test.prefix, /^[^\s,"|]+$/)}`;
  return `~=${shortValue(test.matches, /^[^\s,"]+$/)}`;
}

function shortValue(value: string, plain: RegExp): string {
  return plain.test(value) && !value.startsWith("=") ? value : quoted(value);
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
