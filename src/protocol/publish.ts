import { z } from "zod";
import {
  MAX_BATCH_BODY_BYTES,
  MAX_BATCH_MESSAGES,
  MAX_BODY_BYTES,
  MAX_HEADERS,
  MAX_HEADERS_BYTES,
} from "../core/limits.ts";
import { decodeBase64 } from "./base64.ts";
import { contentType, delayMs, messageId, publishedKey } from "./fields.ts";
import { isJsonObject } from "./json-spans.ts";
import { headerIssues } from "./message-headers.ts";

/**
 * The documented source of what a publish request may be. The hot path validates by hand
 * (publish-body.ts); test/property holds the two to the same verdicts.
 */

const headers = z
  .custom<Record<string, unknown>>(isJsonObject, "must be an object of strings")
  .superRefine((value, context) => {
    for (const issue of headerIssues(Object.entries(value))) {
      context.addIssue({
        code: "custom",
        message: issue.message,
        path: issue.name === null ? [] : [issue.name],
      });
    }
  })
  .meta({
    type: "object",
    additionalProperties: { type: "string" },
    maxProperties: MAX_HEADERS,
    description:
      `At most ${MAX_HEADERS_BYTES} bytes in all. Names are kept in lower case, ` +
      "[a-z0-9!#$%&'*+.^_|~-]+; values hold no CR, LF or NUL",
  });

export const newMessage = z
  .strictObject({
    id: messageId.optional().meta({ description: "Absent: a UUIDv7 is made, and a retry stores again" }),
    partitionKey: publishedKey
      .optional()
      .meta({ description: "Absent: a spread lane ~0 to ~15, chosen from the ID" }),
    body: z
      .unknown()
      .optional()
      .meta({
        description: `Any JSON value, kept as its source text. At most ${MAX_BODY_BYTES} bytes of UTF-8`,
      }),
    bodyBase64: z
      .string("must be a string")
      .refine((text) => decodeBase64(text) !== null, "must be base64 with padding (RFC 4648, section 4)")
      .optional()
      .meta({ description: `At most ${MAX_BODY_BYTES} bytes once decoded`, contentEncoding: "base64" }),
    contentType: contentType
      .optional()
      .meta({ description: "Only with bodyBase64; application/octet-stream if absent" }),
    headers: headers.optional(),
    delayMs: delayMs.optional(),
  })
  .superRefine((message, context) => {
    const issue = (path: string, text: string) =>
      context.addIssue({ code: "custom", path: [path], message: text });
    const hasBody = "body" in message;
    const hasBytes = "bodyBase64" in message;
    if (hasBody && hasBytes) issue("bodyBase64", "must not stand beside body");
    if (!hasBody && !hasBytes) issue("body", "body or bodyBase64 must be there");
    if ("contentType" in message && !hasBytes) issue("contentType", "stands only beside bodyBase64");
  });

export const publishRequest = z
  .strictObject({
    messages: z
      .array(newMessage, "must be an array")
      .min(1, "must have at least 1 message")
      .max(MAX_BATCH_MESSAGES, `must have at most ${MAX_BATCH_MESSAGES} messages`),
  })
  .meta({ description: `All or nothing. Bodies have at most ${MAX_BATCH_BODY_BYTES} bytes in all` });

export const publishReply = z.strictObject({
  messages: z
    .array(z.strictObject({ id: z.string(), partitionKey: z.string(), duplicate: z.boolean() }))
    .meta({ description: "In request order" }),
});
