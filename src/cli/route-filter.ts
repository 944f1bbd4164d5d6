import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Filter } from "../client/fairlane.ts";
import type { ParsedFilter } from "../splitting/filter/parse-filter.ts";
import { CliError, usageError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { readToEnd } from "./read-input.ts";
import type { Run } from "./run.ts";

/** How a command is given a filter: exactly one of the three. */
export interface FilterFlags {
  /** Each in the short form or as JSON; all of them must hold. */
  parts: readonly string[];
  all?: boolean | undefined;
  filterFile?: string | undefined;
}

const STDIN = "-";

/** Throws a CliError where it is none. */
export async function filterOf(run: Run, { parts, all, filterFile }: FilterFlags): Promise<Filter> {
  const given = [parts.length > 0, all === true, filterFile !== undefined].filter(Boolean).length;
  if (given > 1) throw usageError("give the filter once: as arguments, in --filter-file, or --all");
  if (all) return { everything: true };
  const texts = filterFile === undefined ? parts : [await fileText(run, filterFile)];
  if (texts.length === 0) {
    throw usageError(
      "which messages? a filter is missing",
      "give one, like x-dev=alice, or --all for every message",
    );
  }
  // Needed only here: what reads regular expressions is no small module.
  const { parseFilter } = await import("../splitting/filter/parse-filter.ts");
  const { parseShortFilter } = await import("../splitting/filter/parse-short-filter.ts");
  const filters = texts.map((text) => checked(text, parseShortFilter(text, "fairlane")));
  const [only, ...others] = filters;
  if (only !== undefined && others.length === 0) return only;
  const together = filters.flatMap((one) => ("all" in one ? one.all : [one]));
  return checked(texts.join(" "), parseFilter({ all: together }, "fairlane"));
}

function checked(text: string, parsed: ParsedFilter): Filter {
  if (parsed.ok) return parsed.filter;
  // Of the short form a place is a character, and the message has it.
  const isJson = text.trimStart().startsWith("{");
  const problems = parsed.issues.map(({ path, message }) => {
    const place = isJson && path.length > 0 ? `${placeText(path)} ` : "";
    return `${place}${message}`;
  });
  const hint = "see: fairlane split start --help";
  const [only, ...others] = problems;
  if (others.length === 0) throw usageError(`the filter ${shown(text)}: ${only}`, hint);
  throw usageError([`the filter ${shown(text)}:`, ...problems.map((one) => `  ${one}`)].join("\n"), hint);
}

/** As the API says where something is. */
function placeText(path: readonly (string | number)[]): string {
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${part}`))
    .join("");
}

const MAX_SHOWN_CHARS = 100;

function shown(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS)}…` : line;
}

async function fileText(run: Run, path: string): Promise<string> {
  const { MAX_FILTER_BYTES } = await import("../splitting/filter/limits.ts");
  const input = path === STDIN ? run.shell.stdin : createReadStream(resolve(run.shell.cwd, path));
  try {
    // Room for the white space that a person writes.
    const bytes = await readToEnd(input as AsyncIterable<Buffer>, 2 * MAX_FILTER_BYTES);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw usageError(`${path} is not text in UTF-8`);
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof CliError || code === undefined) throw error;
    throw new CliError(`${path} cannot be read (${code})`, EXIT.usage);
  }
}
