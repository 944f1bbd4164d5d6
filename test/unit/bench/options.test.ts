import { describe, expect, test } from "vitest";
import { PHASES, parseOptions, UsageError } from "../../../bench/options.ts";

describe("the options of the benchmark", () => {
  test("are everything of the embedded log, in full, as a table by default", () => {
    expect(parseOptions([])).toEqual({
      log: "object",
      json: false,
      quick: false,
      only: new Set(PHASES.object),
    });
    expect(parseOptions(["--log", "object"])).toEqual(parseOptions([]));
  });

  test("stand in any order", () => {
    const expected = { log: "object", json: true, quick: true, only: new Set(["rows", "endToEnd"]) };
    expect(parseOptions(["--json", "--only", "rows,endToEnd", "--quick"])).toEqual(expected);
    expect(parseOptions(["--only=rows, endToEnd", "--quick", "--json"])).toEqual(expected);
  });

  test("choose the log, whose phases are its own", () => {
    const expected = { log: "vitess", json: false, quick: false, full: false };
    expect(parseOptions(["--log", "vitess"])).toEqual({ ...expected, only: new Set(PHASES.vitess) });
    expect(parseOptions(["--only=life,notify", "--full", "--log=vitess"])).toEqual({
      ...expected,
      full: true,
      only: new Set(["life", "notify"]),
    });
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
    [["--log"]],
    [["--log", "--json"]],
    [["--log", "mysql"]],
    [["--log=toString"]],
    [["--full"]],
    [["--full", "--log", "object"]],
    [["--log", "vitess", "--full", "--quick"]],
    [["--only", "notify"]],
    [["--log", "vitess", "--only", "neighbour"]],
  ])("refuse %j and say how it is used", (args) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(/usage: npm run bench/);
  });
});
