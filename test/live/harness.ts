import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { startLocalServer } from "../../src/local/local-server.ts";
import { type Api, exchange, makeApi, type Reply, type RequestOptions } from "./api.ts";
import { tenantToken } from "./tokens.ts";

/** The secret of every server of the suite, so that each file can mint its own good and bad tokens. */
export const SECRET = "live-suite-secret-0123456789abcdef0123456789abcdef";
const POLL_MS = 20;
/** Another Worker entry, absolute: to see that the suite finds what was broken on purpose. */
const ENTRY = process.env.LIVE_ENTRY;
/** Shows what the server prints, for looking into a failure. */
const SHOW_OUTPUT = process.env.LIVE_OUTPUT === "1";

/** The log behind the servers of a test file, and what it takes to have one. */
export interface ServerLog {
  kind: "object" | "vitess";
  /** Variables of a server's Worker; each server has a log of its own. */
  variables(): Promise<Record<string, string>>;
}

let serverLog: ServerLog = { kind: "object", variables: async () => ({}) };

/** For the servers that this file starts from now on; without it they have the embedded log. */
export function useServerLog(log: ServerLog): void {
  serverLog = log;
}

/** A running server with a data folder of its own. `url` changes when a restart moves it. */
export interface Live {
  url: string;
  /** Which log it has: a case that can hold for one only says so, with the reason. */
  log: ServerLog["kind"];
  /** The ready token that the server wrote. */
  token: string;
  /** Calls for a tenant, by default with a token for it with every scope; null sends no token. */
  api(tenant: string, token?: string | null): Api;
  /** Any path of the server, without a token. */
  open<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Reply<T>>;
  /** SIGKILL to the server process. */
  kill(): Promise<void>;
  /** One run of cron, as the runtime would fire it each minute. */
  fireCron(): Promise<{ ok: boolean; reason?: string }>;
  /** A new server on the same data. */
  restart(): Promise<void>;
  /** What the tenant objects stored, while no server runs: they are lost, and what is outside them is not. */
  loseObjects(): Promise<void>;
  /** Ends the server and removes its data. */
  close(): Promise<void>;
}

export interface SetupOptions {
  tenants?: string[];
  authOff?: boolean;
  env?: Record<string, string>;
}

export async function setup(options: SetupOptions = {}): Promise<Live> {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlane-live-"));
  const log = serverLog;
  const env = { ...(await log.variables()), ...options.env };
  const start = () =>
    startLocalServer({
      dataDir,
      port: 0,
      tenants: options.tenants ?? ["demo", "acme", "globex"],
      authSecret: SECRET,
      ...(ENTRY ? { entry: ENTRY } : {}),
      ...(SHOW_OUTPUT ? { onOutput: (stream: string, text: string) => console.log(stream, text) } : {}),
      ...(options.authOff ? { authOff: true } : {}),
      env,
    });
  let server = await start();
  const live: Live = {
    url: server.url,
    log: log.kind,
    token: server.token,
    api: (tenant, token = tenantToken(SECRET, tenant)) => makeApi(live, tenant, token),
    open: (method, path, request) => exchange(live.url + path, method, null, request),
    kill: async () => {
      await server.kill("SIGKILL");
    },
    fireCron: () => server.fireCron(),
    restart: async () => {
      server = await start();
      live.url = server.url;
    },
    loseObjects: () => rm(join(dataDir, "objects"), { recursive: true }),
    close: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return live;
}

let topicsMade = 0;

/** A name that no other test of the file uses. */
export function freshTopic(word = "topic"): string {
  topicsMade += 1;
  return `${word}-${topicsMade}`;
}

/** Polls until `attempt` gives something truthy, and returns it. */
export async function until<T>(
  what: string,
  attempt: () => Promise<T | undefined | null | false>,
  deadlineMs = 10_000,
): Promise<T> {
  const endMs = Date.now() + deadlineMs;
  while (Date.now() < endMs) {
    const value = await attempt();
    if (value) return value;
    await pause(POLL_MS);
  }
  return expect.fail(`not within ${deadlineMs} ms: ${what}`);
}

/** Polls until the wall clock passes `atMs`: for rules of the API that are themselves about time. */
export async function untilClock(atMs: number): Promise<void> {
  while (Date.now() < atMs) await pause(Math.min(POLL_MS, atMs - Date.now()));
}

/** The first element, or a failure that says what was expected. */
export function only<T>(values: readonly T[], what = "element"): T {
  expect(values, `exactly one ${what}`).toHaveLength(1);
  return values[0] as T;
}

/** Messages with IDs `<prefix>0`, `<prefix>1`, … of one partition. */
export function numbered(count: number, partitionKey: string, prefix = "m") {
  return Array.from({ length: count }, (_, i) => ({ id: `${prefix}${i}`, partitionKey, body: i }));
}

export function ids(rows: readonly { id: string }[]): string[] {
  return rows.map((row) => row.id);
}
