import type { GcRegistry } from "../durable/gc-registry.ts";
import type { SplitManager } from "../durable/split-manager/split-manager.ts";
import type { TenantObject } from "../durable/tenant-object.ts";
import type { LogVariables } from "../log/log-config.ts";

/** The Worker's bindings and variables, as wrangler.toml and the local server name them. */
export interface Env extends LogVariables {
  TENANT: DurableObjectNamespace<TenantObject>;
  GC_REGISTRY: DurableObjectNamespace<GcRegistry>;
  SPLIT_MANAGER: DurableObjectNamespace<SplitManager>;
  /** Names between commas; absent: the bundled tenants.json. */
  MQ_TENANTS?: string;
  /** Secret of the tokens. */
  AUTH_SECRET?: string;
  /** "off" lets everybody in; only together with FAIRLANE_LOOPBACK. */
  AUTH?: string;
  /** "true" where the server listens on loopback only. */
  FAIRLANE_LOOPBACK?: string;
  /** How often each tenant is collected, in milliseconds; ten minutes if absent. */
  GC_INTERVAL_MS?: string;
}
