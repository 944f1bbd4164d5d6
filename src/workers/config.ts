import { z } from "zod";
import { type LogConfig, readLogConfig } from "../log/log-config.ts";
import type { Env } from "./env.ts";
import { readTenants } from "./tenants.ts";

/** What the variables say, checked. */
export interface Config {
  tenants: ReadonlySet<string>;
  /** null: authorisation is off. */
  authSecret: string | null;
  gcIntervalMs: number;
  log: LogConfig;
}

export type ConfigOutcome = { ok: true; config: Config } | { ok: false; reason: string };

const DEFAULT_GC_INTERVAL_MS = 10 * 60 * 1000;

const variables = z.object({
  MQ_TENANTS: z.string().optional(),
  AUTH_SECRET: z.string().optional(),
  AUTH: z.enum(["on", "off"], "AUTH must be on or off").default("on"),
  FAIRLANE_LOOPBACK: z.string().optional(),
  GC_INTERVAL_MS: z
    .string()
    .regex(/^[1-9][0-9]{0,11}$/, "GC_INTERVAL_MS must be a number of milliseconds")
    .transform(Number)
    .default(DEFAULT_GC_INTERVAL_MS),
});

/** A reason never repeats a secret: it names variables, and quotes nothing but tenants. */
export function readConfig(env: Partial<Env>, bundled: unknown): ConfigOutcome {
  const read = variables.safeParse(env);
  if (!read.success) return { ok: false, reason: read.error.issues.map(({ message }) => message).join("; ") };
  const { MQ_TENANTS, AUTH_SECRET, AUTH, FAIRLANE_LOOPBACK, GC_INTERVAL_MS } = read.data;
  if (AUTH === "off" && FAIRLANE_LOOPBACK !== "true") {
    return { ok: false, reason: "AUTH=off is allowed only for a server bound to loopback" };
  }
  if (AUTH === "on" && !AUTH_SECRET) return { ok: false, reason: "AUTH_SECRET is not set" };
  const logRead = readLogConfig(env);
  if (!logRead.ok) return logRead;
  let tenants: ReadonlySet<string>;
  try {
    tenants = readTenants(MQ_TENANTS, bundled);
  } catch (error) {
    return { ok: false, reason: (error as Error).message };
  }
  return {
    ok: true,
    config: {
      tenants,
      authSecret: AUTH === "off" ? null : (AUTH_SECRET as string),
      gcIntervalMs: GC_INTERVAL_MS,
      log: logRead.log,
    },
  };
}
