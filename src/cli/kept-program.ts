import { spawn } from "node:child_process";
import { constants } from "node:os";
import { Interrupted, SAME_PRESS_MS, SIGNALS } from "./interrupts.ts";
import { endGroup } from "./program-runner.ts";
import type { Run } from "./run.ts";

/** As a shell tells that a signal ended a program. */
const SIGNAL_CODE_BASE = 128;

/**
 * Runs a program by the shell, with this run's own input and output, and answers the exit code that it ended with. It is
 * in a process group of its own, so that each signal comes to it once, to all of it, and through this run.
 *
 * @param variables in its environment, beside this run's own
 */
export function runProgram(run: Run, command: string, variables: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, {
      cwd: run.shell.cwd,
      env: { ...environmentOf(run), ...variables },
      shell: true,
      // stdout is for JSON lines then.
      stdio: ["inherit", run.out.json ? process.stderr : "inherit", "inherit"],
      detached: true,
    });
    const end = () => endGroup(child, "SIGTERM");
    let passedOnAtMs = Number.NEGATIVE_INFINITY;
    const passOn = SIGNALS.map((signal) => {
      const listener = () => {
        const nowMs = performance.now();
        if (nowMs - passedOnAtMs < SAME_PRESS_MS) return;
        passedOnAtMs = nowMs;
        endGroup(child, signal);
      };
      return [signal, listener] as const;
    });
    // Whoever read the output of this run is gone, which no signal tells.
    const onAbort = () => {
      if (!(run.signal.reason instanceof Interrupted)) end();
    };
    const forget = () => {
      for (const [signal, listener] of passOn) process.off(signal, listener);
      run.endings.delete(end);
      run.signal.removeEventListener("abort", onAbort);
    };
    for (const [signal, listener] of passOn) process.on(signal, listener);
    run.endings.add(end);
    run.signal.addEventListener("abort", onAbort, { once: true });
    child.once("error", (error) => {
      forget();
      reject(error);
    });
    child.once("exit", (code, signal) => {
      forget();
      resolve(code ?? SIGNAL_CODE_BASE + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

/** This run's, without a token that is for another server than its own. */
export function environmentOf(run: Run): Record<string, string | undefined> {
  const { FAIRLANE_TOKEN: token, ...others } = run.shell.env;
  const isOurs = token !== undefined && token === run.target.token;
  return isOurs ? { ...others, FAIRLANE_TOKEN: token } : others;
}
