import { PassThrough } from "node:stream";
import { CommandLine } from "../../../src/cli/command-line.ts";
import type { Shell } from "../../../src/cli/shell.ts";

/** A process as the command line sees it, with what it wrote. */
export interface FakeShell extends Shell {
  written: { stdout: string; stderr: string };
}

export interface FakeOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** All three streams are one. */
  terminal?: boolean;
  stdin?: string;
  nowMs?: number;
}

export function fakeShell({
  env = {},
  cwd = "/",
  terminal = false,
  stdin,
  nowMs = 0,
}: FakeOptions = {}): FakeShell {
  const written = { stdout: "", stderr: "" };
  const stream = () =>
    Object.assign(new PassThrough(), terminal ? { isTTY: true as const, columns: 80 } : {});
  const [input, stdout, stderr] = [stream(), stream(), stream()];
  stdout.on("data", (chunk) => {
    written.stdout += chunk;
  });
  stderr.on("data", (chunk) => {
    written.stderr += chunk;
  });
  if (stdin !== undefined) input.end(stdin);
  return {
    env: { HOME: "/nonexistent", ...env },
    cwd,
    stdin: input as unknown as Shell["stdin"],
    stdout: stdout as unknown as Shell["stdout"],
    stderr: stderr as unknown as Shell["stderr"],
    nowMs: () => nowMs,
    written,
  };
}

/** One command line, in this process: for what never reaches a server. */
export async function runLine(
  args: readonly string[],
  options: FakeOptions = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const shell = fakeShell({ stdin: "", ...options });
  const code = await new CommandLine(shell, new AbortController().signal).run(args);
  return { code, ...shell.written };
}
