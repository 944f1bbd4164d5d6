import type { Surroundings } from "../../core/explain.ts";
import type { Ended } from "../../core/explain-summary.ts";
import { APPLICATION, type Lane } from "../../core/lane.ts";
import { isUnread, laneHolding } from "../../core/unsettled.ts";
import { type DeadLetterInfo, MAX_SCAN_ENTRIES, type StoredEntry } from "../../log/message-log.ts";
import type { ExplainInput, Explanation, GroupRef, WaitingLanesReply } from "../../protocol/tenant-calls.ts";
import { surroundingsOf } from "../explain-around.ts";
import { chooseEntry, type Found, findDeadLetter, findEntries, foundInLane } from "../explain-find.ts";
import { orRetryAtMs, readOn } from "../explain-read.ts";
import { blockingOffset, decide, endedView, explanationOf, type Named } from "../explain-view.ts";
import { heldCount, unknownLanes, type WaitingLane, waitingIn } from "../explain-waiting.ts";
import type { GroupState } from "../group-state.ts";
import { type ResetOffsets, resetOffsetsOf, viewOfGroup } from "../group-view.ts";
import { failureOf, type Tenant } from "../tenant.ts";

/**
 * Why one message of a group is, or is not, being delivered. Looks the message up, reads on as a receive would, then
 * decides at one instant from memory, by the rules of dispatch. Changes nothing. Throws `not-found` for an unknown group,
 * and `store-unavailable` where the log alone can tell which message is meant or what became of it.
 */
export async function explain(tenant: Tenant, input: ExplainInput): Promise<Explanation> {
  await tenant.groupOrFail(input.topic, input.group);
  const looked = await lookUp(tenant, input);
  let logRetryAtMs = await readFor(tenant, input, looked.entries);
  let resets: ResetOffsets | undefined;
  logRetryAtMs ??= await orRetryAtMs(tenant, async () => {
    resets = await resetsFor(tenant, input, looked.entries);
  });
  const group = await tenant.groupOrFail(input.topic, input.group);
  const found = tenant.change(group, (nowMs) => {
    const known = looked.failure
      ? foundInLane(group.lanes.lanesOf(input.partitionKey), input.offset)
      : chooseEntry(viewOfGroup(group, resets), looked.entries);
    if (known?.kind !== "unsettled") return known;
    const { routeId, lane } = partyOf(group, known, looked.entries);
    const around = surroundingsOf(tenant, group, routeId, logRetryAtMs, nowMs);
    return {
      kind: "explained" as const,
      named: known.named,
      decided: decide(group, known.subject, { lane, routeId }, around),
    };
  });
  if (found?.kind === "explained") {
    const { named, decided } = found;
    const blockingId = await idAt(tenant, input, blockingOffset(decided));
    return explanationOf(group, named, decided, blockingId);
  }
  // Neither the log nor memory can say.
  if (looked.failure) throw looked.failure;
  return explainEnded(tenant, group, input, found);
}

/**
 * Lanes that hold something and of which nothing can be delivered now, each with the explanation of its first message
 * that is not under way, or of the one that is longest where all are for too long. From memory, after one read of the log: it brings the next entries of lanes of which memory
 * knows only that there are some.
 */
export async function waitingLanes(
  tenant: Tenant,
  input: GroupRef & { limit: number },
): Promise<WaitingLanesReply> {
  const before = await tenant.groupOrFail(input.topic, input.group);
  const logRetryAtMs = await readOn(tenant, input, {
    lanes: unknownLanes(before.lanes.lanes(), input.limit),
    tailEntries: 0,
  });
  const group = await tenant.groupOrFail(input.topic, input.group);
  return tenant.change(group, (nowMs) => {
    const lanes: WaitingLanesReply["lanes"] = [];
    for (const [routeId, index] of group.lanes.entries()) {
      const around = surroundingsOf(tenant, group, routeId, logRetryAtMs, nowMs);
      const found = waitingIn(index.lanes.values(), around, input.limit - lanes.length);
      lanes.push(...found.waiting.map((one) => waitingView(group, one, around)));
      if (found.more) return { lanes, more: true };
    }
    return { lanes, more: false };
  });
}

