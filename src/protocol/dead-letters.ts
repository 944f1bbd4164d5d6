import { z } from "zod";
import { MAX_BATCH_MESSAGES, MAX_EXACT_COUNT } from "../core/limits.ts";
import {
  atTime,
  count,
  groupName,
  integer,
  messageId,
  namedKey,
  offset,
  offsetText,
  pageLimitText,
} from "./fields.ts";

export const deadLettersQuery = z.strictObject({
  after: offsetText
    .default(0)
    .meta({ description: "An offset in the dead-letter topic: go on behind it", override: { default: 0 } }),
  limit: pageLimitText,
});

export const deadLettersReply = z.strictObject({
  deadLetters: z.array(
    z.strictObject({
      id: z.string(),
      partitionKey: z.string(),
      group: z.string(),
      reason: z.string(),
      attempts: count,
      failedAt: atTime,
      offset: offset.meta({ description: "In the dead-letter topic" }),
    }),
  ),
  next: offset.nullable().meta({ description: "For `after`; null at the end" }),
});

export const redriveRequest = z.strictObject({
  ids: z
    .array(z.strictObject({ id: messageId, partitionKey: namedKey }), "must be an array")
    .min(1, "must have at least 1 ID")
    .max(MAX_BATCH_MESSAGES, `must have at most ${MAX_BATCH_MESSAGES} IDs`)
    .optional()
    .meta({ description: "Absent: all" }),
  group: groupName.optional().meta({ description: "Only what this group failed" }),
  limit: integer(1, MAX_EXACT_COUNT).optional().meta({ description: "How many at most" }),
});

export const redriveReply = z.strictObject({ redriven: count });
