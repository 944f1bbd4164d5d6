import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Issue } from "../splitting/config/issue.ts";
import type { InputFile } from "../splitting/config/text-input.ts";
import type { ValidateInput } from "../splitting/config/validate.ts";
import { CliError, usageError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { collect } from "./flag-values.ts";
import type { Run } from "./run.ts";

/** The manifests and the configuration that a command is about. */
export interface SplitFileFlags {
  file: string[];
  config?: string;
  workload?: string;
}

/** Together they are one set, so a folder's worth. */
const MAX_FILES = 50;
const STDIN = "-";

export function withSplitFileFlags(command: Command): Command {
  return command
    .requiredOption("-f, --file <path>", "a file of manifests, - for stdin; may be repeated", collect)
    .option("--config <path>", "the configuration, where the workload does not carry it")
    .option("--workload <name>", "only this one, as in worker or Deployment/worker");
}

export async function readSplitFiles(run: Run, flags: SplitFileFlags): Promise<ValidateInput> {
  // Needed only here: what reads YAML is no small module.
  const { MAX_CONFIG_BYTES, MAX_MANIFEST_BYTES } = await import("../splitting/config/text-input.ts");
  const { file: paths, config = null, workload = null } = flags;
  if (paths.length > MAX_FILES) throw usageError(`give at most ${MAX_FILES} files`);
  if ([...paths, config].filter((path) => path === STDIN).length > 1) {
    throw usageError("only one of the files can be stdin");
  }
  const manifests: InputFile[] = [];
  for (const path of paths) manifests.push(await readFile(run, path, MAX_MANIFEST_BYTES));
  return {
    manifests,
    config: config === null ? null : await readFile(run, config, MAX_CONFIG_BYTES),
    workload,
  };
}

/** Of a file that is too large one byte too many, so that its size is told together with all else that is wrong. */
async function readFile({ shell }: Run, path: string, maxBytes: number): Promise<InputFile> {
  const input = path === STDIN ? shell.stdin : createReadStream(resolve(shell.cwd, path));
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) break;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CliError(`${path} cannot be read (${code})`, EXIT.usage);
  }
  return { name: path === STDIN ? "stdin" : path, bytes: Buffer.concat(chunks).subarray(0, maxBytes + 1) };
}

/** Its place, as editors and terminals know it, what is wrong, and the rule: the parts of one line. */
export function issueParts({ out }: Run, issue: Issue): [place: string, words: string, rule: string] {
  const { file, place, workload, path, message, suggestion, rule } = issue;
  const where = place === null ? file : `${file}:${place.line}:${place.column}`;
  const what = [workload, path].filter((one) => one !== null && one !== "").join(" ");
  const meant = suggestion === null ? "" : `; did you mean ${suggestion}?`;
  return [
    `${out.name(where)}:`,
    out.name(`${what}${what === "" ? "" : ": "}${message}${meant}`),
    `[${rule}]`,
  ];
}

export function issueJson({ place, ...rest }: Issue): unknown {
  const { file, workload, path, rule, message, suggestion } = rest;
  return {
    file,
    line: place?.line ?? null,
    column: place?.column ?? null,
    workload,
    path,
    rule,
    message,
    suggestion,
  };
}

/** "1 problem", "12 problems". */
export function problemCount(count: number): string {
  return count === 1 ? "1 problem" : `${count} problems`;
}
