import { describe, expect, test } from "vitest";
import { SPREAD_LANES } from "../../../src/core/limits.ts";
import {
  groupProblem,
  isSpreadLane,
  keyProblem,
  namedKeyProblem,
  publishedKeyProblem,
  subscriberProblem,
  tenantProblem,
  topicProblem,
} from "../../../src/core/names.ts";

describe("names", () => {
  const limits: [string, (name: string) => string | null, number][] = [
    ["tenant", tenantProblem, 64],
    ["topic", topicProblem, 124],
    ["group", groupProblem, 128],
    ["subscriber", subscriberProblem, 128],
  ];
  test.each(limits)("a %s has up to its limit of characters", (_, problemOf, max) => {
    expect(problemOf("n".repeat(max))).toBeNull();
    expect(problemOf("n".repeat(max + 1))).toContain(String(max));
  });

  test.each(["a", "0", "a.b_c-d", "0.", "a_"])("%j is a name", (name) => {
    for (const [, problemOf] of limits) expect(problemOf(name)).toBeNull();
  });

  test.each(["", "A", ".a", "-a", "_a", "a b", "é", "a\n", "a/b", "*", "%", "a\0", "🚚"])(
    "%j is not",
    (name) => {
      for (const [, problemOf] of limits) expect(problemOf(name)).not.toBeNull();
    },
  );

  test("a dead-letter topic may be longer by its suffix, and is no suffix alone", () => {
    expect(topicProblem(`${"t".repeat(124)}_dlq`)).toBeNull();
    expect(topicProblem(`${"t".repeat(125)}_dlq`)).not.toBeNull();
    expect(topicProblem("_dlq")).not.toBeNull();
  });
});

describe("keys", () => {
  test.each(["a", "*", "%", "__proto__", " a", "é🚚", "a\tb", "\u3000", "a\u00a0", "~a"])(
    "%j is an ID",
    (key) => {
      expect(keyProblem(key)).toBeNull();
    },
  );

  test.each(["", " ", "a ", "\0", "a\0b", "\ud800", "a\udc00b", "\udc00\ud800"])("%j is none", (key) => {
    expect(keyProblem(key)).not.toBeNull();
    expect(publishedKeyProblem(key)).not.toBeNull();
    expect(namedKeyProblem(key)).not.toBeNull();
  });

  test("255 code points, of whatever width, and not one more", () => {
    for (const character of ["k", "é", "漢", "🚚"]) {
      expect(keyProblem(character.repeat(255))).toBeNull();
      expect(keyProblem(character.repeat(256))).toContain("255");
    }
    expect(keyProblem(`${"🚚".repeat(254)}k`)).toBeNull();
    expect(keyProblem("k".repeat(10_000_000))).toContain("255");
  });

  test("~ is reserved for publishers; the spread lanes can be named by others", () => {
    for (const key of ["~", "~0", "~15", "~mine"]) expect(publishedKeyProblem(key)).toContain("~");
    for (let lane = 0; lane < SPREAD_LANES; lane++) expect(namedKeyProblem(`~${lane}`)).toBeNull();
    for (const key of ["~", "~16", "~00", "~1 ", "~-1", "~mine", "~1\n"]) {
      expect(isSpreadLane(key)).toBe(false);
      expect(namedKeyProblem(key)).not.toBeNull();
    }
  });
});
