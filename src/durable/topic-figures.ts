import { firstUnsettled } from "./first-unsettled.ts";
import { failureOf, type Tenant } from "./tenant.ts";
import {
  type Count,
  type CountBounds,
  countTopic,
  EXACT,
  type Reads,
  snapshotOf,
} from "./unsettled-count.ts";

/** What people see of a topic and its groups: counts that are exact to a bound, and the oldest times. */
export interface GroupFigures {
  group: string;
  /** Of this generation: a group that was deleted and made again has other figures. */
  generation: number;
  backlog: Count;
  inFlight: number;
  subscribers: number;
  oldestUnsettledAtMs: number | null;
  expired: number;
  dropped: number;
  /** Lanes in memory that were looked at. */
  lanes: number;
}

export async function countStored(reads: Reads, topic: string, maxCount: number): Promise<Count> {
  const found = await reads.log.countEntries(topic, { afterOffset: 0, maxCount: maxCount + 1 });
  return { count: Math.min(found, maxCount), atLeast: found > maxCount };
}

export async function oldestPublishedAtMs(reads: Reads, topic: string): Promise<number | null> {
  const [oldest] = await reads.log.listMessages(topic, { afterOffset: 0, maxEntries: 1 });
  return oldest?.publishedAtMs ?? null;
}

/** null: there is no such group, or it was deleted meanwhile. */
export async function figuresOf(
  tenant: Tenant,
  ref: { topic: string; group: string },
  bounds: CountBounds = EXACT,
  reads: Reads = tenant,
): Promise<GroupFigures | null> {
  if (!(await tenant.group(ref.topic, ref.group))) return null;
  try {
    return await figuresOfLive(tenant, ref, bounds, reads);
  } catch (error) {
    if (failureOf(error)?.code === "not-found") return null;
    throw error;
  }
}

async function figuresOfLive(
  tenant: Tenant,
  ref: { topic: string; group: string },
  bounds: CountBounds,
  reads: Reads,
): Promise<GroupFigures> {
  const snapshot = await snapshotOf(tenant, ref, bounds, reads);
  const backlog = await countTopic(reads, snapshot);
  const first = backlog.count > 0 ? await firstUnsettled(reads, snapshot) : null;
  const oldestUnsettledAtMs = first === null ? null : await publishedAtMs(reads, ref.topic, first);
  const group = await tenant.groupOrFail(ref.topic, ref.group);
  return {
    group: ref.group,
    generation: group.record.generation,
    backlog,
    inFlight: snapshot.inFlight,
    subscribers: group.subscribers.size,
    oldestUnsettledAtMs,
    expired: group.progress.expired,
    dropped: group.progress.dropped,
    lanes: snapshot.lanes.size,
  };
}

async function publishedAtMs(reads: Reads, topic: string, offset: number): Promise<number | null> {
  const [entry] = await reads.log.listMessages(topic, { afterOffset: offset - 1, maxEntries: 1 });
  return entry?.offset === offset ? entry.publishedAtMs : null;
}
