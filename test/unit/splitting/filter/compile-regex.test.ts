import { describe, expect, test } from "vitest";
import { BeyondLimit, Budget } from "../../../../src/splitting/filter/budget.ts";
import { compileRegex } from "../../../../src/splitting/filter/compile-regex.ts";
import { MAX_COMPILE_STEPS, MAX_STATES } from "../../../../src/splitting/filter/limits.ts";

function automatonOf(source: string) {
  const compiled = compileRegex(source, new Budget(MAX_COMPILE_STEPS));
  if (!compiled.ok) throw new Error(compiled.message);
  return compiled.automaton;
}

function problemOf(source: string): string | null {
  const compiled = compileRegex(source, new Budget(MAX_COMPILE_STEPS));
  return compiled.ok ? null : compiled.message;
}

const TEXTS = [
  "",
  "a",
  "b",
  "ab",
  "aab",
  "abb",
  "aaaa",
  "a\nb",
  "a\u2028b",
  "é",
  "😀",
  "a😀",
  "\u00a0",
  "_",
  "7",
  "-",
  "^",
  "\0",
];

describe("an expression accepts what the engine does", () => {
  test.each([
    "a",
    "ab",
    "a|b",
    "a*",
    "a+b",
    "a?b",
    "a{2}",
    "a{2,}",
    "a{1,3}b?",
    "a*?b",
    "(a|b)*b",
    "(?:ab)+",
    "(?<name>a)b",
    ".",
    "..",
    "[^a]",
    "[a-c]+",
    "[\\d_]",
    "\\w*",
    "\\W",
    "\\s",
    "\\S+",
    "\\D",
    "[^\\s\\w]",
    "[^]",
    "[^]*",
    "[]",
    "[]|a",
    "\\u{1F600}",
    "\\ud83d\\ude00",
    "a\\u{1F600}?",
    "[😀-😂]",
    "[\\0-\\x7f]*",
    "\\^",
    "\\x61",
    "\\cJ|a",
    "[\\-\\b]",
    "^a",
    "b$",
    "^ab$",
    "^a|b$",
    "^$",
    "^",
    "(a*)*",
    "(a|a)*b",
    "((a?)*)*",
    "(?:)",
    "a{0}",
    "(a{0,2}){2}",
    "(?:a|){3}b",
  ])("%s", (source) => {
    const engine = new RegExp(`^(?:${source})$`, "u");
    const automaton = automatonOf(source);
    expect(TEXTS.filter((text) => automaton.matches(text))).toEqual(
      TEXTS.filter((text) => engine.test(text)),
    );
  });

  test("but no lone surrogate, which no text has", () => {
    expect(automatonOf("[^]").matches("\ud800")).toBe(false);
    expect(automatonOf("[^]").matches("\udc00\ud800")).toBe(false);
    expect(automatonOf("[^a]").matches("\ud83d\ude00")).toBe(true);
  });
});

describe("an expression is refused", () => {
  test.each([
    ["(a)\\1", "must not refer back to a group: \\1"],
    ["(?<n>a)\\k<n>", "must not refer back to a group: \\k<n>"],
    ["(?=a)a", "must not look around: (?=a)"],
    ["a(?!b)", "must not look around: (?!b)"],
    ["(?<=a)b", "must not look around: (?<=a)"],
    ["a\\b", "must not use \\b: write out what stands there"],
    ["a\\B", "must not use \\B: write out what stands there"],
    ["a^b", "may have ^ only at its very ends: it is for the whole value anyway"],
    ["(^a)", "may have ^ only at its very ends: it is for the whole value anyway"],
    ["a$b", "may have $ only at its very ends: it is for the whole value anyway"],
    ["^^a", "may have ^ only at its very ends: it is for the whole value anyway"],
    ["\\p{L}", "must not use \\p{L}: it changes with the version of Unicode; list the characters"],
    ["[\\P{Lu}]", "must not use \\P{Lu}: it changes with the version of Unicode; list the characters"],
    ["(?i:a)", "must not switch flags on or off"],
    ["[a", "is no regular expression: unterminated character class"],
    ["a{2,1}", "is no regular expression: numbers out of order in {} quantifier"],
    ["\\-", "is no regular expression: invalid escape"],
    ["\\q", "is no regular expression: invalid escape"],
    ["a**", "is no regular expression: nothing to repeat"],
  ])("%s", (source, message) => {
    expect(problemOf(source)).toBe(message);
  });
});

describe("making an automaton is bounded", () => {
  test.each([
    ["(a{1,100}){1,100}", "written out"],
    ["a{1000000000}", "written out"],
    ["(?:){1000000000}", "written out"],
    ["(?:(?:(?:){2000}){2000}){2000}", "steps"],
    ["((((a?){9}){9}){9}){9}", "written out|steps"],
    [".*a.{20}", "500 states"],
    [".{0,200}x.{0,200}", "500 states"],
    ["(.*a.{9}){2}", "500 states"],
  ])("%s stops at the limit", (source, limit) => {
    const budget = new Budget(MAX_COMPILE_STEPS);
    expect(() => compileRegex(source, budget)).toThrow(BeyondLimit);
    expect(() => compileRegex(source, budget)).toThrow(new RegExp(limit));
    // The step that goes over is small.
    expect(budget.spent).toBeLessThan(1.1 * MAX_COMPILE_STEPS);
  });

  test("the largest that is taken has so many states", () => {
    expect(automatonOf(`[^]{0,${MAX_STATES - 1}}`).stateCount).toBe(MAX_STATES);
    expect(() => automatonOf(`[^]{0,${MAX_STATES}}`)).toThrow(BeyondLimit);
  });

  test("code points that an expression does not tell apart take no room", () => {
    expect(automatonOf("[^]*").tableEntries).toBeLessThan(5);
    expect(automatonOf("[a-z]*@[a-z]*").tableEntries).toBeLessThan(20);
  });
});

describe("matching takes time in proportion to the text", () => {
  /** The best of some rounds, for one code point. */
  function nanosOf(source: string, text: string, rounds: number): number {
    const automaton = automatonOf(source);
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < rounds; round++) {
      const startMs = performance.now();
      automaton.matches(text);
      best = Math.min(best, ((performance.now() - startMs) * 1e6) / text.length);
    }
    return best;
  }

  test.each(["(a|a)*b", "(a*)*", "(a*)*b", "(a+a+)+b", "(?:a?){60}a{60}", "(.*)*x"])("%s", (source) => {
    const short = nanosOf(source, "a".repeat(10_000), 20);
    // A hundred times as long: an engine that goes back would take a hundred times as long for each of them.
    expect(nanosOf(source, "a".repeat(1_000_000), 3)).toBeLessThan(20 * short + 20);
  });
});
