import type { Rule } from "../../../../src/splitting/config/issue.ts";

const encoder = new TextEncoder();
const MIB = 1024 * 1024;

/** What is no manifest and no configuration, and the rules that say so; [] for a text that has nothing in it. */
export const RUBBISH: readonly (readonly [what: string, bytes: Uint8Array, rules: readonly Rule[]])[] = [
  ["nothing", new Uint8Array(), ["input-empty"]],
  ["white space", encoder.encode(" \n\t\n"), ["input-empty"]],
  ["a program", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]), ["input-not-text"]],
  ["a picture", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]), ["input-not-text"]],
  ["UTF-16", new Uint8Array([0xff, 0xfe, 0x61, 0]), ["input-not-text"]],
  ["3 MiB", new Uint8Array(3 * MIB).fill(0x61), ["input-too-large"]],
  ["brackets in brackets", encoder.encode("[".repeat(30_000)), ["yaml-too-deep"]],
  ["lists in lists", encoder.encode(`${"- ".repeat(10_000)}a`), ["yaml-too-deep"]],
  ["keys in keys", encoder.encode(nestedKeys(300)), ["yaml-too-deep"]],
  ["a bomb of aliases", encoder.encode(bomb(12)), ["yaml-aliases"]],
  ["a list that is in itself", encoder.encode("a: &a [*a]\n"), ["manifest-not-object", "yaml-syntax"]],
  ["thousands of documents", encoder.encode("---\n".repeat(5000)), ["yaml-too-many"]],
  ["quotes that do not end", encoder.encode(`a: "${"b\n  ".repeat(10_000)}`), ["yaml-syntax"]],
];

function nestedKeys(depth: number): string {
  return Array.from({ length: depth }, (_, level) => `${" ".repeat(level)}a:\n`).join("");
}

/** Each level is ten times the one before it. */
function bomb(levels: number): string {
  const lines = Array.from({ length: levels }, (_, level) => {
    const items = level === 0 ? "x" : `*a${level - 1}`;
    return `a${level}: &a${level} [${Array(10).fill(items).join(", ")}]\n`;
  });
  return lines.join("");
}