function waitingView(
  group: GroupState,
  { lane, first }: WaitingLane,
  around: Surroundings,
): WaitingLanesReply["lanes"][number] {
  const { partitionKey } = lane;
  const known = first.inLane
    ? { offset: first.offset, dueAtMs: first.dueAtMs }
    : { offset: null, dueAtMs: null };
  const named = { id: null, partitionKey, publishedAtMs: null, ...known };
  const explanation = explanationOf(
    group,
    named,
    decide(group, first, { lane, routeId: lane.routeId }, around),
    null,
  );
  return { partitionKey, unsettled: heldCount(lane), explanation };
}

/** Whose the message is: the lane's that has it, else whoever the routes say. */
function partyOf(
  group: GroupState,
  { named, subject }: Extract<Found, { kind: "unsettled" }>,
  entries: readonly StoredEntry[],
): { routeId: number; lane: Lane | null } {
  const holding = laneHolding(viewOfGroup(group, undefined), named.partitionKey, subject.offset);
  if (holding) return { routeId: holding.routeId, lane: holding };
  const entry = entries.find(({ offset }) => offset === subject.offset);
  const routeId = entry ? group.routes.ownerOf(entry) : APPLICATION;
  return { routeId, lane: group.lane(named.partitionKey, routeId) ?? null };
}

/** What the log calls the message at this offset; null: it has none there, or cannot be read. */
async function idAt(
  tenant: Tenant,
  { topic, partitionKey }: { topic: string; partitionKey: string },
  offset: number | null,
): Promise<string | null> {
  if (offset === null) return null;
  let id: string | null = null;
  await orRetryAtMs(tenant, async () => {
    const read = { partitionKey, afterOffset: offset - 1, maxEntries: 1 };
    const [entry] = await tenant.log.listMessages(topic, read);
    if (entry?.offset === offset) id = entry.id;
  });
  return id;
}

interface LookedUp {
  entries: StoredEntry[];
  /** The log could not be read, and memory may know the message. */
  failure: unknown;
}

async function lookUp(tenant: Tenant, input: ExplainInput): Promise<LookedUp> {
  try {
    return { entries: await findEntries(tenant, input), failure: null };
  } catch (error) {
    // Memory has offsets and no IDs.
    if (input.offset === null || failureOf(error)?.code !== "store-unavailable") throw error;
    return { entries: [], failure: error };
  }
}

/** One read that would bring the message to its lane, if it is not there. */
async function readFor(
  tenant: Tenant,
  ref: ExplainInput,
  entries: readonly StoredEntry[],
): Promise<number | null> {
  const group = await tenant.groupOrFail(ref.topic, ref.group);
  const behind = group.lanes
    .lanesOf(ref.partitionKey)
    .filter((lane) => lane.pending.length > 0 || entries.some(({ offset }) => isUnread(lane, offset)));
  const isAhead = entries.some(({ offset }) => offset > group.progress.scanOffset);
  return readOn(tenant, ref, {
    lanes: behind,
    tailEntries: isAhead ? MAX_SCAN_ENTRIES : 0,
  });
}

/** Only what was delayed can have been put aside by a reset before it came to its lane. */
async function resetsFor(
  tenant: Tenant,
  ref: GroupRef & { partitionKey: string },
  entries: readonly StoredEntry[],
): Promise<ResetOffsets | undefined> {
  if (!entries.some(({ delayed }) => delayed)) return undefined;
  return resetOffsetsOf(tenant, await tenant.groupOrFail(ref.topic, ref.group), [ref.partitionKey]);
}

async function explainEnded(
  tenant: Tenant,
  group: GroupState,
  input: ExplainInput,
  found: Exclude<Found, { kind: "unsettled" }> | null,
): Promise<Explanation> {
  const { id, partitionKey } = input;
  const named: Named = found?.named ?? {
    id,
    partitionKey,
    offset: input.offset,
    publishedAtMs: null,
    dueAtMs: null,
  };
  if (found?.kind === "otherGroup") {
    const { targetGroup } = found;
    return endedView(group, named, { state: "other-group", targetGroup }, tenant.nowMs());
  }
  // A message that the log has no more is known by its ID alone.
  const deadLetter =
    named.id === null ? null : await findDeadLetter(tenant, group, { id: named.id, partitionKey });
  return endedView(group, named, endedAs(found !== null, deadLetter), tenant.nowMs());
}

type EndedAs =
  | Extract<Ended, { state: "settled" | "not-found" }>
  | { state: "dead-lettered"; deadLetter: DeadLetterInfo };

function endedAs(isStored: boolean, deadLetter: DeadLetterInfo | null): EndedAs {
  if (deadLetter) return { state: "dead-lettered", deadLetter };
  return { state: isStored ? "settled" : "not-found" };
}
