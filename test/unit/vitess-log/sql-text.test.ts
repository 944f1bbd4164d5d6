import { expect, test } from "vitest";
import { AssertionFailure } from "../../../src/core/assert.ts";
import { formatSql, type SqlParam } from "../../../src/log/vitess/sql-text.ts";

test.each([
  ["text", "it's", "'it\\'s'"],
  ["a backslash before a quote", "\\'", "'\\\\\\''"],
  ["a backslash at the end", "a\\", "'a\\\\'"],
  ["NUL", "a\0b", "'a\\0b'"],
  ["line ends as they are", "a\r\n\tb", "'a\r\n\tb'"],
  ["quotes of the other kind", '"`', "'\"`'"],
  ["what looks like a placeholder", "? :name @v", "'? :name @v'"],
  ["what looks like a comment", "-- /*! */ #", "'-- /*! */ #'"],
  ["a line separator and a character of four bytes", "\u2028\u{1f600}", "'\u2028\u{1f600}'"],
  ["what a replacement would read", "$& $1 $$ $'", "'$& $1 $$ $\\''"],
  ["an empty text", "", "''"],
  ["a number", -5, "-5"],
  ["zero", 0, "0"],
  ["the largest number", Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ["nothing", null, "NULL"],
  ["bytes", new Uint8Array([0, 39, 92, 255]), "x'00275cff'"],
  ["no bytes", new Uint8Array(0), "x''"],
  ["a part of a buffer", new Uint8Array([1, 2, 3]).subarray(1, 2), "x'02'"],
] satisfies [string, SqlParam, string][])("%s", (_what, param, expected) => {
  expect(formatSql("SELECT ?", [param])).toBe(`SELECT ${expected}`);
});

test("parameters stand in order, whatever they hold", () => {
  expect(formatSql("a ? b ? c", ["?", 2])).toBe("a '?' b 2 c");
});

test("bytes longer than a piece are whole", () => {
  const bytes = Uint8Array.from({ length: 10_001 }, (_, place) => place % 256);
  expect(formatSql("?", [bytes])).toBe(`x'${Buffer.from(bytes).toString("hex")}'`);
});

test.each([
  ["a lone surrogate", "a\ud800"],
  ["a fraction", 1.5],
  ["a number that is not exact", 2 ** 53],
  ["no number", Number.NaN],
  ["a buffer that is no bytes", new ArrayBuffer(2) as unknown as Uint8Array],
  ["something else", { toString: () => "'" } as unknown as string],
])("%s is refused", (_what, param) => {
  expect(() => formatSql("?", [param])).toThrow(AssertionFailure);
});

test.each([[[]], [["a"]], [["a", "b", "c"]]])("%j for two placeholders is refused", (params) => {
  expect(() => formatSql("? ?", params)).toThrow(AssertionFailure);
});
