import { deadLetterOrigin } from "../core/dead-letter.ts";
import { DEAD_LETTER_RETRY_MS, MAX_DEAD_LETTER_COPIES } from "../core/dispatch-limits.ts";
import { FairlaneError } from "../core/failure.ts";
import { deadLetterTopicOf, defaultTopicSettings } from "../core/settings.ts";
import type { DeadLetterCopy } from "../log/message-log.ts";
import type { GroupState } from "./group-state.ts";
import type { Tenant } from "./tenant.ts";
import { groupName } from "./waiters.ts";

/** Rounds of one pass; what is left is due at once. */
const MAX_ROUNDS = 10;

interface Dying {
  partitionKey: string;
  epoch: number;
  copy: DeadLetterCopy;
}

/**
 * Copies decided dead letters, then settles their messages. The decision is a row, the copy is idempotent by
 * its origin, settling comes last: a crash between any two of them repeats the copy to no effect.
 * A failing log leaves the decisions as they are; they are tried again after a pause.
 */
export async function copyDeadLetters(tenant: Tenant, ref: { topic: string; group: string }): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const group = await tenant.group(ref.topic, ref.group);
    if (!group?.lanes.hasDying) return;
    const dying = collect(group);
    try {
      await tenant.log.copyToDeadLetters(
        ref.topic,
        dying.map(({ copy }) => copy),
      );
    } catch (error) {
      if (!(error instanceof FairlaneError)) throw error;
      group.deadLetterRetryAtMs = tenant.nowMs() + DEAD_LETTER_RETRY_MS;
      tenant.reschedule(group);
      return;
    }
    const deadLetterTopic = deadLetterTopicOf(ref.topic);
    tenant.rememberTopic(deadLetterTopic, defaultTopicSettings(deadLetterTopic));
    await settleCopied(tenant, group, dying);
    tenant.wake.topicGrew(deadLetterTopic);
  }
}

/** Where the log is outside the object, a slow one must not hold up who decided the dead letters. */
export async function copyDeadLettersSoon(
  tenant: Tenant,
  ref: { topic: string; group: string },
): Promise<void> {
  if (tenant.embedded) return copyDeadLetters(tenant, ref);
  const name = groupName(ref);
  // The one that is under way goes on until none is left.
  if (tenant.copyingDeadLetters.has(name)) return;
  tenant.copyingDeadLetters.add(name);
  copyDeadLetters(tenant, ref)
    .catch((error: unknown) => tenant.ports.report("dead letters", error))
    .finally(() => {
      tenant.copyingDeadLetters.delete(name);
      const group = tenant.loadedGroup(ref.topic, ref.group);
      if (group) tenant.reschedule(group);
    });
}

function collect(group: GroupState): Dying[] {
  const dying: Dying[] = [];
  const { generation, group: name } = group.record;
  for (const lane of group.lanes.dying()) {
    for (const { state, offset, attempt, atMs, epoch, reason } of lane.exceptions) {
      if (state !== "dying") continue;
      if (dying.length >= MAX_DEAD_LETTER_COPIES) return dying;
      const origin = deadLetterOrigin({ group: name, generation, resetEpoch: epoch, offset });
      const copy = { offset, group: name, attempts: attempt, failedAtMs: atMs, reason, origin };
      dying.push({ partitionKey: lane.partitionKey, epoch, copy });
    }
  }
  return dying;
}

async function settleCopied(tenant: Tenant, stale: GroupState, dying: readonly Dying[]): Promise<void> {
  const group = await tenant.group(stale.key.topic, stale.key.group);
  if (!group || group.record.generation !== stale.record.generation) return;
  tenant.change(group, (nowMs) => {
    group.deadLetterRetryAtMs = null;
    for (const { partitionKey, epoch, copy } of dying) {
      const lane = group.lanes.holding(partitionKey, copy.offset);
      const exception = lane?.exceptionAt(copy.offset);
      // A reset may have brought the message back meanwhile: then it lives on beside its copy.
      if (!lane || exception?.state !== "dying" || exception.epoch !== epoch) continue;
      lane.settle(copy.offset);
      group.touch(lane, nowMs);
    }
  });
}
