import { GROUP_TOMBSTONE_MS, MAX_GROUPS_PER_TOPIC } from "./limits.ts";

/** A group's record, as far as this decides on it. */
export interface Tombstone {
  group: string;
  generation: number;
  /** null: the group exists. */
  deletedAtMs: number | null;
}

/**
 * Names of the tombstones that nothing needs any more, so that making and deleting groups of ever new names does not
 * fill the table: the highest generations stay (the next one must exceed them), and so do the young ones (a receive
 * must not make such a group again). At most a hundred at a time.
 */
export function tombstonesToForget(records: readonly Tombstone[], nowMs: number): string[] {
  return records
    .filter((record) => record.deletedAtMs !== null)
    .sort((a, b) => b.generation - a.generation)
    .slice(MAX_GROUPS_PER_TOPIC)
    .filter((record) => (record.deletedAtMs ?? nowMs) + GROUP_TOMBSTONE_MS <= nowMs)
    .slice(0, MAX_GROUPS_PER_TOPIC)
    .map(({ group }) => group);
}
