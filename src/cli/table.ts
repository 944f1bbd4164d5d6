import Table from "cli-table3";
import { escapeCell, escapeLine } from "./escape.ts";

/** A column's title and how its cells stand. `maxChars`: on a terminal, longer cells are cut. */
export interface Column {
  title: string;
  align?: "left" | "right";
  maxChars?: number;
}

export type Cell = string | number;

const NO_LINES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

/** For a terminal: aligned columns without lines around them, a title over each. */
export function terminalTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  dim: (text: string) => string,
): string {
  const table = new Table({
    chars: NO_LINES,
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    colAligns: columns.map(({ align = "left" }) => align),
  });
  table.push(columns.map(({ title }) => dim(title)));
  for (const row of rows) {
    table.push(row.map((cell, index) => cut(escapeLine(String(cell)), columns[index]?.maxChars)));
  }
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** For a program: tab-separated, no titles, nothing cut. */
export function plainTable(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map((cell) => escapeCell(String(cell))).join("\t")).join("\n");
}

function cut(text: string, maxChars: number | undefined): string {
  if (maxChars === undefined || text.length <= maxChars) return text;
  const characters = [...text];
  return characters.length <= maxChars ? text : `${characters.slice(0, maxChars - 1).join("")}…`;
}
