import { DEFAULT_GROUP_SETTINGS } from "../../src/core/settings.ts";
import type {
  GroupRecord,
  MessageLog,
  NewMessage,
  PartitionCheckpoint,
  PartitionProgress,
  PartitionReset,
} from "../../src/log/message-log.ts";

export const TOPIC = "orders";
export const GROUP = "billing";
export const ALL = { afterOffset: 0, maxEntries: 1000 };

export function message(id: string, over: Partial<NewMessage> = {}): NewMessage {
  return { id, partitionKey: "k", body: "{}", contentType: null, headers: "", delayMs: 0, ...over };
}

export function messages(count: number, over: Partial<NewMessage> = {}): NewMessage[] {
  return Array.from({ length: count }, (_, place) => message(`m${place}`, over));
}

export async function publish(log: MessageLog, batch: NewMessage[], topic = TOPIC): Promise<number[]> {
  await log.append(topic, batch);
  return offsetsOf(log, topic);
}

export async function offsetsOf(log: MessageLog, topic = TOPIC): Promise<number[]> {
  const { entries } = await log.scanTopic(topic, ALL);
  return entries.map(({ offset }) => offset);
}

export async function idsOf(log: MessageLog, topic = TOPIC): Promise<string[]> {
  const entries = await log.listMessages(topic, ALL);
  return entries.map(({ id }) => id);
}

export function group(over: Partial<GroupRecord> = {}): GroupRecord {
  return {
    group: GROUP,
    generation: 1,
    settings: DEFAULT_GROUP_SETTINGS,
    createdBy: "admin",
    startOffset: 0,
    deletedAtMs: null,
    ...over,
  };
}

export function checkpoint(over: Partial<PartitionCheckpoint> = {}): PartitionCheckpoint {
  return {
    partitionKey: "k",
    generation: 1,
    resetEpoch: 0,
    ackedOffset: 10,
    unsettled: "",
    ackedAbove: "",
    due: { dueAtMs: 0, offset: 0 },
    ...over,
  };
}

export function reset(over: Partial<PartitionReset> = {}): PartitionReset {
  return { partitionKey: "k", generation: 1, resetEpoch: 1, offset: 5, ...over };
}

/** The row that a checkpoint makes of a partition that was last reset to `resetOffset`. */
export function rowOf(saved: PartitionCheckpoint, resetOffset = 0): PartitionProgress {
  return { ...saved, resetOffset };
}

/** The row that a reset makes. */
export function rowOfReset({ offset, ...fenced }: PartitionReset): PartitionProgress {
  return rowOf(checkpoint({ ...fenced, ackedOffset: offset }), offset);
}

/** The log's own clock: that of a database runs by itself. */
export async function clockOf(log: MessageLog): Promise<number> {
  return (await log.tail(TOPIC)).nowMs;
}

/** The offset at a place of an array that a test knows to be long enough. */
export function at<T>(items: readonly T[], place: number): T {
  const item = items.at(place);
  if (item === undefined) throw new Error(`nothing at ${place} of ${items.length}`);
  return item;
}
