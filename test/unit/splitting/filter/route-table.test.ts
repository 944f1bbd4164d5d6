import { describe, expect, test } from "vitest";
import { compileFilter } from "../../../../src/splitting/filter/compile-filter.ts";
import type { Filter } from "../../../../src/splitting/filter/filter.ts";
import { RouteTable } from "../../../../src/splitting/filter/route-table.ts";
import { type FilterSubject, objectSubject, pairsSubject } from "../../../../src/splitting/filter/subject.ts";

const header = (name: string, equals: string): Filter => ({ header: name, equals });
const table = (filters: Record<string, Filter>) =>
  new RouteTable(Object.entries(filters).map(([route, filter]) => ({ route, filter })));

describe("a filter", () => {
  const noText = pairsSubject(
    [
      ["x", 7],
      ["baggage", 7],
    ],
    null,
  );
  const atoms: Filter[] = [
    { header: "x", equals: "" },
    { header: "x", in: ["", "7"] },
    { header: "x", prefix: "7" },
    { header: "x", matches: "[^]*" },
    { baggage: "user", exists: true },
    { baggage: "user", matches: "[^]*" },
    { key: { equals: "" } },
    { key: { prefix: "k" } },
  ];

  test.each(atoms)("holds for nothing that is absent or no text: %j", (atom) => {
    for (const subject of [noText, objectSubject({}, null)]) {
      expect(compileFilter(atom).matches(subject)).toBe(false);
      expect(compileFilter({ not: atom }).matches(subject)).toBe(true);
    }
  });

  test("knows that a header exists if it is no text, and if it is empty", () => {
    const exists = compileFilter({ header: "x", exists: true });
    expect(exists.matches(noText)).toBe(true);
    expect(exists.matches(objectSubject({ x: "" }, null))).toBe(true);
    expect(exists.matches(objectSubject({}, null))).toBe(false);
    expect(compileFilter({ header: "x", exists: false }).matches(noText)).toBe(false);
    expect(compileFilter({ baggage: "user", exists: false }).matches(noText)).toBe(true);
  });

  test("looks at each message anew", () => {
    const user = compileFilter({ baggage: "user", equals: "a" });
    const texts = ["user=a", "user=b", "user=a,user=c", undefined, "user=%61"];
    expect(
      texts.map((baggage) => user.matches(objectSubject(baggage === undefined ? {} : { baggage }, null))),
    ).toEqual([true, false, false, false, true]);
  });
});

describe("a table of routes", () => {
  test("finds the route, or none", () => {
    const routes = table({
      alice: header("x-user", "alice"),
      bob: { header: "x-user", in: ["bob", "rob"] },
      carol: { header: "x-user", prefix: "carol" },
      tests: { all: [{ key: { prefix: "test-" } }, { header: "x-user", exists: false }] },
    });
    const routeOf = (headers: Record<string, string>, key = "k") =>
      routes.routeOf(objectSubject(headers, key));
    expect(["alice", "bob", "rob", "carola", "dave", ""].map((user) => routeOf({ "x-user": user }))).toEqual([
      "alice",
      "bob",
      "bob",
      "carol",
      null,
      null,
    ]);
    expect(routeOf({}, "test-1")).toBe("tests");
    expect(routeOf({ "x-user": "alice" }, "test-1")).toBe("alice");
    expect(routeOf({}, "order-1")).toBeNull();
  });

  test("gives a message of two to the first, in whatever way they are found", () => {
    const everything: Filter = { everything: true };
    const word = header("x", "a");
    const subject = objectSubject({ x: "a", y: "b" }, "k");
    expect(table({ one: everything, two: word }).routeOf(subject)).toBe("one");
    expect(table({ one: word, two: everything }).routeOf(subject)).toBe("one");
    expect(table({ one: header("y", "b"), two: word }).routeOf(subject)).toBe("one");
    expect(
      table({ one: { all: [word, header("y", "c")] }, two: word, three: everything }).routeOf(subject),
    ).toBe("two");
  });

  test("asks on where a word alone is not enough", () => {
    const both: Filter = {
      all: [{ header: "y", exists: false }, { any: [header("x", "a"), header("z", "a")] }],
    };
    const routes = table({
      both,
      either: { any: [header("x", "b"), { all: [header("z", "b"), header("y", "b")] }] },
    });
    const routeOf = (headers: Record<string, string>) => routes.routeOf(objectSubject(headers, null));
    expect(routeOf({ x: "a" })).toBe("both");
    expect(routeOf({ z: "a" })).toBe("both");
    expect(routeOf({ x: "a", y: "" })).toBeNull();
    expect(routeOf({ x: "b" })).toBe("either");
    expect(routeOf({ z: "b" })).toBeNull();
    expect(routeOf({ z: "b", y: "b" })).toBe("either");
  });

  test("reads what it needs of a message once, and nothing else", () => {
    const filters = Object.fromEntries(
      Array.from({ length: 20 }, (_, index): [string, Filter] => [
        `route-${index}`,
        index % 2 === 0 ? header("x-user", `${index}`) : { baggage: "user", matches: `u${index}` },
      ]),
    );
    const routes = table(filters);
    const read: string[] = [];
    const subject: FilterSubject = {
      header: (name) => {
        read.push(name);
        return "none";
      },
      get key(): string {
        read.push("(key)");
        return "k";
      },
    };
    for (let message = 1; message <= 3; message++) {
      expect(routes.routeOf(subject)).toBeNull();
      expect(read.splice(0).sort()).toEqual(["baggage", "x-user"]);
    }
    expect([...routes.headerNames].sort()).toEqual(["baggage", "x-user"]);
    expect(table({ a: { key: { equals: "k" } }, b: { not: header("y", "a") } }).headerNames).toEqual(
      new Set(["y"]),
    );
  });

  test("may be empty", () => {
    expect(new RouteTable([]).routeOf(objectSubject({ x: "a" }, "k"))).toBeNull();
  });

  test("is not misled by names that objects have", () => {
    const routes = table({ proto: header("__proto__", "a"), word: header("x", "constructor") });
    expect(
      routes.routeOf(objectSubject(JSON.parse('{"__proto__":"a"}') as Record<string, unknown>, null)),
    ).toBe("proto");
    expect(routes.routeOf(objectSubject({ x: "constructor" }, null))).toBe("word");
    expect(routes.routeOf(objectSubject({ x: "toString" }, null))).toBeNull();
  });
});
