import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Shell } from "./shell.ts";
import { variable } from "./shell.ts";

/** The data folder of a local server, and the files in it that matter here. */
const DATA_FOLDER = ".fairlane";
const MAX_PARENTS = 64;
const MAX_SECRET_FILE_BYTES = 64 * 1024;
/** Marks the folder that the program itself lies in. */
const OWN_BIN = join("bin", "fairlane.mjs");

export interface LocalFile {
  path: string;
  text: string;
}

/**
 * A file of the nearest data folder that has it: FAIRLANE_DATA; else `.fairlane` in the working folder or one above
 * it, as git finds `.git`; else in the checkout that this program lies in. null: there is none.
 */
export function localFile(shell: Shell, name: "token" | "secret" | "url"): LocalFile | null {
  const named = variable(shell, "FAIRLANE_DATA");
  const folders = named === null ? dataFolders(shell.cwd) : [resolve(shell.cwd, named)];
  for (const folder of folders) {
    const path = join(folder, name);
    const text = readSmall(path);
    if (text !== null && text !== "") return { path, text };
  }
  return null;
}

function* dataFolders(cwd: string): Generator<string> {
  yield* parents(cwd, DATA_FOLDER);
  const own = dirname(fileURLToPath(import.meta.url));
  for (const bin of parents(own, OWN_BIN)) {
    if (!existsSync(bin)) continue;
    yield join(dirname(dirname(bin)), DATA_FOLDER);
    return;
  }
}

function* parents(from: string, name: string): Generator<string> {
  let folder = from;
  for (let step = 0; step < MAX_PARENTS; step += 1) {
    yield join(folder, name);
    const parent = dirname(folder);
    if (parent === folder) return;
    folder = parent;
  }
}

/** null: not there. A folder or a file that may not be read is there for somebody else: the same. */
function readSmall(path: string): string | null {
  try {
    const bytes = readFileSync(path);
    return bytes.length > MAX_SECRET_FILE_BYTES ? null : bytes.toString("utf8").trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EISDIR" || code === "EACCES") return null;
    throw error;
  }
}
