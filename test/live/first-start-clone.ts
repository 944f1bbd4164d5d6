import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const CLONED = ["package.json", "package-lock.json", "tsconfig.json", "scripts", "src"];

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<Ended>;
  /** Waits until this much of a text was printed; fails when the program ends before. */
  printed(text: string): Promise<void>;
}

/**
 * A copy of the project as a clone would be, with nothing installed, that npm's place is taken in: its
 * stand-in complains on stderr as npm does, and links the packages of this checkout.
 */
export async function makeClone() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "fairlane-clone-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of CLONED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  const npm = join(folder, "stand-in-npm.cjs");
  const modules = JSON.stringify(join(ROOT, "node_modules"));
  await writeFile(
    npm,
    `console.error("npm warn this and that", process.argv.slice(2).join(" "));
     if (process.env.FAIL_INSTALL) process.exit(1);
     require("node:fs").symlinkSync(${modules}, "node_modules", "dir");`,
  );
  const run = (command: readonly string[], env: Record<string, string> = {}) =>
    runProgram(["scripts/run.mjs", ...command], folder, { PORT: "0", npm_execpath: npm, ...env });
  return { folder, dataDir: join(folder, ".fairlane"), run };
}

/** Runs a program of Node with an environment of its own; ends it with the test. */
export function runProgram(program: readonly string[], cwd: string, env: Record<string, string>): Running {
  const child = spawn(process.execPath, program, {
    cwd,
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8").on("data", (chunk: string) => {
      text[stream] += chunk;
    });
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...text }));
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  return {
    child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended,
    printed: async (wanted) => {
      while (!text.stdout.includes(wanted)) {
        const more = await Promise.race([child.stdout && once(child.stdout, "data"), ended.then(() => null)]);
        if (!more && !text.stdout.includes(wanted))
          throw new Error(`ended early: ${text.stdout}${text.stderr}`);
      }
    },
  };
}

/** Runs text as if pasted into a shell. */
export async function paste(text: string): Promise<Ended> {
  const shell = spawn("bash", [], { stdio: ["pipe", "pipe", "pipe"] });
  const printed = { stdout: "", stderr: "" };
  shell.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    printed.stdout += chunk;
  });
  shell.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    printed.stderr += chunk;
  });
  shell.stdin.end(text);
  const [code] = await once(shell, "close");
  return { code: code as number | null, ...printed };
}

/** Holds a free port of loopback until the test ends. */
export async function takenPort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => new Promise((done) => server.close(() => done())));
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
