import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { missingLine } from "./operations-document.ts";

export interface TerminalOptions {
  folder: string;
  env: Readonly<Record<string, string>>;
}

/** npm and the runtime start within a few seconds, also on a busy machine. */
const SHOWN_MS = 45_000;

let pasted = 0;

/** A shell that keeps its variables and functions from one pasted text to the next. */
export class Terminal {
  private readonly shell: ChildProcess;
  private readonly folder: string;
  private readonly ended: Promise<string>;
  private output = "";
  private wake: () => void = () => {};

  constructor({ folder, env }: TerminalOptions) {
    this.folder = folder;
    this.shell = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail"], { cwd: folder, env });
    for (const stream of [this.shell.stdout, this.shell.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        this.output += chunk;
        this.wake();
      });
    }
    // Written to after its end it says so here; `ended` has told already.
    this.shell.stdin?.on("error", () => {});
    this.ended = once(this.shell, "close").then(([code]) => `the shell ended with ${code}`);
  }

  /** Returns what it printed; rejects with that when one of its commands fails. */
  async paste(text: string): Promise<string> {
    pasted += 1;
    const end = `end-of-paste-${pasted}`;
    // From a file, so that a command which reads its input does not swallow what is pasted next.
    const file = join(this.folder, `pasted-${pasted}.sh`);
    writeFileSync(file, text);
    this.output = "";
    this.shell.stdin?.write(`. ${file} </dev/null\necho ${end}\n`);
    while (!this.output.includes(end)) {
      const more = new Promise<null>((resolve) => {
        this.wake = () => resolve(null);
      });
      const ended = await Promise.race([more, this.ended]);
      if (ended) throw new Error(`${text}\n${ended}:\n${this.output}`);
    }
    return this.output.replace(`${end}\n`, "");
  }

  async close(): Promise<void> {
    this.shell.stdin?.end();
    await this.ended;
  }
}

/**
 * Runs its first argument. When the pipe that only the test holds open ends, or the program does, the whole group
 * ends.
 */
const WATCHED = 'exec 3<&0; (read -r _ <&3; kill -TERM 0) & bash -e "$1" </dev/null; kill -TERM 0';

/** A server in a terminal of its own. It does not outlive this process. */
export class ServerTerminal {
  private readonly shell: ChildProcess;
  private readonly ended: Promise<unknown>;
  private output = "";

  private constructor(text: string, { folder, env }: TerminalOptions) {
    pasted += 1;
    const file = join(folder, `pasted-${pasted}.sh`);
    writeFileSync(file, text);
    this.shell = spawn("bash", ["-c", WATCHED, "bash", file], { cwd: folder, env, detached: true });
    this.shell.stdin?.on("error", () => {});
    this.ended = once(this.shell, "close");
  }

  /** Resolves when it has printed what the document shows; rejects, and ends it, when it does not in time. */
  static async open(text: string, shown: string, options: TerminalOptions): Promise<ServerTerminal> {
    const terminal = new ServerTerminal(text, options);
    try {
      await terminal.printed(shown);
    } catch (error) {
      await terminal.close();
      throw error;
    }
    return terminal;
  }

  private async printed(shown: string): Promise<void> {
    const isShown = new Promise<true>((resolve) => {
      for (const stream of [this.shell.stdout, this.shell.stderr]) {
        stream?.setEncoding("utf8").on("data", (chunk: string) => {
          this.output += chunk;
          if (missingLine(shown, this.output) === null) resolve(true);
        });
      }
    });
    const late = new AbortController();
    const isLate = pause(SHOWN_MS, false, { signal: late.signal }).catch(() => false);
    const outcome = await Promise.race([isShown, isLate, this.ended]);
    late.abort();
    if (outcome === true) return;
    throw new Error(`not printed: ${missingLine(shown, this.output)}\n${this.output}`);
  }

  async close(): Promise<void> {
    this.shell.stdin?.end();
    await this.ended;
  }
}
