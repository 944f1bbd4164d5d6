import type { CronResult } from "./local-server.ts";

const MINUTE_MS = 60_000;

/**
 * Fires cron at each full minute until stopped, one run at a time: a minute that finds the last run still
 * going is left out. `report` gets one line for each run that failed.
 */
export function fireEachMinute(
  fire: () => Promise<CronResult>,
  nowMs: () => number,
  report: (line: string) => void,
): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const next = () => {
    timer = setTimeout(run, MINUTE_MS - (nowMs() % MINUTE_MS));
  };
  const run = async () => {
    const result = await fire();
    if (stopped) return;
    if (!result.ok) report(`cron run failed: ${(result.reason ?? "unknown").replaceAll("\n", " ")}`);
    next();
  };
  next();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
