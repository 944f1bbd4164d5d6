import { z } from "zod";
import type { DatabaseCredentials } from "./vitess/database.ts";

/** The variables that choose the log, as Workers, tenant objects and the local server get them. */
export interface LogVariables {
  /** Which log holds the messages; "object" if absent. */
  MESSAGE_LOG?: string;
  /** A secret: https://USER:PASSWORD@HOST of the database's HTTP interface; http:// for a loopback host only. */
  DATABASE_URL?: string;
  /** These three in place of the one above; the password is a secret. */
  DATABASE_HOST?: string;
  DATABASE_USERNAME?: string;
  DATABASE_PASSWORD?: string;
  /** How long after its offset was given a message may still appear, in milliseconds; two minutes if absent. */
  COMMIT_HORIZON_MS?: string;
}

export interface VitessConfig {
  kind: "vitess";
  credentials: DatabaseCredentials;
  /** Of the database, with its port where there is one; for people. */
  hostShown: string;
  isLoopback: boolean;
  commitHorizonMs: number;
}

/** Which log there is, and all that it takes to reach it. */
export type LogConfig = { kind: "object" } | VitessConfig;

export type LogConfigOutcome = { ok: true; log: LogConfig } | { ok: false; reason: string };

/** Four times what a database may take to commit a statement. */
const DEFAULT_COMMIT_HORIZON_MS = 120_000;
const MIN_COMMIT_HORIZON_MS = 1000;
/** What is younger than the horizon is kept note of one by one: beyond an hour that is too much. */
const MAX_COMMIT_HORIZON_MS = 3_600_000;
/** Twice the 30 s after which the database ends a statement; with less, a message may be passed over. */
export const SAFE_COMMIT_HORIZON_MS = 60_000;

const HORIZON_RULE =
  "COMMIT_HORIZON_MS must be a whole number of milliseconds " +
  `from ${MIN_COMMIT_HORIZON_MS} to ${MAX_COMMIT_HORIZON_MS}`;

const logKind = z.object({
  MESSAGE_LOG: z.enum(["object", "vitess"], "MESSAGE_LOG must be object or vitess").default("object"),
});

const databaseVariables = z.object({
  DATABASE_URL: z.string().optional(),
  DATABASE_HOST: z.string().optional(),
  DATABASE_USERNAME: z.string().optional(),
  DATABASE_PASSWORD: z.string().optional(),
  COMMIT_HORIZON_MS: z
    .string()
    .regex(/^[1-9][0-9]{0,9}$/, HORIZON_RULE)
    .transform(Number)
    .refine((ms) => ms >= MIN_COMMIT_HORIZON_MS && ms <= MAX_COMMIT_HORIZON_MS, HORIZON_RULE)
    .default(DEFAULT_COMMIT_HORIZON_MS),
});

/** A reason names variables and quotes none of them: they are secrets. A database variable that is empty is not set. */
export function readLogConfig(variables: LogVariables): LogConfigOutcome {
  const kind = logKind.safeParse(variables);
  if (!kind.success) return refused(reasonsOf(kind.error));
  if (kind.data.MESSAGE_LOG === "object") return { ok: true, log: { kind: "object" } };
  const read = databaseVariables.safeParse(variables);
  if (!read.success) return refused(reasonsOf(read.error));
  const { DATABASE_URL, DATABASE_HOST, DATABASE_USERNAME, DATABASE_PASSWORD, COMMIT_HORIZON_MS } = read.data;
  const parts = { DATABASE_HOST, DATABASE_USERNAME, DATABASE_PASSWORD };
  const target = DATABASE_URL ? targetOfUrl(DATABASE_URL, parts) : targetOfParts(parts);
  if ("reason" in target) return refused(target.reason);
  return { ok: true, log: { kind: "vitess", ...target, commitHorizonMs: COMMIT_HORIZON_MS } };
}

interface Parts {
  DATABASE_HOST: string | undefined;
  DATABASE_USERNAME: string | undefined;
  DATABASE_PASSWORD: string | undefined;
}

type Target = Pick<VitessConfig, "credentials" | "hostShown" | "isLoopback">;

/** They travel as one text, parted by a colon. */
const COLON_RULE = "a user name cannot hold a colon";
const HOST_PATTERN = /^[A-Za-z0-9.-]+(?::[0-9]{1,5})?$/;

function targetOfUrl(text: string, parts: Parts): Target | { reason: string } {
  const also = Object.entries(parts).filter(([, value]) => value);
  if (also.length > 0) return { reason: `set DATABASE_URL or ${also[0]?.[0]}, not both` };
  const url = URL.parse(text);
  if (url === null || !["https:", "mysql:", "http:"].includes(url.protocol) || url.hostname === "") {
    return { reason: "DATABASE_URL must be like https://USER:PASSWORD@HOST" };
  }
  const isLoopback = isLoopbackHost(url.hostname);
  if (url.protocol === "http:" && !isLoopback) {
    return { reason: "DATABASE_URL may be http:// only where its host is a loopback address: use https://" };
  }
  const username = decoded(url.username);
  if (!username || !decoded(url.password)) {
    return { reason: "DATABASE_URL must have a user name and a password: https://USER:PASSWORD@HOST" };
  }
  if (username.includes(":")) return { reason: `DATABASE_URL: ${COLON_RULE}` };
  return { credentials: { url: text }, hostShown: url.host, isLoopback };
}

function targetOfParts(parts: Parts): Target | { reason: string } {
  const missing = Object.entries(parts).filter(([, value]) => !value);
  if (missing.length === 3) {
    return {
      reason:
        "MESSAGE_LOG=vitess needs DATABASE_URL, or DATABASE_HOST, DATABASE_USERNAME and DATABASE_PASSWORD",
    };
  }
  if (missing.length > 0) return { reason: `${missing.map(([name]) => name).join(" and ")} must be set too` };
  const host = parts.DATABASE_HOST as string;
  const username = parts.DATABASE_USERNAME as string;
  const password = parts.DATABASE_PASSWORD as string;
  if (!HOST_PATTERN.test(host) || URL.parse(`https://${host}`) === null)
    return { reason: "DATABASE_HOST must be a host name, with nothing before it" };
  if (username.includes(":")) return { reason: `DATABASE_USERNAME: ${COLON_RULE}` };
  const isLoopback = isLoopbackHost(host.replace(/:[0-9]+$/, ""));
  return { credentials: { host, username, password }, hostShown: host, isLoopback };
}

/** null: not what any text is encoded to. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}

function refused(reason: string): LogConfigOutcome {
  return { ok: false, reason };
}

function reasonsOf({ issues }: z.ZodError): string {
  return issues.map(({ message }) => message).join("; ");
}
