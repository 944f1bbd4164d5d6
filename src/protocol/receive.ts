import { z } from "zod";
import { MAX_PARTITIONS_SHOWN, MAX_RECEIVE_MESSAGES, MAX_WAIT_MS } from "../core/limits.ts";
import {
  atTime,
  count,
  deadLetter,
  headersReply,
  integer,
  receipt,
  subscriberName,
  visibilityTimeoutMs,
} from "./fields.ts";
import { attachedRoute } from "./routes.ts";

const DEFAULT_RECEIVE_MESSAGES = 10;

export const receiveRequest = z.strictObject({
  subscriber: subscriberName,
  maxMessages: integer(1, MAX_RECEIVE_MESSAGES).default(DEFAULT_RECEIVE_MESSAGES),
  waitMs: integer(0, MAX_WAIT_MS).default(0).meta({ description: "Answers as soon as something is there" }),
  visibilityTimeoutMs: visibilityTimeoutMs.optional().meta({ description: "Absent: the group's" }),
  route: attachedRoute.optional(),
});
export type ReceiveRequest = z.output<typeof receiveRequest>;

export const delivery = z
  .strictObject({
    receipt,
    id: z.string(),
    topic: z.string(),
    partitionKey: z.string(),
    offset: count,
    attempt: z.int().min(1).meta({ description: "Counts deliveries of the message to this group" }),
    body: z.unknown().optional().meta({ description: "The JSON value as it was written at publish" }),
    bodyBase64: z.string().optional().meta({ description: "In place of body, where bytes were published" }),
    contentType: z.string(),
    headers: headersReply,
    publishedAt: atTime,
    visibleUntil: atTime.meta({
      description: "When the message may come again, unless it is settled or extended",
    }),
    leaseEpoch: count.meta({ description: "Grows with each owner of the partition" }),
    deadLetter: deadLetter.optional().meta({ description: "Of a delivery from a dead-letter topic" }),
  })
  .meta({ id: "Delivery", description: "One handing-over of a message; its receipt settles it" });

export const receiveReply = z.strictObject({
  deliveries: z.array(delivery),
  partitions: z
    .array(z.string())
    .meta({ description: `What the subscriber holds now; at most ${MAX_PARTITIONS_SHOWN} of it` }),
  partitionsHeld: count.meta({ description: "How many it holds" }),
});
