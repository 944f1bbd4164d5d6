import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { LogConfig } from "../log/log-config.ts";
import { EVERY_TENANT, mintToken, SCOPES } from "./access-token.ts";
import { DataFolder } from "./data-folder.ts";
import {
  DEFAULT_HOST,
  DEFAULT_TENANTS,
  hostInUrl,
  isLoopback,
  logVariablesOf,
  readLog,
  urlOnThisMachine,
} from "./settings.ts";
import { StartRefusal } from "./start-refusal.ts";
import { bundleWorker } from "./worker-bundle.ts";
import { CONFIG_NAME, type NetworkReach, type SocketName, workerdConfig } from "./workerd-config.ts";
import { type OutputListener, type WorkerdExit, WorkerdProcess } from "./workerd-process.ts";

const SOCKETS: readonly SocketName[] = ["http", "cron"];
const READY_TOKEN_TTL_SECONDS = 365 * 24 * 3600;
const READY_DEADLINE_MS = 20_000;
const READY_POLL_MS = 10;
const SHOWN_LINES = 3;
const SHOWN_CHARS = 200;
/** A collection pass gives every tenant 10 s and takes 200 of them 6 at a time; nothing runs longer. */
const CRON_DEADLINE_MS = 10 * 60_000;
const WORKER_ENTRY = resolve(import.meta.dirname, "../workers/index.ts");

export interface LocalServerOptions {
  /** Made if missing; one server at a time. */
  dataDir: string;
  host?: string;
  /** 0, the default: any free port. */
  port?: number;
  tenants?: readonly string[];
  /** Absent: the one kept in the data folder, made by the first start. */
  authSecret?: string | null;
  /** No tokens needed; for a loopback host only. */
  authOff?: boolean;
  /** Further text variables of the Worker; those of the log decide what it may connect to. */
  env?: Readonly<Record<string, string>>;
  /** Another Worker than the product's, absolute. */
  entry?: string;
  /** Called with what the runtime prints, as it comes. */
  onOutput?: OutputListener;
}

export interface CronResult {
  ok: boolean;
  /** Why not; the Worker's own words. */
  reason?: string;
}

export interface LocalServer {
  /** Without a slash at the end. */
  url: string;
  /** Every tenant, every scope, a year; also in the data folder's file `token`. */
  token: string;
  dataDir: string;
  /** Of the runtime. */
  pid: number;
  /** Settles when the runtime is gone, whoever ended it. */
  exited: Promise<WorkerdExit>;
  /** The last of what the runtime printed. */
  output(): string;
  /** Sends the signal and waits for the end. The data can be served again at once. */
  kill(signal?: NodeJS.Signals): Promise<WorkerdExit>;
  stop(): Promise<WorkerdExit>;
  /** One run of the Worker's `scheduled` handler, now. Nothing else fires it. */
  fireCron(): Promise<CronResult>;
}

/**
 * Serves the Worker by `workerd serve` on this machine, and returns when it answers. Throws a
 * StartRefusal when the data folder, the port or the Worker does not allow it; then nothing is left running.
 */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const host = options.host ?? DEFAULT_HOST;
  const port = options.port ?? 0;
  if (options.authOff && !isLoopback(host)) {
    throw new StartRefusal(`AUTH=off is allowed on a loopback host only, and the host is ${host}`);
  }
  const log = readLog(logVariablesOf(options.env ?? {}));
  const data = new DataFolder(resolve(options.dataDir));
  try {
    data.claimLog(log.kind);
    const secret = options.authSecret ?? data.secret();
    await bundleWorker(options.entry ?? WORKER_ENTRY, data.workerPath);
    const configPath = join(data.workerPath, "workerd.capnp");
    const config = workerdConfig({
      address: `${hostInUrl(host)}:${port}`,
      objectsPath: data.objectsPath,
      variables: variablesOf(options, host, secret),
      network: reachOf(log),
    });
    writeFileSync(configPath, config, { mode: 0o600 });
    const token = await mintToken(
      secret,
      { tenant: EVERY_TENANT, scope: SCOPES.join(" "), ttlSeconds: READY_TOKEN_TTL_SECONDS },
      Date.now(),
    );
    // Before the server answers: whoever waits for it finds the token there.
    data.keepToken(token);
    await refuseTakenPort(host, port);
    const workerd = await WorkerdProcess.spawn(configPath, CONFIG_NAME, SOCKETS, options.onOutput);
    const exited = workerd.exited.finally(() => data.close());
    const urls = await untilReady(workerd, host);
    await keepUrl(data, urls.http, workerd);
    return {
      url: urls.http,
      token,
      dataDir: data.path,
      pid: workerd.pid,
      exited,
      output: () => workerd.output(),
      kill: async (signal = "SIGKILL") => {
        await workerd.kill(signal);
        return exited;
      },
      stop: async () => {
        await workerd.stop();
        return exited;
      },
      fireCron: () => fireCron(urls.cron),
    };
  } catch (error) {
    data.close();
    throw error;
  }
}

