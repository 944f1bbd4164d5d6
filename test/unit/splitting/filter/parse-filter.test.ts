import { describe, expect, test } from "vitest";
import type { FilterDialect } from "../../../../src/splitting/filter/filter-dialect.ts";
import { MAX_ATOMS, MAX_DEPTH, MAX_FILTER_ISSUES } from "../../../../src/splitting/filter/limits.ts";
import { parseFilter } from "../../../../src/splitting/filter/parse-filter.ts";

function parsed(value: unknown, dialect: FilterDialect = "fairlane") {
  const result = parseFilter(value, dialect);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.filter;
}

/** `path: message` of each issue. */
function issues(value: unknown, dialect: FilterDialect = "fairlane"): string[] {
  const result = parseFilter(value, dialect);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const x = (equals: string) => ({ header: "x", equals });
const nested = (depth: number): unknown => (depth === 0 ? x("a") : { not: nested(depth - 1) });

describe("a filter is read", () => {
  test.each([
    [{ everything: true }],
    [{ header: "x-user", exists: true }],
    [{ header: "x-user", exists: false }],
    [{ header: "x-user", equals: "" }],
    [{ header: "x-user", in: ["a", "b"] }],
    [{ header: "x-user", prefix: "al" }],
    [{ header: "x-user", matches: "al(ice|bert)" }],
    [{ baggage: "user", equals: "alice\n" }],
    [{ key: { equals: "order-1" } }],
    [{ key: { equals: "~15" } }],
    [{ key: { prefix: "~1" } }],
    [{ all: [x("a"), { not: { any: [{ header: "y", exists: true }, { key: { prefix: "o" } }] } }] }],
  ])("as it is: %j", (value) => {
    expect(parsed(value)).toEqual(value);
  });

  test("with its fields in one order, and the texts of in sorted, each once", () => {
    expect(JSON.stringify(parsed({ in: ["b", "a", "b"], header: "x" }))).toBe(
      '{"header":"x","in":["a","b"]}',
    );
  });

  test("with names as the source has them", () => {
    expect(parsed({ header: "X-User", equals: "Al" })).toEqual({ header: "x-user", equals: "Al" });
    expect(parsed({ baggage: "User", exists: true })).toEqual({ baggage: "User", exists: true });
    for (const dialect of ["rabbitmq", "kafka"] as const) {
      expect(parsed({ header: "X-Üser id", equals: "a\r\n\0" }, dialect)).toEqual({
        header: "X-Üser id",
        equals: "a\r\n\0",
      });
    }
  });

  test("by its own properties only, also one that is called __proto__", () => {
    const value = JSON.parse('{"header":"__proto__","__proto__":{"equals":"a"},"exists":true}') as unknown;
    expect(issues(value)).toEqual([
      "__proto__: is not a known field of all, any, not, everything, header, baggage, key, exists, equals, in, prefix, matches",
    ]);
    expect(parsed({ header: "__proto__", equals: "a" })).toEqual({ header: "__proto__", equals: "a" });
    expect(issues(Object.create({ header: "x", exists: true }))).toHaveLength(1);
  });
});

describe("refused is", () => {
  test.each<[unknown, string]>([
    [{}, ': must not be empty; matching every message must be said: {"everything": true}'],
    [null, ": must be an object"],
    ["x-user", ": must be an object"],
    [[x("a")], ": must be an object"],
    [{ all: [] }, "all: must be a list of filters, and not empty"],
    [{ any: x("a") }, "any: must be a list of filters"],
    [{ not: [x("a")] }, "not: must be an object"],
    [{ everything: false }, "everything: must be true"],
    [{ header: "x" }, ": must have one of exists, equals, in, prefix, matches"],
    [{ equals: "a" }, ": must say of what: header, baggage or key"],
    [{ header: "x", equals: "a", prefix: "a" }, ": must have only one of equals and prefix"],
    [{ header: "x", baggage: "x", equals: "a" }, ": must have only one of header and baggage"],
    [{ all: [x("a")], equals: "a" }, "equals: cannot stand beside all"],
    [{ header: "x", equal: "a" }, "equal: is not a known field: did you mean equals?"],
    [{ heeder: "x", equals: "a" }, "heeder: is not a known field: did you mean header?"],
    [{ header: "x", exists: 1 }, "exists: must be true or false"],
    [{ header: "x", equals: 1 }, "equals: must be a string"],
    [{ header: 1, equals: "a" }, "header: must be a string"],
    [{ header: "x", in: [] }, "in: must be a list of strings, and not empty"],
    [{ header: "x", in: ["a", null] }, "in.1: must be a string"],
    [
      { header: "x", prefix: "" },
      'prefix: must not be empty: whether it is there at all is asked by {"exists": true}',
    ],
    [{ header: "x", matches: "" }, 'matches: must not be empty: the empty text is {"equals": ""}'],
    [{ header: "x", matches: "(" }, "matches: is no regular expression: unterminated group"],
    [{ header: "x", equals: "\ud800" }, "equals: must be well-formed Unicode: it holds a lone surrogate"],
    [{ header: "x", matches: "\udc00" }, "matches: must be well-formed Unicode: it holds a lone surrogate"],
    [{ header: "", exists: true }, "header: must not be empty"],
    [
      { header: "x y", exists: true },
      "header: must be of letters, digits and !#$%&'*+.^_|~-, as header names are",
    ],
    [
      { header: "\u212a", exists: true },
      "header: must be of letters, digits and !#$%&'*+.^_|~-, as header names are",
    ],
    [
      { baggage: "a,b", exists: true },
      "baggage: must be of letters, digits and !#$%&'*+.^_`|~-, as baggage members are",
    ],
    [{ header: "x", equals: "a\n" }, "equals: must not hold CR, LF or NUL: no header does"],
    [{ key: "a" }, 'key: must be {"equals": …} or {"prefix": …}'],
    [{ key: {} }, "key: must have one of equals, prefix"],
    [{ key: { prefx: "a" } }, "key.prefx: is not a known field: did you mean prefix?"],
    [{ key: { equals: "a", prefix: "a" } }, "key: must have only one of equals and prefix"],
    [{ key: { prefix: "" } }, 'key.prefix: must not be empty: every message is {"everything": true}'],
    [{ key: { equals: "" } }, "key.equals: must not be empty"],
    [{ key: { equals: "a " } }, "key.equals: must not end with a space"],
    [{ key: { equals: "~16" } }, "key.equals: must be one of ~0 to ~15 if it starts with ~"],
    [{ key: { prefix: "~9x" } }, ": contradicts itself: no message can match it"],
    [{ key: { prefix: "k".repeat(256) } }, ": contradicts itself: no message can match it"],
    [{ all: [x("a"), x("b")] }, ": contradicts itself: no message can match it"],
    [{ not: { everything: true } }, ": contradicts itself: no message can match it"],
  ])("%j", (value, expected) => {
    expect(issues(value)[0]).toBe(expected);
    expect(issues(value)).toHaveLength(1);
  });

  test("a key on RabbitMQ, and not on Kafka, where any text is one", () => {
    const key = { key: { equals: "" } };
    expect(issues(key, "rabbitmq")).toEqual(["key: cannot be asked about: a message of RabbitMQ has no key"]);
    expect(parsed(key, "kafka")).toEqual(key);
  });

  test("what only a message of a broker can match", () => {
    const noText = { all: [{ header: "x", exists: true }, { not: { header: "x", matches: "[^]*" } }] };
    expect(issues(noText)).toEqual([": contradicts itself: no message can match it"]);
    expect(parsed(noText, "kafka")).toEqual(noText);
    const keyless = { not: { key: { prefix: "a" } } };
    expect(parsed(keyless)).toEqual(keyless);
  });

  test("everything that is wrong, at once", () => {
    expect(issues({ all: [{ header: "x" }, { not: {} }, { any: [{ kay: 1 }] }, x("a")] })).toEqual([
      "all.0: must have one of exists, equals, in, prefix, matches",
      'all.1.not: must not be empty; matching every message must be said: {"everything": true}',
      "all.2.any.0.kay: is not a known field: did you mean key?",
    ]);
    expect(issues({ any: Array.from({ length: 100 }, () => ({ header: "x" })) })).toHaveLength(
      MAX_FILTER_ISSUES,
    );
  });
});

describe("limits:", () => {
  const atoms = (count: number) => ({
    all: Array.from({ length: count }, (_, index) => ({ header: `x-${index}`, exists: true })),
  });

  test("conditions", () => {
    expect(issues({ not: { any: atoms(MAX_ATOMS).all } })).toEqual([]);
    expect(issues({ not: { any: atoms(MAX_ATOMS + 1).all } })).toEqual([
      `: is too large to be decided upon: it has more than ${MAX_ATOMS} conditions`,
    ]);
  });

  test("alternatives", () => {
    const alternatives = (count: number) => ({
      any: Array.from({ length: count }, (_, index) => x(`${index}`)),
    });
    expect(issues(alternatives(64))).toEqual([]);
    const message =
      ": is too large to be decided upon: its alternatives are more than 64 when they are written out";
    expect(issues(alternatives(65))).toEqual([message]);
    const pair = (index: number) => ({
      any: [
        { header: `x-${index}`, exists: true },
        { header: `y-${index}`, exists: true },
      ],
    });
    expect(issues({ all: Array.from({ length: 6 }, (_, index) => pair(index)) })).toEqual([]);
    expect(issues({ all: Array.from({ length: 7 }, (_, index) => pair(index)) })).toEqual([message]);
    expect(issues({ not: { all: alternatives(65).any } })).toEqual([message]);
  });

  test("depth", () => {
    expect(issues(nested(MAX_DEPTH))).toEqual([]);
    expect(issues(nested(MAX_DEPTH + 1))).toEqual([
      `${"not.".repeat(MAX_DEPTH)}not: must be nested at most ${MAX_DEPTH} deep`,
    ]);
  });

  test("what never ends", () => {
    const self: { all: unknown[] } = { all: [] };
    self.all.push(self, self, self);
    expect(issues(self).length).toBeGreaterThan(0);
    expect(issues({ header: "x", in: Array.from({ length: 100_000 }, () => "a") })).toEqual([
      ": must have at most 1024 conditions and texts",
    ]);
    expect(issues({ any: new Array(10_000_000).fill(x("a")) }).at(-1)).toMatch(/at most 1024|more than 256/);
  });

  test("names, texts and expressions", () => {
    const long = (field: string, length: number) => issues({ header: "x", [field]: "a".repeat(length) });
    expect(issues({ header: "x".repeat(255), exists: true })).toEqual([]);
    expect(issues({ header: "x".repeat(256), exists: true })).toEqual([
      "header: must have at most 255 characters",
    ]);
    expect(issues({ header: "ü".repeat(128), exists: true }, "kafka")).toEqual([
      "header: must have at most 255 bytes",
    ]);
    expect(long("equals", 1000)).toEqual([]);
    expect(long("equals", 1001)).toEqual(["equals: must have at most 1000 characters"]);
    expect(long("prefix", 1001)).toEqual(["prefix: must have at most 1000 characters"]);
    expect(long("matches", 200)).toEqual([]);
    expect(long("matches", 201)).toEqual(["matches: must have at most 200 characters"]);
    expect(issues({ header: "x", matches: "😀".repeat(200) })).toEqual([]);
    expect(issues({ header: "x", in: ["a".repeat(1001)] })).toEqual([
      "in.0: must have at most 1000 characters",
    ]);
    expect(issues({ header: "a".repeat(100_000), exists: true })).toHaveLength(1);
  });

  test("bytes", () => {
    const texts = Array.from({ length: 17 }, (_, index) => `${index}`.padEnd(1000, "a"));
    expect(issues({ header: "x", in: texts })).toEqual([": must have at most 16384 bytes as JSON"]);
    expect(issues({ header: "x", in: texts.slice(1) })).toEqual([]);
  });

  test("states of an expression", () => {
    expect(issues({ header: "x", matches: "[^]{0,499}" })).toEqual([]);
    const message = "matches: is too large to be decided upon: an expression needs more than 500 states";
    expect(issues({ header: "x", matches: "[^]{0,500}" })).toEqual([message]);
    expect(issues({ header: "x", matches: ".*a.{20}" })).toEqual([message]);
  });

  test("tables of all expressions together", () => {
    // 313 states and some, with a class for each letter and one for what is none.
    const expressions = (count: number) => ({
      any: Array.from({ length: count }, (_, index) => ({
        header: `x-${index}`,
        matches: `(?:abcdefghijklmnopqrstuvwxyz){12}${"z".repeat(index)}`,
      })),
    });
    expect(issues(expressions(15))).toEqual([]);
    expect(issues(expressions(16))).toEqual([
      "any.15.matches: is too large to be decided upon: the expressions need more than 131072 table entries together",
    ]);
  });

  test("unknown names are repeated shortened, and well-formed", () => {
    const [issue] = issues({ [`\ud800${"z".repeat(10_000)}`]: 1 });
    expect(issue?.length).toBeLessThan(300);
    expect(issue?.isWellFormed()).toBe(true);
  });
});
