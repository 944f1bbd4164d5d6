import type { CollectReply } from "../../protocol/tenant-calls.ts";
import { type Budget, collectTopic } from "../collect-topic.ts";
import { copyDeadLetters } from "../dead-letter-pass.ts";
import { groupsOf } from "../end-holds.ts";
import type { GroupState } from "../group-state.ts";
import { releaseIdleLeases } from "../idle-leases.ts";
import { tendProgress } from "../progress-pass.ts";
import { failureOf, type Tenant } from "../tenant.ts";

/** Messages deleted in one pass: some 100 ms of the object's time, with turns of others in between. */
const MAX_PASS_DELETES = 5000;
/** Entries looked at in one pass; a topic counts as one at least. */
const MAX_PASS_ENTRIES = 20_000;
/** Groups read at a time when looking for what deleted ones left. */
const LEFTOVER_PAGE = 1000;

/** Where passes go on. Memory only: a new life begins at the beginning, which costs reads and nothing else. */
interface Memory {
  running: Promise<unknown> | null;
  /** The pass begins behind this topic, so that a deep one does not starve the others. */
  lastTopic: string;
  /** Where a topic that was left in the middle is gone on with. */
  cursors: Map<string, number>;
  leftoversRemoved: boolean;
}

const memories = new WeakMap<Tenant, Memory>();

/**
 * One bounded pass over the tenant's topics in turn: leases, dead letters, expired and settled messages. Every step
 * may be repeated. Passes that meet run one after the other.
 */
export async function collect(tenant: Tenant): Promise<CollectReply> {
  const memory = memoryOf(tenant);
  while (memory.running) await memory.running.catch(() => undefined);
  const pass = collectOnce(tenant, memory);
  memory.running = pass;
  try {
    return await pass;
  } finally {
    memory.running = null;
  }
}

async function collectOnce(tenant: Tenant, memory: Memory): Promise<CollectReply> {
  tenant.activity.passBegins();
  const topics = inTurn(
    (await tenant.refreshTopics()).map(({ topic }) => topic),
    memory.lastTopic,
  );
  await removeLeftovers(tenant, memory);
  const budget: Budget = { deletes: MAX_PASS_DELETES, entries: MAX_PASS_ENTRIES };
  const [anyTopic] = topics;
  const nowMs = anyTopic === undefined ? tenant.nowMs() : (await tenant.log.tail(anyTopic)).nowMs;
  const reply = { deletedMessages: 0, releasedPartitions: 0 };
  let stopped: CollectReply["stopped"] = "done";
  let holdsNothing = true;
  let failure: { error: unknown } | null = null;
  for (const topic of topics) {
    if (budget.deletes <= 0 || budget.entries <= 0) {
      stopped = "limit";
      break;
    }
    memory.lastTopic = topic;
    try {
      for (const group of await groupsOf(tenant, topic)) {
        reply.releasedPartitions += await tendGroup(tenant, group);
        if (!tenant.embedded) await tendProgress(tenant, group, nowMs);
      }
      const from = { afterOffset: memory.cursors.get(topic) ?? 0, nowMs };
      const outcome = await collectTopic(tenant, topic, from, budget);
      reply.deletedMessages += outcome.deleted;
      holdsNothing &&= outcome.empty;
      if (outcome.resumeAfter === null) memory.cursors.delete(topic);
      else {
        memory.cursors.set(topic, outcome.resumeAfter);
        stopped = "limit";
      }
    } catch (error) {
      // A log that is away fails every topic alike; anything else is this topic's own, and the others go on.
      if (failureOf(error)?.code === "store-unavailable") throw error;
      tenant.ports.report(`collect ${topic}`, error);
      failure ??= { error };
    }
  }
  tenant.wake.arm();
  if (failure) throw failure.error;
  const stillNothing = stopped === "done" && holdsNothing && (await isQuiet(tenant, topics));
  return { ...reply, stopped, ...tenant.activity.answer(stillNothing) };
}

/** In order of names, beginning behind the one that was last. */
function inTurn(topics: readonly string[], last: string): string[] {
  const sorted = [...topics].sort();
  return [...sorted.filter((topic) => topic > last), ...sorted.filter((topic) => topic <= last)];
}

/** Returns how many partitions were freed: of dead subscribers, and idle ones. */
async function tendGroup(tenant: Tenant, group: GroupState): Promise<number> {
  const before = leasedCount(group);
  const after = tenant.change(group, (nowMs) => {
    releaseIdleLeases(group, nowMs);
    return leasedCount(group);
  });
  if (group.lanes.hasDying) await copyDeadLetters(tenant, group.key);
  if (before > after) tenant.wake.pump(group.key);
  return before - after;
}

function leasedCount(group: GroupState): number {
  let count = 0;
  for (const name of group.subscribers.keys()) count += group.lanes.leasedBy(name).length;
  return count;
}

/** No lane with a lease or anything unsettled, and nobody who lives. */
async function isQuiet(tenant: Tenant, topics: readonly string[]): Promise<boolean> {
  if (tenant.waiters.count > 0) return false;
  for (const topic of topics) {
    for (const group of await groupsOf(tenant, topic)) {
      if (group.lanes.size > 0 || group.subscribers.size > 0) return false;
    }
  }
  return true;
}

/** Rows of groups that were deleted when the object died before it had removed them. Once a life is enough. */
async function removeLeftovers(tenant: Tenant, memory: Memory): Promise<void> {
  if (memory.leftoversRemoved) return;
  let after = { topic: "", group: "" };
  for (;;) {
    const page = tenant.tables.groupProgress.list(tenant.name, after, LEFTOVER_PAGE);
    for (const key of page) {
      if (await tenant.group(key.topic, key.group)) continue;
      await tenant.log.deleteProgress(key.topic, key.group, null);
      // Made again meanwhile: then the rows are the new group's, and loading it removed the old ones.
      if (await tenant.group(key.topic, key.group)) continue;
      tenant.ports.sql.transaction(() => tenant.tables.removeGroup(key));
    }
    const last = page.at(-1);
    if (!last || page.length < LEFTOVER_PAGE) break;
    after = { topic: last.topic, group: last.group };
  }
  memory.leftoversRemoved = true;
}

function memoryOf(tenant: Tenant): Memory {
  const known = memories.get(tenant);
  if (known) return known;
  const memory: Memory = { running: null, lastTopic: "", cursors: new Map(), leftoversRemoved: false };
  memories.set(tenant, memory);
  return memory;
}
