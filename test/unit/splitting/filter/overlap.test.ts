import { describe, expect, test } from "vitest";
import type { Filter } from "../../../../src/splitting/filter/filter.ts";
import type { FilterDialect } from "../../../../src/splitting/filter/filter-dialect.ts";
import { overlapOf, satisfiable } from "../../../../src/splitting/filter/overlap.ts";
import { parseFilter } from "../../../../src/splitting/filter/parse-filter.ts";
import { parseShortFilter } from "../../../../src/splitting/filter/parse-short-filter.ts";
import { witnessText } from "../../../../src/splitting/filter/witness.ts";

function filterOf(source: string | Filter, dialect: FilterDialect): Filter {
  const parsed =
    typeof source === "string" ? parseShortFilter(source, dialect) : parseFilter(source, dialect);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.filter;
}

/** The witness as text, or what else was found. */
function answer(f: string | Filter, g: string | Filter, dialect: FilterDialect = "fairlane"): string {
  const overlap = overlapOf(filterOf(f, dialect), filterOf(g, dialect), dialect);
  if (overlap.kind === "overlap") return witnessText(overlap.witness);
  return overlap.kind === "undecided" ? `undecided: ${overlap.reason}` : overlap.kind;
}

const BAGGAGE = "undecided: there are conditions both on the header baggage and on members of it";
const not = (filter: Filter): Filter => ({ not: filter });
const all = (...filters: Filter[]): Filter => ({ all: filters });
const any = (...filters: Filter[]): Filter => ({ any: filters });

describe("two filters are disjoint", () => {
  test.each<[string | Filter, string | Filter]>([
    ["x-user=alice", "x-user=bob"],
    ["x-user=alice|carol", "x-user=bob|dave"],
    ["x-user=alice", "x-user^=b"],
    ["x-user^=al", "x-user^=b"],
    ["x-user=alice", "!x-user"],
    ["x-user^=a", "!x-user"],
    ["x-user~=[ab]*", "x-user~=[cd]+"],
    ["x-user~=(a|b)*c", "x-user~=.*d"],
    ["x-user~=.{3}", 'x-user~=".{4,}"'],
    ["x-user=ab", "x-user~=a.b"],
    ["baggage:user=alice", "baggage:user=bob"],
    ["baggage:user=alice", "!baggage"],
    ["baggage:user=alice", "baggage=user"],
    ["key=a", "key=b"],
    ["key^=a", "key^=b"],
    ["x=a y=b", "x=a y=c"],
    [any({ header: "x", equals: "a" }, { header: "x", equals: "b" }), { header: "x", equals: "c" }],
    [{ header: "x", prefix: "a" }, not({ header: "x", exists: true })],
    [{ header: "x", matches: "a+" }, not({ header: "x", matches: "a*" })],
    // Of the line ends that . leaves out, a header can hold these two.
    [
      all({ header: "x", exists: true }, not({ header: "x", matches: ".*" })),
      { header: "x", matches: "[^\\u2028\\u2029]*" },
    ],
    [{ key: { prefix: "~" } }, not({ key: { prefix: "~" } })],
    [
      all(
        { key: { prefix: "~1" } },
        not(any(...["~1", "~10", "~11", "~12", "~13", "~14"].map((equals) => ({ key: { equals } })))),
      ),
      { key: { equals: "~1" } },
    ],
  ])("%j and %j", (f, g) => {
    expect(answer(f, g)).toBe("disjoint");
    expect(answer(g, f)).toBe("disjoint");
  });
});

