import { expect, test } from "vitest";
import { plainTable, terminalTable } from "../../../src/cli/table.ts";

const COLUMNS = [
  { title: "NAME" },
  { title: "COUNT", align: "right" },
  { title: "WHY", maxChars: 6 },
] as const;
const same = (text: string) => text;

test("columns are aligned, by the width that characters have, without lines", () => {
  const rows = [
    ["a", 5, "short"],
    ["漢字", 12345, "longer than that"],
    ["", 0, ""],
  ];
  expect(terminalTable(COLUMNS, rows, same).split("\n")).toEqual([
    "NAME  COUNT  WHY",
    "a         5  short",
    "漢字  12345  longe…",
    "          0",
  ]);
});

test("a line break in a name is no new row", () => {
  expect(terminalTable([{ title: "NAME" }], [["a\nb"]], same)).toBe("NAME\na\\nb");
  expect(plainTable([["a\nb", "c\td"]])).toBe("a\\nb\tc\\td");
});

test("for a program nothing is cut", () => {
  expect(plainTable([["a", 5, "longer than that"]])).toBe("a\t5\tlonger than that");
});
