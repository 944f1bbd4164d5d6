import { z } from "zod";
import {
  MAX_ATTEMPTS,
  MAX_DURATION_MS,
  MAX_IN_FLIGHT_PER_PARTITION,
  MIN_LEASE_DURATION_MS,
} from "../core/limits.ts";
import { DEFAULT_GROUP_SETTINGS } from "../core/settings.ts";
import { atTime, count, flagText, integer, visibilityTimeoutMs } from "./fields.ts";

/** Beyond it a backoff is at its upper end after one step whatever its beginning. */
const MAX_BACKOFF_MULTIPLIER = 1000;

const retry = {
  initialBackoffMs: integer(0, MAX_DURATION_MS).meta({ description: "After the first failed attempt" }),
  multiplier: z
    .number("must be a number")
    .min(1, "must be at least 1")
    .max(MAX_BACKOFF_MULTIPLIER, `must be at most ${MAX_BACKOFF_MULTIPLIER}`)
    .meta({ description: "Each further backoff is so many times as long" }),
  maxBackoffMs: integer(0, MAX_DURATION_MS),
};
const flag = z.boolean("must be true or false");
const settings = {
  visibilityTimeoutMs,
  leaseDurationMs: integer(MIN_LEASE_DURATION_MS, MAX_DURATION_MS).meta({
    description: "A subscriber that is not heard of for so many milliseconds is gone",
  }),
  maxInFlightPerPartition: integer(1, MAX_IN_FLIGHT_PER_PARTITION).meta({
    description: "1 makes each partition strictly serial",
  }),
  maxAttempts: integer(1, MAX_ATTEMPTS).meta({ description: "Deliveries before a message is a dead letter" }),
  deadLetters: flag.meta({ description: "false: a message out of attempts is dropped and counted" }),
  startFrom: z
    .enum(["earliest", "latest"], "must be earliest or latest")
    .meta({ description: "Counts only when the group is made" }),
  paused: flag.meta({ description: "true: nothing is delivered" }),
};

export const putGroupRequest = z
  .strictObject({
    ...settings,
    retry: z.strictObject(retry, { error: expectedObject }).partial(),
  })
  .partial()
  .meta({
    description: "Absent settings keep their value, at first the default",
    examples: [DEFAULT_GROUP_SETTINGS],
  });

export const groupReply = z
  .strictObject({
    ...settings,
    retry: z.strictObject(retry),
    createdBy: z
      .enum(["admin", "receive"])
      .meta({ description: "receive: by a receive that found no group" }),
  })
  .meta({ id: "Group" });

export const deleteGroupQuery = z.strictObject({
  force: flagText.optional().meta({ description: "Also while the group has live subscribers" }),
});

export const heartbeatReply = z.strictObject({
  partitions: z.array(z.string()).meta({ description: "What the subscriber holds" }),
  expiresAt: atTime.meta({ description: "When it counts as gone, unless it is heard of before" }),
});

export const groupSummary = z
  .strictObject({
    group: z.string(),
    backlog: count.meta({ description: "Messages that the group has not settled" }),
    atLeast: z.literal(true).optional().meta({ description: "backlog is a lower bound" }),
    inFlight: count,
    subscribers: count,
    oldestUnsettledAt: atTime.nullable(),
    expired: count.meta({ description: "Ended by age before the group settled them" }),
    dropped: count.meta({ description: "Out of attempts, with dead letters switched off" }),
  })
  .meta({ id: "GroupSummary" });

/** Only for a value of another kind: a field that is not known has its own words. */
function expectedObject(issue: { code?: string | undefined }): string | undefined {
  return issue.code === "invalid_type" ? "must be an object" : undefined;
}
