import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { until } from "./harness.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const EXAMPLES = join(ROOT, "examples");
const KEPT_OUTPUT_CHARS = 64 * 1024;

/** The examples import the package by its name, and get what is built of it. */
export function buildPackage(): void {
  const built = spawnSync(process.execPath, [join(ROOT, "scripts/build.ts"), "package"], {
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(`the package does not build:\n${built.stdout}${built.stderr}`);
}

/** One run of an example's program. */
export class ExampleProgram {
  readonly name: string;
  /** What it printed until now; the end of it, if it is much. */
  output = "";
  readonly #child: ChildProcess;
  readonly #closed: Promise<number | null>;

  /** `path` is relative to the folder of the examples; `input` is its standard input. */
  constructor(path: string, env: Readonly<Record<string, string>>, input = "") {
    this.name = path;
    this.#child = spawn(process.execPath, [join(EXAMPLES, path)], {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        this.output = (this.output + chunk).slice(-KEPT_OUTPUT_CHARS);
      });
    }
    // A program that ended without reading says so by its exit code.
    this.#child.stdin?.on("error", () => {}).end(input);
    this.#closed = once(this.#child, "close").then(([code]) => code as number | null);
  }

  /** Waits for its end and returns what it printed; rejects when it failed. */
  async done(): Promise<string> {
    const code = await this.#closed;
    if (code !== 0) throw new Error(`${this.name} ended with ${code}:\n${this.output}`);
    return this.output;
  }

  async printed(text: string, deadlineMs?: number): Promise<void> {
    await until(`${this.name} prints ${text}`, async () => this.output.includes(text), deadlineMs);
  }

  /** Asks it to end, as a platform does. */
  stop(): Promise<string> {
    this.#child.kill("SIGTERM");
    return this.done();
  }

  /** Ends it without asking. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }
}
