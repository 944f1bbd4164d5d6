import { z } from "zod";
import { MAX_PAGE } from "../core/limits.ts";
import {
  atTime,
  count,
  deadLetter,
  headersReply,
  integerText,
  messageId,
  namedKey,
  offset,
  offsetText,
  pageLimitText,
} from "./fields.ts";

/** What an operator sees of messages that are stored. */

export const listMessagesQuery = z
  .strictObject({
    partitionKey: namedKey.optional(),
    after: offsetText
      .optional()
      .meta({ description: "An offset: go on behind it; absent: from the beginning" }),
    limit: pageLimitText,
    last: integerText(1, MAX_PAGE)
      .optional()
      .meta({ description: "In place of limit, and not beside after: only so many, those at the end" }),
  })
  .superRefine(({ after, last }, context) => {
    if (after === undefined || last === undefined) return;
    context.addIssue({ code: "custom", path: ["last"], message: "cannot be given together with after" });
  });

export const messageQuery = z.strictObject({ id: messageId, partitionKey: namedKey });
export const getMessageQuery = messageQuery.extend({
  offset: offsetText.optional().meta({
    description: "Which one, where there are several of this ID and key: redriven copies, dead letters",
  }),
});

const messageView = z
  .strictObject({
    id: z.string(),
    topic: z.string(),
    partitionKey: z.string(),
    offset,
    publishedAt: atTime,
    dueAt: atTime.meta({ description: "Later than publishedAt where it was delayed" }),
    bodyBytes: count,
    contentType: z.string(),
    headers: headersReply,
    targetGroup: z
      .string()
      .optional()
      .meta({ description: "Of a redriven message: the only group that receives it" }),
    deadLetter: deadLetter.optional(),
  })
  .meta({ id: "StoredMessage" });

export const messageReply = messageView.extend({
  body: z.unknown().optional().meta({ description: "The JSON value as it was written at publish" }),
  bodyBase64: z.string().optional().meta({ description: "In place of body, where bytes were published" }),
});

export const messagesReply = z.strictObject({
  messages: z.array(messageView),
  next: offset.nullable().meta({ description: "For `after`; null at the end" }),
});

export const deletedReply = z.strictObject({ deleted: count });
