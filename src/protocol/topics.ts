import { z } from "zod";
import { MAX_DURATION_MS, MIN_RETENTION_MS } from "../core/limits.ts";
import { atLeast, atTime, count, integer } from "./fields.ts";
import { groupSummary } from "./groups.ts";

const retention = {
  retentionMs: integer(MIN_RETENTION_MS, MAX_DURATION_MS).meta({
    description: "A message and its ID are kept at least so long after publishing",
  }),
  maxRetentionMs: integer(MIN_RETENTION_MS, MAX_DURATION_MS).meta({
    description: "A message goes so long after it was due, settled or not",
  }),
};

export const putTopicRequest = z
  .strictObject(retention)
  .partial()
  .superRefine(({ retentionMs, maxRetentionMs }, context) => {
    if (retentionMs === undefined || maxRetentionMs === undefined || maxRetentionMs >= retentionMs) return;
    context.addIssue({ code: "custom", path: ["maxRetentionMs"], message: "must not be below retentionMs" });
  })
  .meta({
    description:
      "Absent settings keep their value, at first the default. maxRetentionMs is never below retentionMs",
  });

export const topicSettingsReply = z.strictObject(retention);

export const topicReply = z.strictObject({
  topic: z.string(),
  messages: count.meta({ description: "Stored ones" }),
  atLeast,
  partitions: count.meta({ description: "Partition keys with a stored message" }),
  oldestPublishedAt: atTime.nullable(),
  ...retention,
  groups: z.array(groupSummary),
});

export const topicsReply = z.strictObject({
  topics: z.array(z.string()).meta({ description: "In order, dead-letter topics included" }),
});
