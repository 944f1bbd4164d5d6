import { GC_REGISTRY_NAME } from "../durable/gc-registry.ts";
import { makeApp } from "./app.ts";
import { servicesOf } from "./compose.ts";
import type { Env } from "./env.ts";
import { type GcPorts, runCollection } from "./gc-cron.ts";
import { logLine } from "./log-line.ts";

export { GcRegistry } from "../durable/gc-registry.ts";
export { SplitManager } from "../durable/split-manager/split-manager.ts";
export { TenantObject } from "../durable/tenant-object.ts";

const app = makeApp();

export default {
  fetch: app.fetch,

  async scheduled(controller: ScheduledController, env: Env): Promise<void> {
    const outcome = servicesOf(env);
    if (!outcome.ok) {
      logLine("error", "configuration-invalid", { reason: outcome.reason });
      throw new Error("the Worker is not configured");
    }
    const { config, tenants } = outcome.services;
    const ports: GcPorts = {
      registry: env.GC_REGISTRY.getByName(GC_REGISTRY_NAME),
      collect: (tenant, deadlineMs) => tenants.call(tenant, "collect", {}, deadlineMs),
      nowMs: () => Date.now(),
    };
    // The planned time: runs that start some milliseconds early or late must not miss an interval.
    const nowMs = controller.scheduledTime;
    await runCollection(ports, { tenants: config.tenants, nowMs, intervalMs: config.gcIntervalMs });
  },
};
