import { fail } from "../../core/failure.ts";
import { APPLICATION } from "../../core/lane.ts";
import type { GroupRef } from "../../protocol/tenant-calls.ts";
import type { GroupState } from "../group-state.ts";
import type { Tenant } from "../tenant.ts";

/** Resets that meet try again behind each other. */
const MAX_TRIES = 10;

type ResetInput = GroupRef & { partitionKey: string; offset: number };

/**
 * Deliveries of the partition start behind `offset` from now on; those under way end. An offset above everything
 * the topic holds means its end.
 *
 * Written to the log first, then adopted: a crash between leaves progress in the log with an epoch that the
 * object does not have yet, and the next reset goes above it.
 */
export async function resetOffset(
  tenant: Tenant,
  input: ResetInput,
): Promise<{ partitionKey: string; acked: number }> {
  const { topic, partitionKey } = input;
  for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
    const before = await tenant.groupOrFail(topic, input.group);
    const { generation } = before.record;
    const tail = await tenant.log.tail(topic);
    const ackedOffset = Math.min(input.offset, tail.offset);
    const [saved] = await tenant.log.loadProgress(topic, input.group, [partitionKey]);
    // Never an epoch that is used: within one, progress in the log does not go back.
    const savedEpoch = saved?.generation === generation ? saved.resetEpoch : 0;
    const resetEpoch = Math.max(before.progress.resetEpoch, savedEpoch) + 1;
    const reset = { partitionKey, generation, resetEpoch, offset: ackedOffset };
    await tenant.log.saveReset(topic, input.group, reset);
    const group = await tenant.groupOrFail(topic, input.group);
    if (group.record.generation !== generation || group.progress.resetEpoch >= resetEpoch) continue;
    adopt(tenant, group, { partitionKey, ackedOffset, resetEpoch });
    tenant.wake.pump(input);
    await forgetIfEmpty(tenant, input);
    return { partitionKey, acked: ackedOffset };
  }
  return fail("conflict", `group ${input.group} is being reset by others, try again`);
}

function adopt(
  tenant: Tenant,
  group: GroupState,
  reset: { partitionKey: string; ackedOffset: number; resetEpoch: number },
): void {
  tenant.change(group, (nowMs) => {
    const { scanOffset } = group.progress;
    group.progress.resetEpoch = reset.resetEpoch;
    group.touchProgress();
    for (const routeId of [APPLICATION, ...group.routes.all().map((route) => route.routeId)]) {
      const lane = group.laneOrNew(reset.partitionKey, scanOffset, routeId);
      // Back: the lane reads by itself up to the scan. Ahead: it waits until the scan has passed.
      lane.reset(reset.ackedOffset, reset.ackedOffset !== scanOffset);
      group.touch(lane, nowMs);
    }
  });
}

/** The row says something of messages that are stored; otherwise it goes with the last of them. */
async function forgetIfEmpty(tenant: Tenant, { topic, group, partitionKey }: ResetInput): Promise<void> {
  const stored = await tenant.log.countEntries(topic, { partitionKey, afterOffset: 0, maxCount: 1 });
  if (stored === 0) await tenant.log.deleteProgress(topic, group, [partitionKey]);
}
