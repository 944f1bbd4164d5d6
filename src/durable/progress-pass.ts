import { offsetAtMs } from "../core/offset-clock.ts";
import { MAX_SCAN_ENTRIES } from "../log/message-log.ts";
import { catchUp } from "./catch-up.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/** Pages of progress rows looked through in one pass of a group. */
const MAX_PAGES = 5;

/** How far a group's rows were looked through. Memory only: a new life begins at the beginning. */
interface Sweep {
  afterKey: string | null;
  ended: boolean;
  /** The topic's shrink count when the look began. */
  shrinkCount: number;
}

const sweeps = new WeakMap<Tenant, Map<string, Sweep>>();

/**
 * What collection needs of a group whose log is outside the object: everything that can be sure is, since only that
 * is deleted; and progress rows of partitions without messages go. Until then a row is the proof that they were
 * settled.
 */
export async function tendProgress(tenant: Tenant, { key }: GroupState, logNowMs: number): Promise<void> {
  await catchUp(tenant, key);
  const group = await tenant.group(key.topic, key.group);
  if (!group) return;
  const sureThrough = Math.min(
    group.progress.scanOffset,
    offsetAtMs(logNowMs - group.log.clock.commitHorizonMs),
  );
  if (group.known.sureOffset < sureThrough)
    await tenant.reader(group.key).read({ lanes: [], tailEntries: 1, confirm: true });
  await forgetEmptyPartitions(tenant, group);
}

async function forgetEmptyPartitions(tenant: Tenant, group: GroupState): Promise<void> {
  const { topic, group: name } = group.key;
  const byGroup = sweeps.get(tenant) ?? new Map<string, Sweep>();
  sweeps.set(tenant, byGroup);
  const shrinkCount = tenant.shrinkCount(topic);
  let sweep = byGroup.get(`${topic}\n${name}`);
  // Looked through to the end, and nothing was deleted since.
  if (sweep?.ended && sweep.shrinkCount === shrinkCount) return;
  if (!sweep || sweep.ended) sweep = { afterKey: null, ended: false, shrinkCount };
  byGroup.set(`${topic}\n${name}`, sweep);
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const read = { afterKey: sweep.afterKey, maxPartitions: MAX_SCAN_ENTRIES };
    const { emptyKeys, resumeAfterKey } = await tenant.log.listEmptyPartitions(topic, name, read);
    if (emptyKeys.length > 0) await tenant.log.deleteProgress(topic, name, emptyKeys);
    tenant.checkpoints.forgetRows(group, emptyKeys);
    sweep.afterKey = resumeAfterKey;
    sweep.ended = resumeAfterKey === null;
    if (sweep.ended) return;
  }
}
