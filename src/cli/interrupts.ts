import { EXIT } from "./exit-codes.ts";

/** The user, or the system, wants the run to end. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/**
 * One Ctrl-C arrives twice where a program that started this one passes it on: both belong to one process group of the
 * terminal. Nobody presses it again as fast as this.
 */
export const SAME_PRESS_MS = 400;

/** A signal that fires at the first interruption. At the second the process ends at once. */
export function interruptSignal(
  running: NodeJS.Process,
  onSecond: () => void,
  clockMs: () => number = () => performance.now(),
): AbortSignal {
  const controller = new AbortController();
  let firstAtMs: number | null = null;
  const interrupt = () => {
    const nowMs = clockMs();
    if (firstAtMs === null) {
      firstAtMs = nowMs;
      controller.abort(new Interrupted());
    } else if (nowMs - firstAtMs > SAME_PRESS_MS) {
      onSecond();
      running.exit(EXIT.interrupted);
    }
  };
  for (const name of SIGNALS) running.on(name, interrupt);
  return controller.signal;
}