/** For the command line, which finds it beside the token. */
async function keepUrl(data: DataFolder, url: string, workerd: WorkerdProcess): Promise<void> {
  try {
    data.keepUrl(urlOnThisMachine(url));
  } catch (error) {
    await workerd.kill("SIGKILL");
    throw error;
  }
}

function variablesOf(options: LocalServerOptions, host: string, secret: string): Record<string, string> {
  return {
    MESSAGE_LOG: "object",
    MQ_TENANTS: (options.tenants ?? DEFAULT_TENANTS).join(","),
    ...(isLoopback(host) ? { FAIRLANE_LOOPBACK: "true" } : {}),
    ...(options.authOff ? { AUTH: "off" } : {}),
    ...options.env,
    AUTH_SECRET: secret,
  };
}

/** The Worker connects to its database and to nothing else. */
function reachOf(log: LogConfig): NetworkReach {
  if (log.kind === "object") return ["public"];
  return log.isLoopback ? ["local"] : ["private", "public"];
}

/** Asks the system rather than the runtime, whose own failure to listen is a stack in its log. */
async function refuseTakenPort(host: string, port: number): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((listening, failed) => {
      probe.once("error", failed).listen({ host, port, exclusive: true }, listening);
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : String(error);
    if (code === "EADDRINUSE") {
      throw new StartRefusal(
        `port ${port} of ${host} is in use: stop what uses it, or set PORT to another`,
        true,
      );
    }
    throw new StartRefusal(
      `cannot listen on ${host} port ${port} (${code}): set HOST and PORT to what can be`,
    );
  } finally {
    probe.close();
  }
}

/** Waits until the Worker answers; ends the runtime and throws when it does not. */
async function untilReady(workerd: WorkerdProcess, host: string): Promise<{ http: string; cron: string }> {
  const ports = await Promise.race([workerd.ports(), pause(READY_DEADLINE_MS, null, { ref: false })]);
  const http = `http://${hostInUrl(host)}:${ports?.get("http")}`;
  const problem = ports ? await healthProblem(http, workerd.exited) : "it does not listen";
  if (ports && problem === null) return { http, cron: `http://127.0.0.1:${ports.get("cron")}` };

  const exit = await workerd.kill("SIGKILL");
  const why = exit.signal === "SIGKILL" ? problem : `it ended with code ${exit.code}`;
  const printed = workerd.output().trim().split("\n").slice(0, SHOWN_LINES).join(" ");
  throw new StartRefusal(`the runtime did not become ready: ${why}${printed ? `; it says: ${printed}` : ""}`);
}

/** Null as soon as the Worker is well. A status is its last word; no answer is asked again, within bounds. */
async function healthProblem(url: string, exited: Promise<unknown>): Promise<string | null> {
  const giveUpAtMs = Date.now() + READY_DEADLINE_MS;
  const gone = exited.then(() => true);
  for (;;) {
    let problem: string;
    try {
      const reply = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(READY_DEADLINE_MS) });
      const text = await reply.text();
      return reply.ok ? null : `/healthz answers ${reply.status} ${text.slice(0, SHOWN_CHARS)}`;
    } catch (error) {
      problem = `/healthz does not answer (${error instanceof Error ? error.message : error})`;
    }
    if (Date.now() >= giveUpAtMs || (await Promise.race([gone, pause(READY_POLL_MS, false)]))) return problem;
  }
}

async function fireCron(url: string): Promise<CronResult> {
  try {
    const reply = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ cron: "* * * * *", scheduledTime: Date.now() }),
      signal: AbortSignal.timeout(CRON_DEADLINE_MS),
    });
    return reply.ok ? ((await reply.json()) as CronResult) : { ok: false, reason: `status ${reply.status}` };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
