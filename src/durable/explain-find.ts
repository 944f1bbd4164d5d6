import type { Subject } from "../core/explain.ts";
import { placeOf } from "../core/explain-place.ts";
import type { Lane } from "../core/lane.ts";
import { deadLetterTopicOf, isDeadLetterTopic } from "../core/settings.ts";
import type { GroupView } from "../core/unsettled.ts";
import type { DeadLetterInfo, StoredEntry } from "../log/message-log.ts";
import type { ExplainInput } from "../protocol/tenant-calls.ts";
import type { Named } from "./explain-view.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";

/** Which message is asked for, and where the group has it. */

/** Every stored entry that the input may mean, the published one first. Throws `store-unavailable`. */
export async function findEntries(tenant: Tenant, input: ExplainInput): Promise<StoredEntry[]> {
  const { topic, partitionKey, id, offset } = input;
  if (id !== null) return tenant.log.findEntries(topic, id, partitionKey);
  if (offset === null || offset === 0) return [];
  const read = { partitionKey, afterOffset: offset - 1, maxEntries: 1 };
  return (await tenant.log.listMessages(topic, read)).filter((entry) => entry.offset === offset);
}

export type Found =
  | { kind: "unsettled"; named: Named; subject: Subject }
  | { kind: "settled"; named: Named }
  | { kind: "otherGroup"; named: Named; targetGroup: string };

/** The first one that the group has not settled; else the first that is for it. null: there are none. */
export function chooseEntry(view: GroupView, entries: readonly StoredEntry[]): Found | null {
  let settled: Found | null = null;
  let otherGroup: Found | null = null;
  for (const entry of entries) {
    const { offset, dueAtMs, delayed, targetGroup } = entry;
    const named = namedOf(entry);
    const place = placeOf(view, entry);
    if (place === "otherGroup") otherGroup ??= { kind: "otherGroup", named, targetGroup: targetGroup ?? "" };
    else if (place === "settled") settled ??= { kind: "settled", named };
    else return { kind: "unsettled", named, subject: { offset, dueAtMs, delayed, inLane: place === "lane" } };
  }
  return settled ?? otherGroup;
}

function namedOf({ id, partitionKey, offset, publishedAtMs, dueAtMs }: StoredEntry): Named {
  return { id, partitionKey, offset, publishedAtMs, dueAtMs };
}

/** What the lanes of a partition know of a message, while the log cannot be asked; null: it does not have it. */
export function foundInLane(lanes: readonly Lane[], offset: number | null): Found | null {
  if (offset === null) return null;
  for (const lane of lanes) {
    const found = heldIn(lane, offset);
    if (found) return found;
  }
  return null;
}

function heldIn(lane: Lane, offset: number): Found | null {
  const held =
    lane.exceptionAt(offset) ??
    lane.runAt(offset)?.messages.find((message) => message.offset === offset) ??
    lane.window.find((entry) => entry.offset === offset);
  if (!held) return null;
  const { dueAtMs } = held;
  const { partitionKey } = lane;
  return {
    kind: "unsettled",
    named: { id: null, partitionKey, offset, publishedAtMs: null, dueAtMs },
    subject: { offset, dueAtMs, delayed: false, inLane: true },
  };
}

/** The group's latest dead letter of this message that is still there. */
export async function findDeadLetter(
  tenant: Tenant,
  group: GroupState,
  message: { id: string; partitionKey: string },
): Promise<DeadLetterInfo | null> {
  const { topic, group: name } = group.key;
  if (isDeadLetterTopic(topic)) return null;
  const entries = await tenant.log.findEntries(deadLetterTopicOf(topic), message.id, message.partitionKey);
  let latest: DeadLetterInfo | null = null;
  for (const { deadLetter } of entries) {
    if (deadLetter?.group !== name) continue;
    if (latest === null || deadLetter.failedAtMs >= latest.failedAtMs) latest = deadLetter;
  }
  return latest;
}
