import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TerminalOptions } from "../vitess/operations-terminal.ts";
import { firstUnprinted } from "./guide-place.ts";
import { until } from "./harness.ts";

/**
 * Runs its first argument in the foreground. When the pipe that only the test holds open ends, the whole group ends;
 * what the program started in a group of its own ends by the program.
 */
const WATCHED = 'exec 3<&0; (read -r _ <&3; kill -TERM 0) & bash -e "$1" </dev/null 2>&1; kill -TERM 0';
/** A program starts within a few seconds, also on a busy machine. */
const SHOWN_MS = 45_000;

let opened = 0;

/** A terminal in which one program of the guide goes on until Ctrl-C. It does not outlive this process. */
export class GuideTerminal {
  /** What it printed until now. */
  output = "";
  private readonly shell: ChildProcess;
  private readonly ended: Promise<unknown>;

  constructor(text: string, { folder, env }: TerminalOptions) {
    opened += 1;
    const file = join(folder, `terminal-${opened}.sh`);
    writeFileSync(file, text);
    this.shell = spawn("bash", ["-c", WATCHED, "bash", file], { cwd: folder, env, detached: true });
    this.shell.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      this.output += chunk;
    });
    this.shell.stdin?.on("error", () => {});
    this.ended = once(this.shell, "close");
  }

  /** Resolves when these lines, one behind the other, are in what it printed. */
  async shows(lines: string): Promise<void> {
    const missing = () => firstUnprinted(`…\n${lines}\n…`, this.output);
    await until(`the terminal shows "${lines}"`, async () => missing() === null, SHOWN_MS).catch((error) => {
      throw new Error(`${error.message}\nbut:\n${this.output}`);
    });
  }

  /** Ctrl-C: the signal comes to all of the foreground. Resolves when that has ended. */
  async interrupt(): Promise<void> {
    process.kill(-(this.shell.pid as number), "SIGINT");
    await this.ended;
  }

  async close(): Promise<void> {
    this.shell.stdin?.end();
    await this.ended;
  }
}
