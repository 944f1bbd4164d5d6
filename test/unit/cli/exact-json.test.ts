import { afterEach, describe, expect, test } from "vitest";
import { InexactNumber, parseExactJson } from "../../../src/cli/exact-json.ts";

const KEPT = [
  '{"a":1.0,"b":9007199254740993,"c":-0.10e+2,"d":[1e400,-1e-400,0.1]}',
  "1.0",
  "-0",
  '"1.0"',
  "[null,true,false,{}]",
  '{"__proto__":{"a":1.50}}',
  "12345678901234567890",
];

describe("where Node keeps a number's source", () => {
  test.each(KEPT)("%s is written again as it was", (text) => {
    expect(JSON.stringify(parseExactJson(text))).toBe(text);
  });
  test("what is not JSON throws", () => {
    expect(() => parseExactJson("{")).toThrow(SyntaxError);
    expect(() => parseExactJson("hello")).toThrow(SyntaxError);
  });
});

describe("where it does not", () => {
  const json = JSON as { rawJSON?: unknown };
  const { rawJSON } = json;
  afterEach(() => {
    json.rawJSON = rawJSON;
  });
  const parseOld = (text: string) => {
    delete json.rawJSON;
    return parseExactJson(text);
  };
  test.each(["9007199254740993", '{"a":[12345678901234567890]}', "1e400", "0.1234567890123456789"])(
    "%s is refused",
    (text) => {
      expect(() => parseOld(text)).toThrow(InexactNumber);
    },
  );
  test.each([
    ["1.0", 1],
    ["-10.50e1", -105],
    ["0.000", 0],
    ["9007199254740992", 9007199254740992],
    ['"9007199254740993 \\" 9007199254740993"', '9007199254740993 " 9007199254740993'],
    ["1E3", 1000],
    ["123456789012345680000", 123456789012345680000],
  ])("%s is the same number", (text, value) => {
    expect(parseOld(text)).toBe(value);
  });
});
