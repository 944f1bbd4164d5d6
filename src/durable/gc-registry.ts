import { DurableObject } from "cloudflare:workers";
import { chooseDueTenants, type TriedTenant } from "../core/due-tenants.ts";

/**
 * When each tenant's collection was last tried, and which tenants said that they have nothing to collect.
 * One object for the whole Worker, under the name `GC_REGISTRY_NAME`. It may be lost at any time: then
 * all tenants are due once.
 *
 * A tenant is idle while `idle_activity >= announced_activity`, whichever of the two arrives first.
 */
export const GC_REGISTRY_NAME = "gc";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS gc_tenants (
    tenant TEXT PRIMARY KEY,      -- the tenant's name
    tried_at_ms INTEGER,          -- when a pass was last tried, by the cron's clock; NULL: never
    idle_activity INTEGER,        -- the activity of its last idle answer; NULL: the last answer was not idle
    announced_activity INTEGER NOT NULL  -- the highest activity that the object announced; 0: none
  ) WITHOUT ROWID`;

interface TenantRow extends Record<string, SqlStorageValue> {
  tenant: string;
  tried_at_ms: number | null;
  idle_activity: number | null;
  announced_activity: number;
}

export interface IdleAnswer {
  idle: boolean;
  /** Grows with each time that the tenant became active. */
  activity: number;
}

export class GcRegistry extends DurableObject {
  private readonly sql: SqlStorage;

  constructor(state: DurableObjectState, env: unknown) {
    super(state, env as never);
    this.sql = state.storage.sql;
    this.sql.exec(SCHEMA);
  }

  /** Those of `tenants` that are due at `nowMs`, least recently tried first. Forgets all other tenants. */
  due(tenants: string[], nowMs: number, intervalMs: number, max: number): string[] {
    const listed = new Set(tenants);
    const known = new Map<string, TriedTenant>();
    const rows = this.sql.exec<TenantRow>("SELECT * FROM gc_tenants").toArray();
    for (const row of rows) {
      if (listed.has(row.tenant)) {
        known.set(row.tenant, {
          tenant: row.tenant,
          triedAtMs: row.tried_at_ms,
          idleActivity: row.idle_activity,
          announcedActivity: row.announced_activity,
        });
      } else {
        this.sql.exec("DELETE FROM gc_tenants WHERE tenant = ?", row.tenant);
      }
    }
    return chooseDueTenants(tenants, known, nowMs, intervalMs, max);
  }

  /** Notes that a pass was tried; `answer` is null when it failed. Repeatable. */
  tried(tenant: string, nowMs: number, answer: IdleAnswer | null): void {
    this.sql.exec(
      `INSERT INTO gc_tenants (tenant, tried_at_ms, idle_activity, announced_activity) VALUES (?, ?, ?, 0)
       ON CONFLICT (tenant) DO UPDATE SET
         tried_at_ms = excluded.tried_at_ms, idle_activity = excluded.idle_activity`,
      tenant,
      nowMs,
      answer?.idle === true ? answer.activity : null,
    );
  }

  /** The tenant's object says that it has something to collect later. Repeatable, in any order. */
  markActive(tenant: string, activity: number): void {
    this.sql.exec(
      `INSERT INTO gc_tenants (tenant, tried_at_ms, idle_activity, announced_activity) VALUES (?, NULL, NULL, ?)
       ON CONFLICT (tenant) DO UPDATE SET
         announced_activity = max(announced_activity, excluded.announced_activity)`,
      tenant,
      activity,
    );
  }
}
