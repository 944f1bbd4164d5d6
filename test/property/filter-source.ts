import fc from "fast-check";
import type { Filter } from "../../src/splitting/filter/filter.ts";
import type { FilterDialect } from "../../src/splitting/filter/filter-dialect.ts";
import { type FilterSubject, objectSubject, pairsSubject } from "../../src/splitting/filter/subject.ts";
import type { Witness } from "../../src/splitting/filter/witness.ts";

/** Filters over few names and texts, so that they meet, and messages made of the texts that the filters speak of. */
export interface Message {
  /** null: a value that is no text. Names are there once. */
  headers: [name: string, value: string | null][];
  key: string | null;
}

/** What stands in an expression's way, and what does not. */
const TEXTS = ["a", "b", "ab", "ba", "aa", "abc", "user=a", "a=b", "c😀", "é"];
const CHARACTERS = ["a", "b", "c", "[ab]", "[^a]", ".", "\\w", "[^]", "é", "😀", "[a-c]", "\\d"];
const MEMBERS = ["user", "a"];
const KEYS = ["a", "ab", "b", "~0", "~15", "abc"];

const text = fc.constantFrom(...TEXTS);

/** `groupTimes`: what may stand behind a group. */
function expressionWith(groupTimes: readonly string[]): fc.Arbitrary<string> {
  return fc.letrec<{ whole: string; piece: string }>((tie) => ({
    whole: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom(...CHARACTERS),
      fc.array(tie("piece"), { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join("")),
      fc.tuple(tie("whole"), tie("whole")).map(([left, right]) => `${left}|${right}`),
    ),
    piece: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom(...CHARACTERS),
      fc
        .tuple(fc.constantFrom(...CHARACTERS), fc.constantFrom("*", "+", "?", "*?", "{2}", "{1,2}", "{0,3}?"))
        .map(([character, times]) => `${character}${times}`),
      fc.tuple(tie("whole"), fc.constantFrom(...groupTimes)).map(([whole, times]) => `(?:${whole})${times}`),
    ),
  })).whole;
}

export const expression = expressionWith(["", "*", "+", "?", "{2}", "{1,}"]);
/** The engine's own matching goes back and forth, which takes ages on a long text: that of a whole baggage. */
const tameExpression = expressionWith(["", "?"]);

function testWith(matches: fc.Arbitrary<string>) {
  return fc.oneof(
    { weight: 2, arbitrary: fc.boolean().map((exists) => ({ exists })) },
    { weight: 4, arbitrary: fc.oneof(text, fc.constant("")).map((equals) => ({ equals })) },
    { weight: 2, arbitrary: fc.array(text, { minLength: 1, maxLength: 3 }).map((texts) => ({ in: texts })) },
    { weight: 2, arbitrary: text.map((prefix) => ({ prefix })) },
    { weight: 4, arbitrary: matches.map((source) => ({ matches: source })) },
  );
}

const test = testWith(expression);
const tameTest = testWith(tameExpression);

/** A record of Kafka may have an empty one. */
function keysFor(dialect: FilterDialect): readonly string[] {
  return dialect === "kafka" ? ["", ...KEYS] : KEYS;
}

function atom(dialect: FilterDialect): fc.Arbitrary<Filter> {
  const named = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.tuple(fc.constantFrom("x", "y"), test).map(([header, one]) => ({ header, ...one })),
    },
    { weight: 1, arbitrary: tameTest.map((one) => ({ header: "baggage", ...one })) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...MEMBERS), test).map(([baggage, one]) => ({ baggage, ...one })),
    },
  );
  const key = fc.oneof(
    fc.constantFrom(...keysFor(dialect)).map((equals) => ({ key: { equals } })),
    fc.constantFrom("a", "ab", "~", "~1").map((prefix) => ({ key: { prefix } })),
  );
  const everything = fc.constant<Filter>({ everything: true });
  return fc.oneof(
    { weight: 12, arbitrary: named },
    ...(dialect === "rabbitmq" ? [] : [{ weight: 2, arbitrary: key }]),
    { weight: 1, arbitrary: everything },
  );
}

/** Not checked: some contradict themselves. */
export function filterFor(dialect: FilterDialect): fc.Arbitrary<Filter> {
  return fc.letrec<{ filter: Filter }>((tie) => {
    const parts = fc.array(tie("filter"), { minLength: 1, maxLength: 3 });
    return {
      filter: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        atom(dialect),
        parts.map((all) => ({ all })),
        parts.map((any) => ({ any })),
        tie("filter").map((not) => ({ not })),
      ),
    };
  }).filter;
}

