import type { PartitionTail } from "../../log/message-log.ts";
import type { GroupRef, LagView, Page } from "../../protocol/tenant-calls.ts";
import { firstUnsettledOf } from "../first-unsettled.ts";
import type { Tenant } from "../tenant.ts";
import { countPartition, type Snapshot, snapshotOf } from "../unsettled-count.ts";

/** Microseconds of the log looked back at first, and how the look-back grows: a lifetime in a dozen steps. */
const FIRST_SPAN = 1 << 10;
const SPAN_GROWTH = 32;
const MAX_STEPS = 80;
const LOOK_BACK_ENTRIES = 16;

/** How far the group is in each partition that holds messages, in order of partition keys. */
export async function lag(
  tenant: Tenant,
  input: GroupRef & { after: string | null; limit: number },
): Promise<Page<"partitions", LagView>> {
  const { topic, group } = input;
  await tenant.groupOrFail(topic, group);
  const found = await tenant.log.listPartitions(topic, {
    afterKey: input.after,
    maxPartitions: input.limit + 1,
  });
  const page = found.slice(0, input.limit);
  const snapshot = await snapshotOf(tenant, { topic, group });
  const partitions: LagView[] = [];
  for (const partition of page) partitions.push(await lagOf(tenant, snapshot, partition));
  return { partitions, next: found.length > page.length ? (page.at(-1)?.partitionKey ?? null) : null };
}

async function lagOf(tenant: Tenant, snapshot: Snapshot, partition: PartitionTail): Promise<LagView> {
  const { partitionKey, latestOffset } = partition;
  const { count, atLeast } = await countPartition(tenant, snapshot, partitionKey);
  const first = count > 0 ? await firstUnsettledOf(tenant, snapshot, partitionKey) : null;
  const acked =
    first === null ? latestOffset : await highestThrough(tenant, snapshot.topic, partitionKey, first - 1);
  return { partitionKey, acked, latest: latestOffset, lag: count, ...(atLeast ? { atLeast } : {}) };
}

/** The highest offset that the partition stores at or below `through`, 0 if none: the log reads forward only. */
async function highestThrough(
  tenant: Tenant,
  topic: string,
  partitionKey: string,
  through: number,
): Promise<number> {
  /** An offset that is stored. */
  let known = 0;
  /** Nothing is stored above it. */
  let ceiling = through;
  let span = FIRST_SPAN;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const afterOffset = known > 0 ? Math.floor((known + ceiling) / 2) : Math.max(0, ceiling - span);
    const read = { partitionKey, afterOffset, throughOffset: ceiling, maxEntries: LOOK_BACK_ENTRIES };
    const [page] = await tenant.log.scanPartitions(topic, [read]);
    const last = page?.entries.at(-1);
    if (!last) {
      if (afterOffset === 0) return 0;
      ceiling = afterOffset;
      span *= SPAN_GROWTH;
    } else if (page?.reachedEnd) return last.offset;
    else known = last.offset;
  }
  return known;
}