describe("two filters overlap", () => {
  test.each<[string | Filter, string | Filter, string]>([
    ["x-user~=a.*", "x-user~=.*b", '{x-user: "ab"}'],
    ["x-user=alice", "x-user^=al", '{x-user: "alice"}'],
    ["x-user=alice|bob", "x-user=bob|carol", '{x-user: "bob"}'],
    ["x-user=alice", "x-team=a", '{x-team: "a", x-user: "alice"}'],
    ["x-user", "x-user^=al", '{x-user: "al"}'],
    ["x-user", "x-user~=.*", '{x-user: "a"}'],
    ["x-user~=a?", 'x-user=""', '{x-user: ""}'],
    ["!x-user", "!x-team", "{}"],
    [{ everything: true }, "x=a", '{x: "a"}'],
    [{ everything: true }, { everything: true }, "{}"],
    ["key=order-1", "key^=order", '{} with the key "order-1"'],
    ["key^=order", not({ key: { equals: "order" } }), '{} with the key "ordera"'],
    [not({ key: { equals: "a" } }), not({ key: { prefix: "b" } }), '{} with the key "c"'],
    ["key^=~", "!x", '{} with the key "~0"'],
    ["baggage:user=alice", 'baggage:team="b c"', '{baggage: "user=alice,team=b%20c"}'],
    [not({ baggage: "user", equals: "a" }), not({ header: "x", equals: "a" }), "{}"],
    ["x=a", not({ header: "x", matches: "[b-z]*" }), '{x: "a"}'],
    [
      all({ header: "x", exists: true }, not({ header: "x", prefix: "a" })),
      not({ header: "x", in: ["b", "c"] }),
      '{x: "d"}',
    ],
    [{ header: "x", matches: "[^ -~]" }, { header: "x", exists: true }, '{x: "À"}'],
    [
      any({ header: "x", equals: "a" }, { header: "y", equals: "b" }),
      all({ header: "x", equals: "c" }, { header: "y", prefix: "b" }),
      '{x: "c", y: "b"}',
    ],
  ])("%j and %j", (f, g, witness) => {
    expect(answer(f, g)).toBe(witness);
  });

  test("in a header that is called __proto__", () => {
    const overlap = overlapOf(
      { header: "__proto__", exists: true },
      { header: "__proto__", prefix: "a" },
      "fairlane",
    );
    expect(overlap).toHaveProperty("kind", "overlap");
    if (overlap.kind === "overlap")
      expect(Object.entries(overlap.witness.headers)).toEqual([["__proto__", "a"]]);
  });
});

describe("what can occur depends on the source:", () => {
  test("values that are no text", () => {
    const noText = all({ header: "x", exists: true }, not({ header: "x", matches: "[^]*" }));
    expect(satisfiable(noText, "fairlane")).toEqual({ kind: "contradiction" });
    for (const dialect of ["rabbitmq", "kafka"] as const) {
      expect(overlapOf(noText, { header: "x", exists: true }, dialect)).toEqual({
        kind: "overlap",
        witness: { headers: {}, opaqueHeaders: ["x"] },
      });
      expect(answer(noText, "x", dialect)).toBe("{x: (no text)}");
      expect(answer(noText, "x^=a", dialect)).toBe("disjoint");
    }
  });

  test("line ends", () => {
    const ends: Filter = { header: "x", matches: "[\\r\\n\\0]+" };
    expect(satisfiable(ends, "fairlane")).toEqual({ kind: "contradiction" });
    expect(satisfiable({ header: "x", equals: "a\n" }, "fairlane")).toEqual({ kind: "contradiction" });
    expect(satisfiable({ key: { equals: "~a" } }, "fairlane")).toEqual({ kind: "contradiction" });
    expect(answer(ends, "x", "kafka")).toBe('{x: "\\u0000"}');
    expect(answer({ baggage: "user", matches: "\\n" }, "baggage:user")).toBe('{baggage: "user=%0A"}');
  });

  test("keys", () => {
    const keyless = not({ key: { prefix: "a" } });
    expect(answer(keyless, not({ key: { prefix: "b" } }), "kafka")).toBe("{}");
    expect(answer({ key: { equals: "" } }, keyless, "kafka")).toBe('{} with the key ""');
  });

  test("keys are as long as they can be", () => {
    const long = "k".repeat(255);
    expect(answer(`key^=${long}`, { key: { equals: long } })).toContain("kkk");
    expect(answer(`key^=${long}`, not({ key: { equals: long } }))).toBe("disjoint");
    expect(answer(`key^=${long}`, not({ key: { equals: long } }), "kafka")).toContain("kkk");
    expect(answer({ key: { prefix: "a " } }, not({ key: { equals: "a b" } }))).toBe('{} with the key "a a"');
  });
});

