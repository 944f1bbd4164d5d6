import { fail } from "../../core/failure.ts";
import { MAX_EXACT_COUNT } from "../../core/limits.ts";
import type { GroupRef, LeaseView } from "../../protocol/tenant-calls.ts";
import type { GroupState } from "../group-state.ts";
import type { Tenant } from "../tenant.ts";

/**
 * Who holds which partition, in order of partition keys; those of dead subscribers have ended. `staleForMs`:
 * only leases that were not renewed for at least so long. At most MAX_EXACT_COUNT are shown.
 */
export async function leases(
  tenant: Tenant,
  input: GroupRef & { staleForMs: number | null },
): Promise<{ leases: LeaseView[] }> {
  const group = await tenant.groupOrFail(input.topic, input.group);
  return tenant.change(group, (nowMs) => {
    const latestMs = input.staleForMs === null ? Number.POSITIVE_INFINITY : nowMs - input.staleForMs;
    const held = leasesOf(group).filter(({ renewedAt }) => renewedAt <= latestMs);
    held.sort((a, b) => (a.partitionKey < b.partitionKey ? -1 : 1));
    return { leases: held.slice(0, MAX_EXACT_COUNT) };
  });
}

function leasesOf(group: GroupState): LeaseView[] {
  const held: LeaseView[] = [];
  for (const { partitionKey, lease } of group.lanes.lanes()) {
    if (!lease) continue;
    const { subscriber, epoch, acquiredAtMs } = lease;
    // A lease lives by its subscriber's heartbeats.
    const beats = group.subscribers.get(subscriber);
    held.push({
      partitionKey,
      subscriber,
      epoch,
      acquiredAt: acquiredAtMs,
      renewedAt: beats?.beatAtMs ?? acquiredAtMs,
      expiresAt: beats?.expiresAtMs ?? acquiredAtMs,
    });
  }
  return held;
}

/** Frees a partition; its deliveries stay as they are. Fails with `not-found` when nobody holds it. */
export async function releaseLease(
  tenant: Tenant,
  input: GroupRef & { partitionKey: string },
): Promise<null> {
  const group = await tenant.groupOrFail(input.topic, input.group);
  const released = tenant.change(group, (nowMs) => {
    const leased = group.lanes.lanesOf(input.partitionKey).filter(({ lease }) => lease !== null);
    for (const lane of leased) {
      lane.setLease(null);
      group.touch(lane, nowMs);
    }
    return leased.length > 0;
  });
  if (!released) fail("not-found", `nobody holds this partition in group ${input.group}`);
  tenant.wake.pump(input);
  return null;
}
