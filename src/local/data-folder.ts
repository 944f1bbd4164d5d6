import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StartRefusal } from "./start-refusal.ts";

const SECRET_BYTES = 32;
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

/** Everything a local server keeps between starts. Open while the server runs, one server at a time. */
export class DataFolder {
  readonly path: string;
  /** Where the runtime keeps the Durable Objects. */
  readonly objectsPath: string;
  /** The bundled Worker and the runtime's configuration, made anew by each start. */
  readonly workerPath: string;
  readonly tokenPath: string;
  /** Where the server listens, as this machine reaches it; that of the last start. */
  readonly urlPath: string;
  readonly #lock: DatabaseSync;

  /** Makes what is missing. Throws a StartRefusal when it cannot be written, or another server has it open. */
  constructor(path: string) {
    this.path = path;
    this.objectsPath = join(path, "objects");
    this.workerPath = join(path, "worker");
    this.tokenPath = join(path, "token");
    this.urlPath = join(path, "url");
    try {
      makeFolder(path);
      mkdirSync(this.objectsPath, { recursive: true });
      mkdirSync(this.workerPath, { recursive: true });
      writePrivate(join(path, "lock"), null);
    } catch (error) {
      throw notWritable(path, error);
    }
    this.#lock = takeLock(path);
  }

  /** The secret that signs tokens: random, made once. */
  secret(): string {
    const path = join(this.path, "secret");
    try {
      if (!existsSync(path)) writePrivate(path, randomBytes(SECRET_BYTES).toString("base64url"));
    } catch (error) {
      throw notWritable(this.path, error);
    }
    return readSecret(this.path) as string;
  }

  /** The objects name places in one log: throws a StartRefusal when they were made for another. */
  claimLog(kind: string): void {
    const path = join(this.path, "message-log");
    const madeFor = existsSync(path) ? readFileSync(path, "utf8").trim() : null;
    if (madeFor === null) writePrivate(path, `${kind}\n`);
    if (madeFor === null || madeFor === kind) return;
    throw new StartRefusal(
      `${this.path} was made for MESSAGE_LOG=${madeFor}, and MESSAGE_LOG is ${kind}: set FAIRLANE_DATA to another folder`,
    );
  }

  keepToken(token: string): void {
    writePrivate(this.tokenPath, token);
  }

  keepUrl(url: string): void {
    writePrivate(this.urlPath, `${url}\n`);
  }

  /** May be called again. */
  close(): void {
    if (this.#lock.isOpen) this.#lock.close();
  }
}

/** The secret that a start made, or null before the first start. Throws a StartRefusal on an unusable one. */
export function readSecret(dataDir: string): string | null {
  const path = join(dataDir, "secret");
  if (!existsSync(path)) return null;
  let secret: string;
  try {
    secret = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new StartRefusal(`${path} cannot be read (${codeOf(error)}): set AUTH_SECRET, or make it readable`);
  }
  if (secret === "")
    throw new StartRefusal(`${path} is empty: remove it, and the next start makes a new one`);
  return secret;
}

/** `text` null: leaves what is there, but makes sure that the file exists. */
function writePrivate(path: string, text: string | null): void {
  writeFileSync(path, text ?? "", { mode: PRIVATE_FILE, flag: text === null ? "a" : "w" });
  // The mode above counts only for a new file.
  chmodSync(path, PRIVATE_FILE);
}

/**
 * SQLite's lock on a file, since Node has no other that the system frees when the process dies in any
 * way: a second server on the same objects would corrupt them.
 */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(join(path, "lock"));
  try {
    lock.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) {
      throw new StartRefusal(
        `another server is using ${path}: stop it, or set FAIRLANE_DATA to another folder`,
        true,
      );
    }
    throw notWritable(path, error);
  }
  return lock;
}

const SQLITE_BUSY = 5;

function notWritable(path: string, error: unknown): StartRefusal {
  return new StartRefusal(
    `the data folder ${path} cannot be written (${codeOf(error)}): set FAIRLANE_DATA to a folder that can`,
  );
}

function codeOf(error: unknown): string {
  if (error instanceof Error) return "code" in error ? `${error.code}` : error.message;
  return String(error);
}

/** One folder at a time: where the system refuses in an odd way, Node's own `recursive` may try for ever. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: PRIVATE_FOLDER });
}
