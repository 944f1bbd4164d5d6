/** What the command line has of the process that it runs in. */
export interface Shell {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  nowMs: () => number;
}

export function shellOf(running: NodeJS.Process): Shell {
  return {
    env: running.env,
    cwd: running.cwd(),
    stdin: running.stdin,
    stdout: running.stdout,
    stderr: running.stderr,
    nowMs: () => Date.now(),
  };
}

/** A variable's value; an empty one counts as absent. */
export function variable(shell: Pick<Shell, "env">, name: string): string | null {
  return shell.env[name] || null;
}
