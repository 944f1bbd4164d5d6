/** A fenced block of a document, and how it is marked. */
export interface Block {
  language: string;
  /** `run`: carried out as it stands; `serve`: in a terminal of its own, and goes on; null: not run. */
  mark: "run" | "serve" | null;
  text: string;
  /** Where it begins, counted from 1. */
  line: number;
  /** The paragraph before it. */
  paragraph: string;
  /** What the document says that it prints; null where it does not say. */
  printed: string | null;
}

const FENCE = /^```(\w+)(?: (\w+))?$/;
const MARKS = ["run", "serve"] as const;

/** Blocks in their order. A `text` block belongs to the one before it. Throws on a fence that cannot be read. */
export function readBlocks(document: string): Block[] {
  const lines = document.split("\n");
  const blocks: Block[] = [];
  let behind = 0;
  for (let at = 0; at < lines.length; at += 1) {
    const opening = lines[at] as string;
    if (!opening.startsWith("```")) continue;
    const [, language, word] = FENCE.exec(opening) ?? [];
    const end = lines.indexOf("```", at + 1);
    const mark = MARKS.find((each) => each === word) ?? null;
    if (language === undefined || end < 0 || (word !== undefined && mark === null)) {
      throw new Error(`line ${at + 1}: ${opening} is no fence that is known here`);
    }
    const text = lines.slice(at + 1, end).join("\n");
    const last = blocks.at(-1);
    if (language !== "text") {
      blocks.push({
        language,
        mark,
        text,
        line: at + 1,
        paragraph: paragraphBefore(lines, at),
        printed: null,
      });
    } else if (last?.mark && lines.slice(behind, at).every((line) => line === "")) last.printed = text;
    else throw new Error(`line ${at + 1}: what is printed must stand right behind what is run`);
    behind = end + 1;
    at = end;
  }
  return blocks;
}

function paragraphBefore(lines: readonly string[], at: number): string {
  let end = at;
  while (lines[end - 1] === "") end -= 1;
  let start = end;
  while (start > 0 && lines[start - 1] !== "" && !lines[start - 1]?.startsWith("```")) start -= 1;
  return lines.slice(start, end).join("\n");
}

const RUNNABLE = new Set(["sh run", "sh serve", "sql run", "ini run"]);

/** Blocks that are not either run or said to be not run, as lines for people. */
export function unclearBlocks(blocks: readonly Block[]): string[] {
  return blocks.flatMap(({ language, mark, line, paragraph }) => {
    const saysNotRun = /\bnot run\b/i.test(paragraph);
    const isRun = RUNNABLE.has(`${language} ${mark}`);
    if (isRun && !saysNotRun) return [];
    if (language === "sh" && mark === null && saysNotRun) return [];
    return [
      `line ${line}: ${isRun ? "is run and says that it is not" : "neither run nor said to be not run"}`,
    ];
  });
}

const ANYTHING = "…";

/**
 * Whether a text holds what the document shows, line by line; numbers may differ, and where a line says "…" any lines
 * may stand. Returns the first line that is missing, or null.
 */
export function missingLine(shown: string, actual: string): string | null {
  const actualLines = actual.split("\n").map(withoutNumbers);
  let at = 0;
  let maySkip = true;
  for (const line of shown.split("\n")) {
    if (line === ANYTHING) {
      maySkip = true;
      continue;
    }
    const wanted = withoutNumbers(line);
    const found = maySkip ? actualLines.indexOf(wanted, at) : actualLines[at] === wanted ? at : -1;
    if (found < 0) return line;
    at = found + 1;
    maySkip = false;
  }
  return null;
}

function withoutNumbers(line: string): string {
  return line.trimEnd().replace(/[0-9]+/g, "N");
}

/** The part of a document under a heading, to the next one of its kind. */
export function section(document: string, heading: string): string {
  const [, rest] = document.split(`\n## ${heading}\n`);
  if (rest === undefined) throw new Error(`no heading ${heading}`);
  return rest.split("\n## ")[0] as string;
}

/** What stands in backquotes in the first column of the tables of a text. */
export function firstColumnNames(text: string): string[] {
  return [...text.matchAll(/^\| ([^|]*`[^|]*) \|/gm)].flatMap(([, cell]) =>
    [...(cell as string).matchAll(/`([^`]+)`/g)].map(([, name]) => name as string),
  );
}
