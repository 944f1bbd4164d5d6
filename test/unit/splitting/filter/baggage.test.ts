import { describe, expect, test } from "vitest";
import { baggageText, isMemberName, membersOf } from "../../../../src/splitting/filter/baggage.ts";

function members(header: string, ...names: string[]) {
  return Object.fromEntries(membersOf(header, new Set(names)));
}

describe("members of the baggage header", () => {
  test.each<[string, Record<string, string>]>([
    ["user=alice,tenant=acme", { user: "alice", tenant: "acme" }],
    [" user\t = alice\t, tenant=a b ", { user: "alice", tenant: "a b" }],
    ["user=alice;ttl=5;x , tenant=a", { user: "alice", tenant: "a" }],
    ["user=J%C3%BCrgen%2C%20%0a", { user: "Jürgen, \n" }],
    ["user=a=b", { user: "a=b" }],
    ["user=", { user: "" }],
    ["user=a,user=b", { user: "b" }],
    ["user=a,user", { user: "a" }],
    ["user=a,user=%", { user: "a" }],
    ["user=a,user=%4", { user: "a" }],
    ["user=a,user=%zz", { user: "a" }],
    ["us er=a,=b,,;user=c,(user)=d", {}],
    ["User=a", {}],
    ["%75ser=a", {}],
    ["", {}],
    ["user=%ff%41", { user: "\ufffdA" }],
    ["user=%EF%BB%BFa", { user: "\ufeffa" }],
    ["user=ä%C3%A4", { user: "ää" }],
    ["user=a;x=%", { user: "a" }],
  ])("%j", (header, expected) => {
    expect(members(header, "user", "tenant")).toEqual(expected);
  });

  test("are those asked for, whatever their names", () => {
    expect(members("a=1,b=2", "b")).toEqual({ b: "2" });
    expect(membersOf("__proto__=1,constructor=2", new Set(["__proto__", "constructor"]))).toEqual(
      new Map([
        ["__proto__", "1"],
        ["constructor", "2"],
      ]),
    );
  });

  test("are read again as they were written", () => {
    const written = baggageText([
      ["user", "a,b;c=d %\r\n\0😀"],
      ["x", ""],
    ]);
    expect(written).toMatch(/^[!-~]+$/);
    expect(members(written, "user", "x")).toEqual({ user: "a,b;c=d %\r\n\0😀", x: "" });
  });

  test("have a token as name", () => {
    expect(["a", "A-b.c_d", "!#$%&'*+.^_`|~-"].every(isMemberName)).toBe(true);
    expect(["", "a b", "a=b", "ä", "a,b", "a;b", '"a"', "a\n"].some(isMemberName)).toBe(false);
  });

  test.each([
    ["commas", ",".repeat(1_000_000), "="],
    ["members", "a=b,".repeat(250_000), ""],
    ["escapes", `user=${"%41".repeat(300_000)}`, ""],
    ["blanks", `user=${" ".repeat(1_000_000)}`, "x"],
  ])("are found in time that grows as the header: %s", (_what, header, end) => {
    const timeMs = (text: string) => {
      const startMs = performance.now();
      membersOf(text, new Set(["user"]));
      return performance.now() - startMs;
    };
    const best = (text: string) => Math.min(timeMs(text), timeMs(text), timeMs(text));
    const short = best(header.slice(0, header.length / 100) + end);
    expect(best(header + end)).toBeLessThan(100 * (10 * short + 1));
  });
});
