import { describe, expect, test } from "vitest";
import type { FilterDialect } from "../../../../src/splitting/filter/filter-dialect.ts";
import { shortFilter } from "../../../../src/splitting/filter/format-filter.ts";
import { parseShortFilter } from "../../../../src/splitting/filter/parse-short-filter.ts";

function parsed(text: string, dialect: FilterDialect = "fairlane") {
  const result = parseShortFilter(text, dialect);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.filter;
}

function messages(text: string, dialect: FilterDialect = "fairlane"): string[] {
  const result = parseShortFilter(text, dialect);
  return result.ok ? [] : result.issues.map(({ message }) => message);
}

describe("the short form", () => {
  test.each([
    ["x-user", { header: "x-user", exists: true }],
    ["!x-user", { header: "x-user", exists: false }],
    ["X-User=Alice", { header: "x-user", equals: "Alice" }],
    ['x-user=""', { header: "x-user", equals: "" }],
    ["x-user=bob|alice", { header: "x-user", in: ["alice", "bob"] }],
    ['x-user="a b"|"c|d"|e', { header: "x-user", in: ["a b", "c|d", "e"] }],
    ["x-user^=al", { header: "x-user", prefix: "al" }],
    ["x-user~=al.*|b", { header: "x-user", matches: "al.*|b" }],
    ['x-user~="\\d{1,2} ""a"""', { header: "x-user", matches: '\\d{1,2} "a"' }],
    ["x-user=a=b", { header: "x-user", equals: "a=b" }],
    ['x-user="="', { header: "x-user", equals: "=" }],
    ['"x^"=a', { header: "x^", equals: "a" }],
    ['"!x"', { header: "!x", exists: true }],
    ['!"!x"', { header: "!x", exists: false }],
    ["a^b~c|d", { header: "a^b~c|d", exists: true }],
    ["baggage:user=alice", { baggage: "user", equals: "alice" }],
    ["!baggage:user", { baggage: "user", exists: false }],
    ["baggage^=a", { header: "baggage", prefix: "a" }],
    ["key=order-1", { key: { equals: "order-1" } }],
    ["key^=order-", { key: { prefix: "order-" } }],
    ["header:key=a", { header: "key", equals: "a" }],
    ['"key"', { header: "key", exists: true }],
    ["key-2=a", { header: "key-2", equals: "a" }],
  ])("%s", (text, value) => {
    expect(parsed(text)).toEqual(value);
  });

  test("has commas or spaces between conditions that must all hold", () => {
    const all = {
      all: [
        { header: "x", exists: true },
        { header: "y", equals: "b" },
      ],
    };
    for (const text of ["x,y=b", "x y=b", "  x ,\t y=b  ", "x\n y=b"]) expect(parsed(text)).toEqual(all);
    expect(parsed("x=a,!y baggage:z key^=k")).toHaveProperty("all.length", 4);
  });

  test("is JSON if it starts with {", () => {
    expect(parsed(' {"not": {"header": "X", "equals": "a"}}')).toEqual({ not: { header: "x", equals: "a" } });
    expect(messages("{x-user=a}")[0]).toMatch(/^must be JSON, as it starts with \{: /);
    expect(messages('{"header": "x", "equal": "a"}')).toEqual(["is not a known field: did you mean equals?"]);
  });

  test("has names byte for byte on brokers", () => {
    expect(parsed('"X User:ä"=a', "kafka")).toEqual({ header: "X User:ä", equals: "a" });
    expect(parsed("Ä:b=a", "rabbitmq")).toEqual({ header: "Ä:b", equals: "a" });
    expect(parsed('"baggage:a"', "kafka")).toEqual({ header: "baggage:a", exists: true });
  });
});

describe("a mistake is placed:", () => {
  test.each([
    ["", 'must not be empty; matching every message must be said: {"everything": true}'],
    ["x-user=", 'at character 8: a text is missing; no spaces stand before it, and the empty one is ""'],
    [
      "x-user= alice",
      'at character 8: a text is missing; no spaces stand before it, and the empty one is ""',
    ],
    ["x-user!=alice", 'at character 1: there is no !=: write {"not": {"header": …, "equals": …}}'],
    ["x-user==alice", "at character 8: one = is enough; a text that begins with = is quoted"],
    [
      "x-user=alice AND x-b=1",
      'at character 14: there is no word AND: a comma is "and", | is "or" between texts, ! asks that a header is absent; a header of that name is quoted',
    ],
    ["x-user =alice", "at character 8: a name is missing; no spaces stand between it and its sign"],
    ["=alice", "at character 1: a name is missing; no spaces stand between it and its sign"],
    ["baggage:=a", "at character 1: a name is missing; no spaces stand between it and its sign"],
    ["!", "at character 2: a name is missing; no spaces stand between it and its sign"],
    ["x=a|", 'at character 5: a text is missing; no spaces stand before it, and the empty one is ""'],
    ["x,,y", "at character 3: a condition is missing, such as x-user=alice"],
    ["x,", "at character 3: a condition is missing, such as x-user=alice"],
    [",x", "at character 1: a condition is missing, such as x-user=alice"],
    ["!x=a", "at character 1: a condition with ! only asks that something is absent"],
    ["y, key", "at character 4: key needs = or ^=; a header of that name is header:key"],
    ["!key", "at character 1: key needs = or ^=; a header of that name is header:key"],
    ["key~=a", "at character 6: key has no expressions, only = and ^="],
    ["key=a|b", 'at character 5: key has no list of texts: quote it, or write {"any": …}'],
    ["x^=a|b", "at character 4: ^= takes one text: quote it if it holds |"],
    ['x="a', "at character 3: the closing quote is missing"],
    ['x="a"b', "at character 6: after a condition comes a comma, a space or the end"],
    ['x=a"b', 'at character 3: a text that holds a quote is quoted, and the quote doubled: "a""b"'],
    ['a"b"=c', "at character 1: a name is quoted as a whole or not at all"],
    ["y,x~=(", "at character 3: matches is no regular expression: unterminated group"],
    ["y,Ä=a", "at character 3: header must be of letters, digits and !#$%&'*+.^_|~-, as header names are"],
    ["x=a,x=b", "contradicts itself: no message can match it"],
    [`x=${"a".repeat(20_000)}`, "must have at most 16384 characters"],
  ])("%s", (text, message) => {
    expect(messages(text)).toEqual([message]);
  });

  test("an expression that ends at a comma was to be quoted", () => {
    expect(messages("y,x~=a{1,2}")).toEqual([
      "at character 3: matches is no regular expression: incomplete quantifier; an expression with a comma, a space or a quote in it must be quoted",
    ]);
  });

  test("each of several", () => {
    expect(messages("ä=a,y,key=~99")).toHaveLength(2);
  });
});

describe("a filter has a short form", () => {
  test.each([
    "x-user",
    "!x-user",
    "x-user=alice",
    'x-user=""',
    "x-user=alice|bob",
    "x-user^=al",
    "x-user~=al.*|b",
    '"x^"=a',
    'x~="a{1,2}"',
    'x="a ""b"""|c',
    "baggage:user=alice",
    'baggage:"a|b"',
    "key=order-1",
    'key^="a b"',
    "header:key=a",
    "!header:key",
    "x=a, !y, key=k",
    'x="a,b"',
    'x="=a"',
  ])("%s", (text) => {
    expect(shortFilter(parsed(text))).toBe(text);
  });

  test.each([
    { everything: true as const },
    { not: { header: "x", equals: "a" } },
    { any: [{ header: "x", equals: "a" }] },
    { all: [{ header: "x", equals: "a" }] },
    { all: [{ header: "x", equals: "a" }, { all: [{ header: "y", exists: true }] }] },
    { header: "x", in: ["a"] },
  ])("or none: %j", (filter) => {
    expect(shortFilter(filter)).toBeNull();
  });
});
