import { type CheckpointRow, nextCheckpoint, type PartitionNow } from "../core/checkpoint.ts";
import { CHECKPOINT_DELAY_MS, MAX_CHECKPOINT_PARTITIONS } from "../core/dispatch-limits.ts";
import type { Lane } from "../core/lane.ts";
import { MAX_CHECKPOINT_BYTES, type PartitionCheckpoint } from "../log/message-log.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";
import { groupName } from "./waiters.ts";

/** Rounds of one pass; what is left is due at once. */
const MAX_ROUNDS = 20;
/** Rows remembered, so that saving a partition again needs no look at the row before; and what they take. */
const MAX_REMEMBERED = 20_000;
const MAX_REMEMBERED_CHARS = 4_000_000;

/**
 * Saves what groups have settled to a log outside the object, so that the loss of the object costs at most the
 * settlements of the last seconds.
 *
 *   settled -> noted in the lane (and its row) -> saved -> forgotten
 *
 * A save that failed, or a crash before or after it, repeats the same claims: they are true for ever within a reset
 * epoch, and the log refuses those of an earlier one. Only what was noted when the row was made is forgotten after
 * it was saved.
 */
export class CheckpointPass {
  private readonly tenant: Tenant;
  private readonly running = new Set<string>();
  /** Rows as they were last saved or read, by group and partition; insertion order, oldest first. */
  private readonly rows = new Map<string, CheckpointRow | null>();
  private rememberedChars = 0;

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  /** In the background: neither a command nor the alarm waits for the log. Calls that meet are one. */
  start(ref: { topic: string; group: string }): void {
    const name = groupName(ref);
    if (this.running.has(name)) {
      this.postpone(ref);
      return;
    }
    this.running.add(name);
    this.save(ref)
      .catch((error: unknown) => this.tenant.ports.report("checkpoint", error))
      .finally(() => this.running.delete(name));
  }

  /** A group that was loaded anew meanwhile asks at once for what is under way. */
  private postpone(ref: { topic: string; group: string }): void {
    const group = this.tenant.loadedGroup(ref.topic, ref.group);
    if (!group || group.checkpointAtMs === null) return;
    group.checkpointAtMs = Math.max(group.checkpointAtMs, this.tenant.nowMs() + CHECKPOINT_DELAY_MS);
    this.tenant.reschedule(group);
  }