/** Two that often ask the same header, so that they often exclude each other. */
export function pairFor(dialect: FilterDialect): fc.Arbitrary<[Filter, Filter]> {
  const filter = filterFor(dialect);
  const narrowed = fc
    .tuple(test, fc.option(filter, { freq: 2 }))
    .map(
      ([one, more]): Filter => (more ? { all: [{ header: "x", ...one }, more] } : { header: "x", ...one }),
    );
  return fc.oneof(fc.tuple(filter, filter), fc.tuple(narrowed, narrowed));
}

/** As the source would hand it over. */
export function subjectOf({ headers, key }: Message, dialect: FilterDialect): FilterSubject {
  if (dialect === "fairlane") return objectSubject(Object.fromEntries(headers), key);
  const encoder = new TextEncoder();
  return pairsSubject(
    headers.flatMap(([name, value]) => [
      // What is repeated before does not count.
      [name, 7] as const,
      [name, value === null ? Uint8Array.of(0xff) : encoder.encode(value)] as const,
    ]),
    key,
  );
}

export function messageOf(witness: Witness): Message {
  const headers: Message["headers"] = Object.entries(witness.headers);
  for (const name of witness.opaqueHeaders ?? []) headers.push([name, null]);
  return { headers, key: witness.key ?? null };
}

/** Small lists of numbers, each of which is made a message of by `messagesOf`. */
export function picksFor(messages: number): fc.Arbitrary<number[][]> {
  const bits = fc.nat(2 ** 30 - 1);
  return fc
    .array(fc.tuple(bits, bits), { minLength: messages, maxLength: messages })
    .map((list) => list.map((pair) => pair.flatMap((one) => [one & 1023, (one >> 10) & 1023, one >> 20])));
}

/** Texts that the filters speak of, and some beside; not only those that they take. */
export function textsOf(filters: readonly Filter[]): string[] {
  const found = new Set(["", ...TEXTS]);
  const visit = (filter: Filter): void => {
    if ("all" in filter) for (const part of filter.all) visit(part);
    else if ("any" in filter) for (const part of filter.any) visit(part);
    else if ("not" in filter) visit(filter.not);
    else if ("equals" in filter) found.add(filter.equals);
    else if ("in" in filter) for (const one of filter.in) found.add(one);
    else if ("prefix" in filter) found.add(filter.prefix).add(`${filter.prefix}c`);
    else if ("matches" in filter) for (const one of filter.matches.match(/[a-cé]+/g) ?? []) found.add(one);
  };
  for (const filter of filters) visit(filter);
  return [...found];
}

/** One message of the dialect for each list of picks, each of which chooses what one variable is. */
export function messagesOf(
  filters: readonly Filter[],
  picks: readonly (readonly number[])[],
  dialect: FilterDialect,
): Message[] {
  const texts = textsOf(filters);
  return picks.map(([x = 0, y = 0, user = 0, a = 0, raw = 0, key = 0]) => {
    const headers: [string, string | null][] = [];
    for (const [name, pick] of [
      ["x", x],
      ["y", y],
    ] as const) {
      const value = chosen(texts, pick, dialect !== "fairlane");
      if (value !== undefined) headers.push([name, value]);
    }
    const members = [
      ["user", user],
      ["a", a],
    ] as const;
    const written = members.flatMap(([name, pick]) => {
      const value = chosen(texts, pick, false);
      return value === undefined ? [] : [`${name} = ${encodeURIComponent(value ?? "")};p=1`];
    });
    const whole = raw % 4 === 0 ? chosen(texts, raw >> 2, dialect !== "fairlane") : undefined;
    if (whole !== undefined) headers.push(["baggage", whole]);
    else if (written.length > 0) headers.push(["baggage", written.join(" ,")]);
    return { headers, key: keyFor(key, dialect) };
  });
}

/** undefined: absent, every fourth time. */
function chosen(texts: readonly string[], pick: number, mayBeNoText: boolean): string | null | undefined {
  if (pick % 4 === 0) return undefined;
  if (mayBeNoText && pick % 16 === 1) return null;
  return texts[(pick >> 4) % texts.length];
}

function keyFor(pick: number, dialect: FilterDialect): string | null {
  if (dialect === "rabbitmq" || (dialect === "kafka" && pick % 3 === 0)) return null;
  const keys = [...keysFor(dialect), "order-1"];
  return keys[(pick >> 2) % keys.length] as string;
}