describe("the header baggage and its members", () => {
  test.each<[string | Filter, string | Filter, string]>([
    ["baggage:user=a", "baggage", '{baggage: "user=a"}'],
    ["baggage:user=a", "baggage^=team", '{baggage: "team,user=a"}'],
    ["baggage:user=a", 'baggage="user=a,x=y"', '{baggage: "user=a,x=y"}'],
    ["baggage:user=a", 'baggage="user=b"|"user=c"', "disjoint"],
    ["baggage:user=a", "baggage~=[a-z]*", BAGGAGE],
    ["!baggage:user", "baggage^=x", '{baggage: "x"}'],
    ["!baggage:user", "baggage^=user=", BAGGAGE],
    ["!baggage:user", "!baggage", "{}"],
    ["!baggage:user", not({ header: "baggage", prefix: "a" }), "{}"],
  ])("%j and %j", (f, g, expected) => {
    expect(answer(f, g)).toBe(expected);
    expect(answer(g, f)).toBe(expected);
  });

  test("are apart where one cannot be there at all", () => {
    const noText = all({ header: "baggage", exists: true }, not({ header: "baggage", matches: "[^]*" }));
    expect(answer(noText, "baggage:user=a", "kafka")).toBe("disjoint");
    expect(answer(noText, "!baggage:user", "kafka")).toBe("{baggage: (no text)}");
  });

  test("may stand in one filter although nobody can tell whether it contradicts itself", () => {
    const filter = filterOf("baggage:user=a, baggage~=[a-z]*", "fairlane");
    expect(satisfiable(filter, "fairlane")).toMatchObject({ kind: "undecided", because: "baggage" });
  });

  test("do not hide that other conditions are apart", () => {
    expect(answer("baggage:user=a, x=a", "baggage~=[a-z]*, x=b")).toBe("disjoint");
  });
});

describe("undecided is", () => {
  test("what takes too many steps", () => {
    const containing = (letter: string): Filter => not({ header: "x", matches: `.*${letter}.{3}` });
    const f = all({ header: "x", matches: "[a-z]{300}" }, ..."abcdefghijklm".split("").map(containing));
    const g = all(..."nopqrstuvwxyz".split("").map(containing));
    const startMs = performance.now();
    expect(overlapOf(f, g, "fairlane")).toMatchObject({ kind: "undecided", because: "limit" });
    expect(performance.now() - startMs).toBeLessThan(5000);
  });

  test("a message that may be too large to be published", () => {
    const headers = (from: number) =>
      all(
        ...Array.from(
          { length: 5 },
          (_, index): Filter => ({ header: `x-${from + index}`, prefix: "a".repeat(900) }),
        ),
      );
    expect(overlapOf(headers(0), headers(5), "fairlane")).toEqual({
      kind: "undecided",
      because: "size",
      reason: "a matching message may need more than 64 headers or 8192 bytes of them",
    });
    expect(overlapOf(headers(0), headers(5), "kafka").kind).toBe("overlap");
  });

  test("never what was refused before as too large", () => {
    const many = (prefix: string) =>
      any(
        ...Array.from({ length: 64 }, (_, index): Filter => ({ header: "x", equals: `${prefix}${index}` })),
      );
    expect(answer(many("a"), many("b"))).toBe("disjoint");
    expect(answer(many("a"), many("a"))).toBe('{x: "a0"}');
  });
});
