import { z } from "zod";
import {
  atTime,
  count,
  deadLetter,
  headersReply,
  messageId,
  namedKey,
  offset,
  offsetText,
  pageLimitText,
} from "./fields.ts";

/** What an operator sees of messages that are stored. */

export const listMessagesQuery = z.strictObject({
  partitionKey: namedKey.optional(),
  after: offsetText.default(0).meta({ description: "An offset: go on behind it" }),
  limit: pageLimitText,
});

export const messageQuery = z.strictObject({ id: messageId, partitionKey: namedKey });

const messageView = z.strictObject({
  id: z.string(),
  topic: z.string(),
  partitionKey: z.string(),
  offset,
  publishedAt: atTime,
  dueAt: atTime,
  bodyBytes: count,
  contentType: z.string(),
  headers: headersReply,
  targetGroup: z
    .string()
    .optional()
    .meta({ description: "Of a redriven message: the only group that receives it" }),
  deadLetter: deadLetter.optional(),
});

export const messageReply = messageView.extend({
  body: z.unknown().optional(),
  bodyBase64: z.string().optional(),
});

export const messagesReply = z.strictObject({
  messages: z.array(messageView),
  next: offset.nullable().meta({ description: "For `after`; null at the end" }),
});

export const deletedReply = z.strictObject({ deleted: count });
