import { FairlaneError } from "../core/failure.ts";
import type { IdleAnswer } from "../durable/gc-registry.ts";
import type { CollectReply } from "../protocol/tenant-calls.ts";
import { errorFields, logLine } from "./log-line.ts";

/** One run's bounds. So many calls are within an invocation's subrequests; hanging tenants end in time. */
export const MAX_TENANTS_PER_RUN = 200;
/** An invocation may have six connections waiting for an answer. */
export const MAX_TENANTS_AT_A_TIME = 6;
export const TENANT_DEADLINE_MS = 10_000;
/** A pass of the object is short; a tenant with more to collect gets further ones, within its deadline. */
export const MAX_PASSES_PER_TENANT = 50;

/** What a run needs of the world. */
export interface GcPorts {
  registry: {
    due(tenants: string[], nowMs: number, intervalMs: number, max: number): Promise<string[]>;
    tried(tenant: string, nowMs: number, answer: IdleAnswer | null): Promise<void>;
  };
  /** Rejects when the tenant's pass failed or did not end within the deadline. */
  collect(tenant: string, deadlineMs: number): Promise<CollectReply>;
  nowMs(): number;
}

export interface GcRun {
  tenants: ReadonlySet<string>;
  nowMs: number;
  intervalMs: number;
}

/**
 * One collection run over the tenants that are due. A failing tenant disturbs no other: each failure is
 * logged when it happens, and the run ends by throwing one error that names them all.
 */
export async function runCollection(ports: GcPorts, run: GcRun): Promise<void> {
  const due = await dueTenants(ports, run);
  const failed: string[] = [];
  let next = 0;
  const worker = async () => {
    for (let tenant = due[next++]; tenant !== undefined; tenant = due[next++]) {
      if (!(await collectTenant(ports, tenant, run))) failed.push(tenant);
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_TENANTS_AT_A_TIME, due.length) }, worker));
  if (failed.length > 0) {
    failed.sort();
    throw new Error(`collection failed for ${failed.length} of ${due.length} tenants: ${failed.join(", ")}`);
  }
}

/** Without the registry nobody knows who was tried: then all are due, as many as a run takes. */
async function dueTenants({ registry }: GcPorts, { tenants, nowMs, intervalMs }: GcRun): Promise<string[]> {
  try {
    return await registry.due([...tenants], nowMs, intervalMs, MAX_TENANTS_PER_RUN);
  } catch (error) {
    logLine("error", "gc-registry-failed", errorFields(error));
    return startingAt([...tenants], nowMs).slice(0, MAX_TENANTS_PER_RUN);
  }
}

/** Turns the list with the minutes, so that the first tenants do not take every run for themselves. */
function startingAt(tenants: string[], nowMs: number): string[] {
  if (tenants.length <= MAX_TENANTS_PER_RUN) return tenants;
  const start = (Math.floor(nowMs / 60_000) * MAX_TENANTS_PER_RUN) % tenants.length;
  return [...tenants.slice(start), ...tenants.slice(0, start)];
}

async function collectTenant(ports: GcPorts, tenant: string, run: GcRun): Promise<boolean> {
  let answer: CollectReply | null = null;
  let collected = false;
  try {
    answer = await collectAll(ports, tenant);
    collected = true;
  } catch (error) {
    logLine("error", "gc-tenant-failed", { tenant, ...reasonOf(error) });
  }
  // One with more to collect is due again in the next run, after those that waited longer.
  const triedAtMs = answer?.stopped === "limit" ? run.nowMs - run.intervalMs : run.nowMs;
  const idle = answer && { idle: answer.idle, activity: answer.activity };
  try {
    await ports.registry.tried(tenant, triedAtMs, idle);
  } catch (error) {
    // The tenant comes first again in the next run: that costs a pass, and nothing else.
    logLine("error", "gc-registry-failed", { tenant, ...errorFields(error) });
    return false;
  }
  return collected;
}

/** Passes until the tenant has nothing more to collect, or its time is over; the last pass's answer. */
async function collectAll(ports: GcPorts, tenant: string): Promise<CollectReply> {
  const endAtMs = ports.nowMs() + TENANT_DEADLINE_MS;
  let answer = await ports.collect(tenant, TENANT_DEADLINE_MS);
  for (let pass = 1; pass < MAX_PASSES_PER_TENANT && answer.stopped === "limit"; pass += 1) {
    const leftMs = endAtMs - ports.nowMs();
    if (leftMs <= 0) break;
    answer = await ports.collect(tenant, leftMs);
  }
  return answer;
}

function reasonOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof FairlaneError)) return errorFields(error);
  return { code: error.failure.code, detail: error.failure.detail };
}
