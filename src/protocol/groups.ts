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
  initialBackoffMs: integer(0, MAX_DURATION_MS),
  multiplier: z
    .number("must be a number")
    .min(1, "must be at least 1")
    .max(MAX_BACKOFF_MULTIPLIER, `must be at most ${MAX_BACKOFF_MULTIPLIER}`),
  maxBackoffMs: integer(0, MAX_DURATION_MS),
};
const flag = z.boolean("must be true or false");
const settings = {
  visibilityTimeoutMs,
  leaseDurationMs: integer(MIN_LEASE_DURATION_MS, MAX_DURATION_MS),
  maxInFlightPerPartition: integer(1, MAX_IN_FLIGHT_PER_PARTITION).meta({
    description: "1 makes each partition strictly serial",
  }),
  maxAttempts: integer(1, MAX_ATTEMPTS),
  deadLetters: flag.meta({ description: "false: a message out of attempts is dropped and counted" }),
  startFrom: z
    .enum(["earliest", "latest"], "must be earliest or latest")
    .meta({ description: "Counts only when the group is made" }),
  paused: flag,
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

export const groupReply = z.strictObject({
  ...settings,
  retry: z.strictObject(retry),
  createdBy: z.enum(["admin", "receive"]),
});

export const deleteGroupQuery = z.strictObject({
  force: flagText.optional().meta({ description: "Also while the group has live subscribers" }),
});

export const heartbeatReply = z.strictObject({ partitions: z.array(z.string()), expiresAt: atTime });

export const groupSummary = z.strictObject({
  group: z.string(),
  backlog: count,
  atLeast: z.literal(true).optional().meta({ description: "backlog is a lower bound" }),
  inFlight: count,
  subscribers: count,
  oldestUnsettledAt: atTime.nullable(),
  expired: count,
  dropped: count,
});

/** Only for a value of another kind: a field that is not known has its own words. */
function expectedObject(issue: { code?: string | undefined }): string | undefined {
  return issue.code === "invalid_type" ? "must be an object" : undefined;
}
