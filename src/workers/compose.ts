import type { AppendOutcome } from "../log/message-log.ts";
import type { PublishInput, TenantCalls } from "../protocol/tenant-calls.ts";
import { type Config, readConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { TokenVerifier } from "./http/auth.ts";
import { TenantCaller } from "./http/tenant-caller.ts";
import bundledTenants from "./tenants.json" with { type: "json" };

/** How a publish reaches the tenant's log. */
export interface PublishLog {
  append(tenant: string, input: PublishInput): Promise<AppendOutcome>;
}

/** What the routes work with; one for each set of bindings. */
export interface Services {
  config: Config;
  /** null: authorisation is off. */
  verifier: TokenVerifier | null;
  tenants: TenantCaller;
  publishLog: PublishLog;
}

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
  const verifier = config.authSecret === null ? null : new TokenVerifier(config.authSecret);
  return { ok: true, services: { config, verifier, tenants, publishLog: publishLogOf(config, tenants) } };
}

/** The one place that knows which logs there are. */
function publishLogOf(config: Config, tenants: TenantCaller): PublishLog {
  switch (config.messageLog) {
    case "object":
      return { append: (tenant, input) => tenants.call(tenant, "publish", input) };
  }
}

/** The stub has the object's methods; the platform's type for it forgets what `Outcome` holds. */
export function tenantStub(env: Env, tenant: string): TenantCalls {
  return env.TENANT.getByName(tenant) as unknown as TenantCalls;
}
