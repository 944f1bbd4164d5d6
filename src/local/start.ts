import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type LogConfig, SAFE_COMMIT_HORIZON_MS } from "../log/log-config.ts";
import { fireEachMinute } from "./cron-clock.ts";
import { checkDatabase } from "./database-check.ts";
import { type LocalServer, type LocalServerOptions, startLocalServer } from "./local-server.ts";
import { type LocalSettings, readSettings } from "./settings.ts";
import { StartRefusal } from "./start-refusal.ts";
import { welcome } from "./welcome.ts";

/** Longer than the grace that an ending server gives its requests. */
const PASSING_MS = 4000;
const PASSING_PAUSE_MS = 100;

/** `npm start`: serves until a signal. Ends with 0 after a signal, with 1 when it cannot start or go on. */
async function main(): Promise<void> {
  const settings = readSettings(process.env);
  if (settings.authOff)
    complain("WARNING: AUTH=off, anyone who reaches this port may do anything: no token is asked for");
  await checkLog(settings);
  const server = await startSoon({
    ...settings,
    env: { ...settings.logVariables },
    onOutput: (stream, text) => process[stream].write(text),
  });
  let stopping = false;
  const stopCron = fireEachMinute(server.fireCron, Date.now, complain);
  const stop = () => {
    if (stopping) return;
    stopping = true;
    stopCron();
    void server.stop();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  // The channel to the script that started this one: it closes when that script is gone, however it went. Whoever
  // started it may want the port back at once, and the data bears an end at any moment.
  const orphaned = () => {
    stopping = true;
    stopCron();
    void server.kill();
  };
  process.on("disconnect", orphaned);
  // It may have gone while the server started, when nobody listened yet.
  if (process.env.FAIRLANE_CHANNEL === "ipc" && !process.connected) orphaned();
  process.channel?.unref();
  process.stdout.write(describe(server, settings));

  const exit = await server.exited;
  stopCron();
  if (!stopping) {
    throw new StartRefusal(
      `the runtime ended by itself (${exit.signal ?? `code ${exit.code}`}): start again; the data is kept`,
    );
  }
  if (process.connected) process.disconnect?.();
}

/** A server that was stopped a moment ago may still hold its port and its folder. */
async function startSoon(options: LocalServerOptions): Promise<LocalServer> {
  const endAtMs = Date.now() + PASSING_MS;
  for (;;) {
    try {
      return await startLocalServer(options);
    } catch (error) {
      if (!(error instanceof StartRefusal) || !error.passing || Date.now() > endAtMs) throw error;
      await pause(PASSING_PAUSE_MS);
    }
  }
}

/** A server without its database would start and answer 503 to everything: better not to start. */
async function checkLog({ log, tenants }: LocalSettings): Promise<void> {
  if (log.kind === "object") return;
  if (log.commitHorizonMs < SAFE_COMMIT_HORIZON_MS) {
    complain(
      `WARNING: COMMIT_HORIZON_MS=${log.commitHorizonMs} is under ${SAFE_COMMIT_HORIZON_MS}: a message that the database commits later than that may be skipped`,
    );
  }
  await checkDatabase(log, tenants[0] as string);
}

function describe(
  server: LocalServer,
  { tenants, log }: { tenants: readonly string[]; log: LogConfig },
): string {
  const manifest = readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return welcome({ ...server, version, tenants, log, tokenPath: join(server.dataDir, "token") });
}

function complain(line: string): void {
  process.stderr.write(`${line}\n`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof StartRefusal)) throw error;
  complain(`Fairlane: ${error.message}`);
  process.exit(1);
}
