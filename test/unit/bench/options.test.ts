import { describe, expect, test } from "vitest";
import { PHASES, parseOptions, UsageError } from "../../../bench/options.ts";

describe("the options of the benchmark", () => {
  test("are everything, in full, as a table by default", () => {
    expect(parseOptions([])).toEqual({ json: false, quick: false, only: new Set(PHASES) });
  });

  test("stand in any order", () => {
    const expected = { json: true, quick: true, only: new Set(["rows", "endToEnd"]) };
    expect(parseOptions(["--json", "--only", "rows,endToEnd", "--quick"])).toEqual(expected);
    expect(parseOptions(["--only=rows, endToEnd", "--quick", "--json"])).toEqual(expected);
  });

  test.each([
    [["--jsn"]],
    [["publish"]],
    [["--json=yes"]],
    [["--only"]],
    [["--only", ""]],
    [["--only", ","]],
    [["--only", "publish,nothing"]],
    [["--only", "--quick"]],
    [["--only", "toString"]],
  ])("refuse %j and say how it is used", (args) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(/usage: npm run bench/);
  });
});
