import { expect, test } from "vitest";
import { inputLines } from "../../../src/cli/input-lines.ts";

async function* stream(...chunks: string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function linesOf(maxLineBytes: number, ...chunks: string[]) {
  const groups: (string | null)[][] = [];
  const numbers: number[] = [];
  for await (const lines of inputLines(stream(...chunks), maxLineBytes)) {
    groups.push(lines.map(({ bytes }) => bytes && Buffer.from(bytes).toString()));
    numbers.push(...lines.map(({ number }) => number));
  }
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  return groups;
}

test("lines that arrive together come together, and need no end", async () => {
  expect(await linesOf(100, "a\nb\r\n\nc", "c\nd", "", "d")).toEqual([["a", "b", ""], ["cc"], ["dd"]]);
  expect(await linesOf(100, "")).toEqual([]);
  expect(await linesOf(100, "a\n")).toEqual([["a"]]);
});

test("of a line that is too long nothing is kept, and the next one is whole", async () => {
  expect(await linesOf(4, "1234\n12345\n", "12", "34", "5", "6\nab\n")).toEqual([
    ["1234", null],
    [null, "ab"],
  ]);
});

test("a character may be cut between two chunks", async () => {
  const bytes = Buffer.from("é漢\n");
  async function* cut() {
    for (const byte of bytes) yield Buffer.from([byte]);
  }
  const texts: string[] = [];
  for await (const [line] of inputLines(cut(), 100)) texts.push(Buffer.from(line?.bytes ?? []).toString());
  expect(texts).toEqual(["é漢"]);
});
