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
import { DEFAULT_CONTENT_TYPE } from "./publish-body.ts";

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
    propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_|~-]+$" },
    additionalProperties: { type: "string", pattern: "^[^\\u0000\\r\\n\\p{Cs}]*$" },
    maxProperties: MAX_HEADERS,
    description:
      `At most ${MAX_HEADERS_BYTES} bytes of UTF-8 in all, names and values together. Names are kept in lower ` +
      "case, and each is there only once, whatever the case of its letters",
  });

/** Whole groups of four, and a last one whose unused bits are zero: text and bytes stand for each other one to one. */
const BASE64_PATTERN = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

export const newMessage = z
  .strictObject({
    id: messageId.optional().meta({
      description:
        "Names the occasion of publishing: the same again is not stored twice. Absent: a UUIDv7 is made, and a retry stores again",
    }),
    partitionKey: publishedKey.optional().meta({
      description: "The unit of order. Absent: one of the spread lanes ~0 to ~15, chosen from the ID",
    }),
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
      .meta({
        description: `Base64 with padding (RFC 4648, section 4). At most ${MAX_BODY_BYTES} bytes once decoded`,
        contentEncoding: "base64",
        pattern: BASE64_PATTERN,
      }),
    contentType: contentType.optional().meta({ default: DEFAULT_CONTENT_TYPE }),
    headers: headers.optional(),
    delayMs: delayMs.optional().meta({ description: "Milliseconds until the message is due", default: 0 }),
  })
  .superRefine((message, context) => {
    const issue = (path: string, text: string) =>
      context.addIssue({ code: "custom", path: [path], message: text });
    const hasBody = "body" in message;
    const hasBytes = "bodyBase64" in message;
    if (hasBody && hasBytes) issue("bodyBase64", "must not stand beside body");
    if (!hasBody && !hasBytes) issue("body", "body or bodyBase64 must be there");
    if ("contentType" in message && !hasBytes) issue("contentType", "stands only beside bodyBase64");
  })
  .meta({
    variants: [
      { title: "JsonMessage", required: "body", without: ["bodyBase64", "contentType"] },
      { title: "BytesMessage", required: "bodyBase64", without: ["body"] },
    ],
  });

export const publishRequest = z
  .strictObject({
    messages: z
      .array(newMessage, "must be an array")
      .min(1, "must have at least 1 message")
      .max(MAX_BATCH_MESSAGES, `must have at most ${MAX_BATCH_MESSAGES} messages`),
  })
  .meta({
    description: `All or nothing. The bodies of a batch have at most ${MAX_BATCH_BODY_BYTES} bytes in all, once decoded`,
  });

export const publishReply = z.strictObject({
  messages: z
    .array(
      z.strictObject({
        id: z.string(),
        partitionKey: z.string(),
        duplicate: z.boolean().meta({ description: "The ID was known: the message stored first stays" }),
      }),
    )
    .meta({ description: "In request order" }),
});
