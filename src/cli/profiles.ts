import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { nameProblem } from "../core/names.ts";
import { CliError, usageError } from "./cli-error.ts";
import { EXIT } from "./exit-codes.ts";
import { type Shell, variable } from "./shell.ts";

/** A server that one works with, under a name. A token counts for this URL alone. */
export interface Profile {
  url?: string;
  tenant?: string;
  token?: string;
}

export interface Profiles {
  /** Used where none is named. */
  current: string | null;
  profiles: Map<string, Profile>;
}

const FIELDS = ["url", "tenant", "token"] as const;
const MAX_CONFIG_BYTES = 1024 * 1024;
const MAX_PROFILE_NAME_CHARS = 64;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;

export function configPath(shell: Shell): string {
  const base = variable(shell, "XDG_CONFIG_HOME") ?? join(variable(shell, "HOME") ?? homedir(), ".config");
  return join(base, "fairlane", "config.json");
}

/** Throws a CliError when the file is there and cannot be read. */
export function readProfiles(path: string): Profiles {
  let text: string;
  try {
    if (statSync(path).size > MAX_CONFIG_BYTES) throw unreadable(path, "it is larger than any profiles are");
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { current: null, profiles: new Map() };
    if (error instanceof CliError) throw error;
    throw unreadable(path, code ?? String(error));
  }
  return parseProfiles(text, path);
}

/** What a token in it needs, and the file does not have: null, or who else can read it. */
export function readableByOthers(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && process.platform !== "win32" && (stat.mode & OTHERS) !== 0;
}

function parseProfiles(text: string, path: string): Profiles {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and there are tokens in it.
    throw unreadable(path, "it is not JSON");
  }
  if (!isObject(value) || !isObject(value.profiles)) throw unreadable(path, "it holds no profiles");
  const profiles = new Map<string, Profile>();
  for (const [name, fields] of Object.entries(value.profiles)) {
    if (!isObject(fields)) throw unreadable(path, `profile ${name} is not an object`);
    const profile: Profile = {};
    for (const field of FIELDS) {
      const given = fields[field];
      if (given === undefined) continue;
      if (typeof given !== "string") throw unreadable(path, `${field} of profile ${name} is not a string`);
      profile[field] = given;
    }
    profiles.set(name, profile);
  }
  const current = typeof value.current === "string" ? value.current : null;
  return { current, profiles };
}

/** Whole or not at all, and for its owner alone. */
export function writeProfiles(path: string, { current, profiles }: Profiles): void {
  const folder = dirname(path);
  const text = JSON.stringify({ current, profiles: Object.fromEntries(profiles) }, null, 2);
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const file = openSync(temporary, "wx", PRIVATE_FILE);
    try {
      writeSync(file, `${text}\n`);
      fsyncSync(file);
      closeSync(file);
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(`${path} cannot be written (${code ?? error})`, EXIT.failed);
  }
}

export function checkProfileName(name: string): void {
  const problem = nameProblem(name, MAX_PROFILE_NAME_CHARS);
  if (problem !== null) throw usageError(`the profile's name ${problem}`);
}

function unreadable(path: string, reason: string): CliError {
  return new CliError(`${path} cannot be used: ${reason}`, EXIT.failed, "mend it, or move it away");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
