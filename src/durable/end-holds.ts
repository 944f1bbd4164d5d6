import type { Lane } from "../core/lane.ts";
import type { GroupState } from "./group-state.ts";
import { nextTurn } from "./next-turn.ts";
import type { Tenant } from "./tenant.ts";

/** Lanes freed of holds in one transaction. */
const MAX_LANES_A_TURN = 1000;

/**
 * Messages were removed from the log: whatever a group still holds of them ends, counted nowhere. Comes after
 * the removal: a hold that a crash leaves behind ends when it is due and the log has no such message, while a
 * hold that ended before a removal that then failed would be a lost message.
 */
export async function endHolds(
  tenant: Tenant,
  topic: string,
  removed: readonly { partitionKey: string; offset: number }[],
): Promise<void> {
  for (const group of await groupsOf(tenant, topic)) {
    tenant.change(group, (nowMs) => {
      const touched = new Set<Lane>();
      for (const { partitionKey, offset } of removed) {
        for (const lane of group.lanes.lanesOf(partitionKey)) if (lane.drop(offset)) touched.add(lane);
      }
      for (const lane of touched) group.touch(lane, nowMs);
    });
    tenant.wake.pump(group.key);
  }
}

/** The same for everything at or below an offset. */
export async function endHoldsThrough(tenant: Tenant, topic: string, throughOffset: number): Promise<void> {
  for (const { key, lanes } of await groupsOf(tenant, topic)) {
    const keys = [...new Set([...lanes.lanes()].map(({ partitionKey }) => partitionKey))];
    for (let at = 0; at < keys.length; at += MAX_LANES_A_TURN) {
      if (at > 0) await nextTurn(tenant);
      const group = await tenant.group(topic, key.group);
      if (!group) break;
      const turn = keys.slice(at, at + MAX_LANES_A_TURN);
      tenant.change(group, (nowMs) => endLaneHolds(group, turn, throughOffset, nowMs));
    }
    tenant.wake.pump(key);
  }
}

function endLaneHolds(
  group: GroupState,
  keys: readonly string[],
  throughOffset: number,
  nowMs: number,
): void {
  for (const key of keys) {
    for (const lane of group.lanes.lanesOf(key)) {
      const held = heldThrough(lane, throughOffset);
      for (const offset of held) lane.drop(offset);
      if (held.length > 0) group.touch(lane, nowMs);
    }
  }
}

function heldThrough(lane: Lane, throughOffset: number): number[] {
  const held: number[] = [];
  for (const { messages } of lane.runs) for (const { offset } of messages) held.push(offset);
  for (const { offset } of lane.exceptions) held.push(offset);
  for (const { offset } of lane.window) held.push(offset);
  return held.filter((offset) => offset <= throughOffset);
}

/** Every group of the topic as it is now. */
export async function groupsOf(tenant: Tenant, topic: string): Promise<GroupState[]> {
  const state = await tenant.topic(topic);
  const groups: GroupState[] = [];
  for (const name of [...(state?.groups.keys() ?? [])]) {
    const group = await tenant.group(topic, name);
    if (group) groups.push(group);
  }
  return groups;
}
