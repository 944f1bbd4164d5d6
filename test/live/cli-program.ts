import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { runLine } from "../unit/cli/fake-shell.ts";
import { type Live, until } from "./harness.ts";

const MAIN = resolve(import.meta.dirname, "../../src/cli/main.ts");
/** What Node compiled is shared by all runs: most of a short run is that. */
const CACHE = join(tmpdir(), "fairlane-test-cache");
const RUN_DEADLINE_MS = 30_000;

/** How one run of the command line ended. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
  /** stdout as the one document that it must be. */
  json<T = Record<string, unknown>>(): T;
  /** stdout as JSON lines. */
  lines<T = Record<string, unknown>>(): T[];
  /** stderr as the one document of a failure. */
  failure(): { code: string; message: string; exitCode: number; hint?: string; issues?: { path: string }[] };
}

export interface RunOptions {
  /** null: stays open, for the test to write to. */
  stdin?: string | Uint8Array | null;
  env?: Record<string, string>;
  /** Within the place. */
  cwd?: string;
}

/** A run that goes on. */
export interface Running {
  child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when it has written this to stdout or stderr. */
  shows(text: string): Promise<void>;
  ended: Promise<Ended>;
}

/** A folder to work in, as a user has one: with the local server's token in it, and a configuration of its own. */
export interface Place {
  folder: string;
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Runs and expects exit code 0. */
  ok(args: readonly string[], options?: RunOptions): Promise<Ended>;
  start(args: readonly string[], options?: RunOptions): Running;
  remove(): Promise<void>;
}

export async function makePlace(live: Live): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "fairlane-cli-"));
  await mkdir(join(folder, ".fairlane"));
  await writeFile(join(folder, ".fairlane", "token"), `${live.token}\n`);
  const start: Place["start"] = (args, { stdin, env = {}, cwd = "." } = {}) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: join(folder, cwd),
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        XDG_CACHE_HOME: CACHE,
        FAIRLANE_URL: live.url,
        ...env,
      },
      stdio: "pipe",
    });
    const running = watch(child, args);
    // A run that ends without reading its input breaks the pipe.
    child.stdin.on("error", () => {});
    if (stdin !== null) child.stdin.end(stdin ?? "");
    return running;
  };
  const run: Place["run"] = (args, options) => start(args, options).ended;
  return {
    folder,
    run,
    start,
    ok: okOf(run),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The same command lines without a process: what a process is for, such as signals, is not tried by it. */
export function inThisProcess(live: Live, cwd: string): Pick<Place, "ok" | "run"> {
  const run: Place["run"] = async (args, { env = {} } = {}) => {
    const options = { cwd, env: { FAIRLANE_URL: live.url, ...env }, nowMs: Date.now() };
    const { code, ...kept } = await runLine(args, options);
    return endedWith(code, kept, args);
  };
  return { run, ok: okOf(run) };
}

function okOf(run: Place["run"]): Place["ok"] {
  return async (args, options) => {
    const ended = await run(args, options);
    expect(ended.code, `fairlane ${args.join(" ")}: ${ended.stderr}`).toBe(0);
    return ended;
  };
}

function watch(child: ChildProcess, args: readonly string[]): Running {
  const kept = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    kept.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    kept.stderr += text;
  });
  const ended = new Promise<Ended>((resolveEnded, reject) => {
    const late = setTimeout(() => child.kill("SIGKILL"), RUN_DEADLINE_MS);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(late);
      resolveEnded(endedWith(code, kept, args));
    });
  });
  return {
    child,
    get stdout() {
      return kept.stdout;
    },
    get stderr() {
      return kept.stderr;
    },
    shows: async (text) => {
      await until(`fairlane ${args.join(" ")} shows ${text}`, async () =>
        (kept.stdout + kept.stderr).includes(text),
      );
    },
    ended,
  };
}

function endedWith(
  code: number | null,
  kept: { stdout: string; stderr: string },
  args: readonly string[],
): Ended {
  const { stdout, stderr } = kept;
  const parse = (text: string) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return expect.fail(`fairlane ${args.join(" ")} wrote no JSON: ${text}${stderr}`);
    }
  };
  return {
    code,
    stdout,
    stderr,
    json: <T>() => parse(stdout) as T,
    lines: <T>() =>
      stdout
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => parse(line) as T),
    failure: () => (parse(stderr) as { error: ReturnType<Ended["failure"]> }).error,
  };
}
