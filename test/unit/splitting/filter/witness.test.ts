import { describe, expect, test } from "vitest";
import { type Witness, witnessText } from "../../../../src/splitting/filter/witness.ts";

describe("a witness is shown", () => {
  test.each<[Witness, string]>([
    [{ headers: {} }, "{}"],
    [{ headers: { "x-user": "ab" } }, '{x-user: "ab"}'],
    [{ headers: { y: "b", x: "a" }, key: "k" }, '{x: "a", y: "b"} with the key "k"'],
    [{ headers: { "x y": 'a"b\\' } }, '{"x y": "a\\"b\\\\"}'],
    [{ headers: {}, opaqueHeaders: ["x"] }, "{x: (no text)}"],
    [{ headers: { x: "a\n\u001b[31m" } }, '{x: "a\\n\\u001b[31m"}'],
    [{ headers: { x: "\u202eab\u00a0\u200b é" } }, '{x: "\\u{202e}ab\\u{a0}\\u{200b} é"}'],
    [{ headers: { x: "😀".repeat(81) } }, `{x: "${"😀".repeat(80)}…"}`],
    [{ headers: { x: "a".repeat(80) } }, `{x: "${"a".repeat(80)}"}`],
  ])("%j", (witness, text) => {
    expect(witnessText(witness)).toBe(text);
  });
});
