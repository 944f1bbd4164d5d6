import { isIPv4, isIPv6 } from "node:net";
import { resolve } from "node:path";
import { tenantProblem } from "../core/names.ts";
import { type LogConfig, type LogVariables, readLogConfig } from "../log/log-config.ts";
import { StartRefusal } from "./start-refusal.ts";

export const DEFAULT_PORT = 8787;
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_TENANTS = ["demo", "acme", "globex"] as const;
export const DEFAULT_DATA_FOLDER = ".fairlane";
const MAX_PORT = 65_535;

export interface LocalSettings {
  host: string;
  /** 0: the system picks a free one. */
  port: number;
  dataDir: string;
  tenants: readonly string[];
  /** null: the one kept in the data folder. */
  authSecret: string | null;
  authOff: boolean;
  log: LogConfig;
  /** Those of the log that are set, for the Worker. */
  logVariables: LogVariables;
}

/** The variables of the log; the local server hands them to the Worker. */
const LOG_VARIABLES = [
  "MESSAGE_LOG",
  "DATABASE_URL",
  "DATABASE_HOST",
  "DATABASE_USERNAME",
  "DATABASE_PASSWORD",
  "COMMIT_HORIZON_MS",
] as const satisfies readonly (keyof LogVariables)[];

/** Reads PORT, HOST, FAIRLANE_DATA, MQ_TENANTS, AUTH_SECRET, AUTH and the log's; an empty one counts as absent. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): LocalSettings {
  const host = env.HOST || DEFAULT_HOST;
  if (!isIPv4(host) && !isIPv6(host) && host !== "localhost") {
    throw new StartRefusal(`HOST ${JSON.stringify(host)} must be an IP address or localhost`);
  }
  const authOff = readAuth(env.AUTH || "", host);
  const logVariables = logVariablesOf(env);
  return {
    host,
    port: readPort(env.PORT || String(DEFAULT_PORT)),
    dataDir: resolve(env.FAIRLANE_DATA || DEFAULT_DATA_FOLDER),
    tenants: env.MQ_TENANTS ? readTenants(env.MQ_TENANTS) : DEFAULT_TENANTS,
    authSecret: env.AUTH_SECRET || null,
    authOff,
    log: readLog(logVariables),
    logVariables,
  };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** What stands between `http://` and the port; an IPv6 address needs its brackets. */
export function hostInUrl(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

/** A server on every address of the machine is reached here by the loopback one. */
export function urlOnThisMachine(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

function readPort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= MAX_PORT) return port;
  throw new StartRefusal(
    `PORT ${JSON.stringify(text)} must be a number from 0 (any free port) to ${MAX_PORT}`,
  );
}

function readTenants(text: string): string[] {
  const tenants = text.split(",").map((name) => name.trim());
  for (const [index, tenant] of tenants.entries()) {
    const problem = tenantProblem(tenant) ?? (tenants.indexOf(tenant) < index ? "is listed twice" : null);
    if (problem) {
      throw new StartRefusal(
        `MQ_TENANTS: tenant ${JSON.stringify(tenant)} ${problem}; give names parted by commas, like demo,acme`,
      );
    }
  }
  return tenants;
}

export function logVariablesOf(env: Readonly<Record<string, string | undefined>>): LogVariables {
  const variables: LogVariables = {};
  for (const name of LOG_VARIABLES) if (env[name]) variables[name] = env[name];
  return variables;
}

/** Throws a StartRefusal. */
export function readLog(variables: LogVariables): LogConfig {
  const read = readLogConfig(variables);
  if (!read.ok) throw new StartRefusal(read.reason);
  return read.log;
}

function readAuth(auth: string, host: string): boolean {
  if (auth === "") return false;
  if (auth !== "off") throw new StartRefusal(`AUTH ${JSON.stringify(auth)} must be off, or not set`);
  if (isLoopback(host)) return true;
  throw new StartRefusal(
    `AUTH=off is allowed on a loopback host only, and HOST is ${host}: unset AUTH, or use HOST=${DEFAULT_HOST}`,
  );
}
