import type { Lane } from "../core/lane.ts";
import type { GroupRef } from "../protocol/tenant-calls.ts";
import { catchUp } from "./catch-up.ts";
import { failureOf, type Tenant } from "./tenant.ts";

/**
 * Brings a group up to date as a receive would, by one read of the log, so that what was published a moment ago is in
 * its lane. Returns when the log is tried again if it cannot be read, else null: memory still answers for what it has.
 */
export async function readOn(
  tenant: Tenant,
  ref: GroupRef,
  request: { lanes: Lane[]; tailEntries: number },
): Promise<number | null> {
  return orRetryAtMs(tenant, async () => {
    await catchUp(tenant, ref);
    await tenant.reader(ref).read(request);
  });
}

/** When the log is tried again, if `act` could not read it. */
export async function orRetryAtMs(tenant: Tenant, act: () => Promise<void>): Promise<number | null> {
  try {
    await act();
    return null;
  } catch (error) {
    if (failureOf(error)?.code !== "store-unavailable") throw error;
    return tenant.logHealth.resumesAtMs ?? tenant.nowMs();
  }
}
