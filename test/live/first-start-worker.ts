import { DurableObject } from "cloudflare:workers";

interface StandInEnv extends Record<string, unknown> {
  TENANT: DurableObjectNamespace<TenantObject>;
  GC_REGISTRY: DurableObjectNamespace<GcRegistry>;
}

/** A Worker as small as the launcher's tests need: it counts, tells its variables, and fails on request. */
export class TenantObject extends DurableObject {
  async count(): Promise<number> {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS calls (at_ms INTEGER NOT NULL)");
    sql.exec("INSERT INTO calls VALUES (?)", Date.now());
    return Number(sql.exec("SELECT count(*) AS calls FROM calls").one().calls);
  }
}

export class GcRegistry extends DurableObject {}

export class SplitManager extends DurableObject {}

export default {
  async fetch(request: Request, env: StandInEnv): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("health", { status: env.UNHEALTHY ? 500 : 200 });
    if (pathname === "/variables")
      return Response.json({ ...env, TENANT: null, GC_REGISTRY: null, SPLIT_MANAGER: null });
    return Response.json(await env.TENANT.getByName("one").count());
  },

  async scheduled(controller: ScheduledController, env: StandInEnv): Promise<void> {
    console.log(`scheduled by ${controller.cron}`);
    if (env.FAIL_CRON) throw new Error("acme: no log");
    await env.TENANT.getByName("one").count();
  },
};
