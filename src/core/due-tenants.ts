/** What is remembered of one tenant's collection passes. */
export interface TriedTenant {
  tenant: string;
  /** When a pass was last tried, well or badly; null: never. */
  triedAtMs: number | null;
  /** The activity that the object answered `idle` with; null when its last answer was not idle. */
  idleActivity: number | null;
  /** The highest activity that the object announced by itself. */
  announcedActivity: number;
}

/**
 * An idle object is looked at this rarely all the same: whatever went wrong with its announcement, its
 * messages are collected within a day.
 */
export const IDLE_RECHECK_MS = 24 * 3600 * 1000;

/** An answer that is older than the last announcement no longer says anything. */
export function isIdle(tried: TriedTenant): boolean {
  return tried.idleActivity !== null && tried.idleActivity >= tried.announcedActivity;
}

/**
 * The tenants whose collection is due, those least recently tried first, at most `max`. A tenant that
 * nothing is known of is due; so is one tried in the future, which is what a clock set back looks like.
 */
export function chooseDueTenants(
  tenants: readonly string[],
  known: ReadonlyMap<string, TriedTenant>,
  nowMs: number,
  intervalMs: number,
  max: number,
): string[] {
  const due: { tenant: string; triedAtMs: number }[] = [];
  for (const tenant of tenants) {
    const tried = known.get(tenant);
    const triedAtMs = tried?.triedAtMs ?? null;
    if (tried === undefined || triedAtMs === null || triedAtMs > nowMs) {
      due.push({ tenant, triedAtMs: Number.NEGATIVE_INFINITY });
      continue;
    }
    const waitMs = isIdle(tried) ? Math.max(intervalMs, IDLE_RECHECK_MS) : intervalMs;
    if (nowMs - triedAtMs >= waitMs) due.push({ tenant, triedAtMs });
  }
  // The sort is stable: ties keep the list's order.
  due.sort((a, b) => (a.triedAtMs === b.triedAtMs ? 0 : a.triedAtMs < b.triedAtMs ? -1 : 1));
  return due.slice(0, max).map((entry) => entry.tenant);
}