  /** Resolves when everything noted before is saved, or could not be. Rejects when the log failed. */
  async save(ref: { topic: string; group: string }): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const group = await this.tenant.group(ref.topic, ref.group);
      if (!group) return;
      // A reset, or want of room, made some forget what they had noted.
      for (const lane of group.unsavedLanes) if (!lane.hasUnsaved) group.unsavedLanes.delete(lane);
      const lanes = [...group.unsavedLanes].slice(0, MAX_CHECKPOINT_PARTITIONS);
      group.checkpointAtMs = lanes.length > 0 ? this.tenant.nowMs() + CHECKPOINT_DELAY_MS : null;
      if (lanes.length === 0) break;
      const keys = new Set(lanes.map(({ partitionKey }) => partitionKey));
      await this.saveRound(group, [...keys]);
    }
    const group = this.tenant.loadedGroup(ref.topic, ref.group);
    if (!group) return;
    // More than one pass takes: the next follows at once.
    if (group.unsavedLanes.size > MAX_CHECKPOINT_PARTITIONS) group.checkpointAtMs = this.tenant.nowMs();
    this.tenant.reschedule(group);
  }

  /** The log has no rows of these partitions any more. */
  forgetRows(group: GroupState, partitionKeys: readonly string[]): void {
    for (const key of partitionKeys) this.forgetRow(this.rowName(group, key));
  }

  private async saveRound(before: GroupState, keys: readonly string[]): Promise<void> {
    const { topic, group: name } = before.key;
    await this.readRows(before, keys);
    const group = await this.tenant.group(topic, name);
    if (!group || group.record.generation !== before.record.generation) return;
    const noted = new Map<Lane, number>();
    const saves: PartitionCheckpoint[] = [];
    const { generation } = group.record;
    const { resetEpoch } = group.progress;
    for (const partitionKey of keys) {
      const lanes = group.lanes.lanesOf(partitionKey);
      for (const lane of lanes) if (lane.unsaved) noted.set(lane, lane.unsaved.length);
      if (!lanes.some(({ hasUnsaved }) => hasUnsaved)) continue;
      const known = this.rows.get(this.rowName(group, partitionKey)) ?? null;
      const row = nextCheckpoint(known, partitionNow(group, lanes), MAX_CHECKPOINT_BYTES);
      if (row) saves.push({ partitionKey, generation, resetEpoch, ...row });
    }
    if (saves.length > 0) await this.tenant.log.saveProgress(topic, name, saves);
    for (const { partitionKey, ackedOffset, unsettled, ackedAbove, due } of saves)
      this.remember(this.rowName(group, partitionKey), { ackedOffset, unsettled, ackedAbove, due });
    await this.forget(group, resetEpoch, noted);
  }

  private async readRows(group: GroupState, keys: readonly string[]): Promise<void> {
    const missing = keys.filter((key) => !this.rows.has(this.rowName(group, key)));
    if (missing.length === 0) return;
    const { generation } = group.record;
    const { resetEpoch } = group.progress;
    const found = await this.tenant.log.loadProgress(group.key.topic, group.key.group, missing);
    for (const key of missing) this.remember(this.rowName(group, key), null);
    for (const row of found) {
      if (row.generation !== generation || row.resetEpoch > resetEpoch) continue;
      const { ackedOffset, unsettled, ackedAbove, due } = row;
      this.remember(this.rowName(group, row.partitionKey), { ackedOffset, unsettled, ackedAbove, due });
    }
  }

  /** What was noted up to the save is in the log now; what came since waits for the next one. */
  private async forget(
    stale: GroupState,
    resetEpoch: number,
    noted: ReadonlyMap<Lane, number>,
  ): Promise<void> {
    const group = await this.tenant.group(stale.key.topic, stale.key.group);
    if (!group || group.record.generation !== stale.record.generation) return;
    const emptied: Lane[] = [];
    for (const [lane, count] of noted) {
      // After a reset the lane began anew. A reloaded lane has its row's notes, which may be saved twice.
      if (!lane.unsaved || group.progress.resetEpoch !== resetEpoch || group !== stale) continue;
      // One that was merged into another meanwhile left its notes there.
      if (group.lane(lane.partitionKey, lane.routeId) !== lane) continue;
      lane.unsaved.splice(0, count);
      if (lane.unsaved.length > 0) continue;
      group.unsavedLanes.delete(lane);
      if (!lane.hasUnsettled && !lane.lease) emptied.push(lane);
    }
    if (emptied.length === 0) return;
    this.tenant.change(group, (nowMs) => {
      for (const lane of emptied) {
        lane.changes.state = true;
        group.touch(lane, nowMs);
      }
    });
  }

  private rowName({ key, record, progress }: GroupState, partitionKey: string): string {
    return `${key.topic}\n${key.group}\n${record.generation}\n${progress.resetEpoch}\n${partitionKey}`;
  }

  private remember(name: string, row: CheckpointRow | null): void {
    this.forgetRow(name);
    this.rows.set(name, row);
    this.rememberedChars += charsOf(name, row);
    for (const oldest of this.rows.keys()) {
      if (this.rows.size <= MAX_REMEMBERED && this.rememberedChars <= MAX_REMEMBERED_CHARS) break;
      this.forgetRow(oldest);
    }
  }

  private forgetRow(name: string): void {
    const row = this.rows.get(name);
    if (row === undefined) return;
    this.rows.delete(name);
    this.rememberedChars -= charsOf(name, row);
  }
}

function charsOf(name: string, row: CheckpointRow | null): number {
  return name.length + (row ? row.unsettled.length + row.ackedAbove.length : 0);
}

/** Over all lanes of the partition: routes change nothing of what the group has settled. */
function partitionNow(group: GroupState, lanes: readonly Lane[]): PartitionNow {
  const { scanOffset, due } = group.progress;
  let readThrough = scanOffset;
  const unsettled: number[] = [];
  const settled: number[] = [];
  for (const lane of lanes) {
    if (lane.hasUnwalked) readThrough = Math.min(readThrough, lane.walkedOffset);
    for (const { after } of lane.pending) readThrough = Math.min(readThrough, after);
    for (const run of lane.runs) for (const { offset } of run.messages) unsettled.push(offset);
    for (const { offset } of lane.exceptions) unsettled.push(offset);
    settled.push(...(lane.unsaved ?? []));
  }
  const completeOffset = Math.min(group.known.sureOffset, readThrough);
  return {
    // After a loss the row may be further than the log reaches now: only what is quiet comes up to it.
    completeOffset: completeOffset === scanOffset ? Math.max(scanOffset, group.quietThrough) : completeOffset,
    unsettled: unsettled.sort((a, b) => a - b),
    settled,
    due,
  };
}
