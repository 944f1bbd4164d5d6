import { makeVitessLogs } from "../log/compose.ts";
import { type LogConfig, SAFE_COMMIT_HORIZON_MS } from "../log/log-config.ts";
import type { SplitRef } from "../protocol/split-calls.ts";
import type { TenantCalls } from "../protocol/tenant-calls.ts";
import { type Config, readConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { Hints } from "./hints.ts";
import { TokenVerifier } from "./http/auth.ts";
import { platformAfter } from "./http/deadline.ts";
import { SplitCaller, type SplitStub } from "./http/split-caller.ts";
import { TenantCaller } from "./http/tenant-caller.ts";
import { logLine } from "./log-line.ts";
import { MessageReader, type OutsideLogs } from "./message-reader.ts";
import { HintedPublish, ObjectPublish, type PublishLog } from "./publish-log.ts";
import bundledTenants from "./tenants.json" with { type: "json" };

/** What the routes work with; one for each set of bindings. */
export interface Services {
  config: Config;
  /** null: authorisation is off. */
  verifier: TokenVerifier | null;
  tenants: TenantCaller;
  splits: SplitCaller;
  publishLog: PublishLog;
  /** null where the tenant object holds the log: its replies have the messages in them. */
  reader: MessageReader | null;
}

export type LogServices = Pick<Services, "publishLog" | "reader">;

export type ServicesOutcome = { ok: true; services: Services } | { ok: false; reason: string };

const composed = new WeakMap<object, ServicesOutcome>();

/** Bindings do not change within an isolate: they are read once. */
export function servicesOf(env: Env): ServicesOutcome {
  let outcome = composed.get(env);
  if (outcome === undefined) {
    outcome = compose(env);
    composed.set(env, outcome);
  }
  return outcome;
}

function compose(env: Env): ServicesOutcome {
  const read = readConfig(env, bundledTenants);
  if (!read.ok) return read;
  const { config } = read;
  const tenants = new TenantCaller((tenant) => tenantStub(env, tenant));
  const splits = new SplitCaller((of) => splitStub(env, of));
  const verifier = config.authSecret === null ? null : new TokenVerifier(config.authSecret);
  return { ok: true, services: { config, verifier, tenants, splits, ...logServices(config.log, tenants) } };
}

function logServices(log: LogConfig, tenants: TenantCaller): LogServices {
  switch (log.kind) {
    case "object":
      return { publishLog: new ObjectPublish(tenants), reader: null };
    case "vitess": {
      const { commitHorizonMs } = log;
      if (commitHorizonMs < SAFE_COMMIT_HORIZON_MS) {
        logLine("warn", "commit-horizon-short", { commitHorizonMs, safeFromMs: SAFE_COMMIT_HORIZON_MS });
      }
      return outsideLogServices(makeVitessLogs(log), tenants);
    }
  }
}

/** For a log that is not in the tenant object. */
export function outsideLogServices(logOf: OutsideLogs, tenants: TenantCaller): LogServices {
  const hints = new Hints({
    notify: (tenant, input, deadlineMs) => tenants.call(tenant, "notify", input, deadlineMs),
    nowMs: () => Date.now(),
    after: platformAfter,
  });
  return {
    publishLog: new HintedPublish(logOf, hints, platformAfter),
    reader: new MessageReader(logOf, platformAfter),
  };
}

/** The stub has the object's methods; the platform's type for it forgets what `Outcome` holds. */
export function tenantStub(env: Env, tenant: string): TenantCalls {
  return env.TENANT.getByName(tenant) as unknown as TenantCalls;
}

/** One object for each workload of a tenant: neither name can hold a line end. */
function splitStub(env: Env, { tenant, workload }: SplitRef): SplitStub {
  return env.SPLIT_MANAGER.getByName(`${tenant}\n${workload}`) as unknown as SplitStub;
}
