import { z } from "zod";
import { MAX_DURATION_MS } from "../core/limits.ts";
import { atLeast, atTime, count, integerText, namedKey, offset, pageLimitText } from "./fields.ts";

/** How far a group is in its partitions, and who holds them. */

export const lagQuery = z.strictObject({
  after: namedKey
    .optional()
    .meta({ description: "A partition key: go on behind it. Absent: from the first" }),
  limit: pageLimitText,
});

export const lagReply = z.strictObject({
  partitions: z.array(
    z.strictObject({
      partitionKey: z.string(),
      acked: offset.meta({ description: "The watermark, an offset" }),
      latest: offset,
      lag: count.meta({ description: "Messages that the group has not settled" }),
      atLeast,
    }),
  ),
  next: z.string().nullable().meta({ description: "For `after`; null at the end" }),
});

export const resetOffsetRequest = z.strictObject({
  partitionKey: namedKey,
  offset: offset.meta({ description: "Deliveries start behind it; 0 is the beginning" }),
});

export const resetOffsetReply = z.strictObject({ partitionKey: z.string(), acked: offset });

export const leasesQuery = z.strictObject({
  staleForMs: integerText(0, MAX_DURATION_MS)
    .optional()
    .meta({ description: "Only leases that were not renewed for so long" }),
});

export const leasesReply = z.strictObject({
  leases: z.array(
    z.strictObject({
      partitionKey: z.string(),
      subscriber: z.string(),
      epoch: count.meta({ description: "Grows with each owner of the partition" }),
      acquiredAt: atTime,
      renewedAt: atTime,
      expiresAt: atTime,
    }),
  ),
});

export const leaseQuery = z.strictObject({ partitionKey: namedKey });

export const collectReply = z.strictObject({
  deletedMessages: count,
  releasedPartitions: count,
  stopped: z.enum(["done", "limit"]).meta({ description: "limit: there is more to do" }),
});

export const healthReply = z.strictObject({ status: z.literal("ok"), version: z.string() });
