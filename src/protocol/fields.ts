import { z } from "zod";
import {
  MAX_CONTENT_TYPE_CHARS,
  MAX_DELAY_MS,
  MAX_KEY_CODE_POINTS,
  MAX_PAGE,
  MAX_TENANT_CHARS,
  MAX_VISIBILITY_TIMEOUT_MS,
  MIN_VISIBILITY_TIMEOUT_MS,
} from "../core/limits.ts";
import {
  groupProblem,
  keyProblem,
  namedKeyProblem,
  publishedKeyProblem,
  subscriberProblem,
  tenantProblem,
  topicProblem,
} from "../core/names.ts";

/** The fields that several requests and replies share. */

function checked(problemOf: (text: string) => string | null) {
  return z.string("must be a string").superRefine((text, context) => {
    const problem = problemOf(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });
}

const NAME_PATTERN = "^[a-z0-9][a-z0-9._-]*$";

export const tenantName = checked(tenantProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: MAX_TENANT_CHARS,
  description: "A configured tenant",
});
export const topicName = checked(topicProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: 128,
  description: "At most 124 characters, not counting the `_dlq` that ends a dead-letter topic's name",
});
export const groupName = checked(groupProblem).meta({ pattern: NAME_PATTERN, minLength: 1, maxLength: 128 });
export const subscriberName = checked(subscriberProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: 128,
});

const KEY_RULES = "well-formed Unicode, no NUL, no space at the end, compared byte for byte";

export const messageId = checked(keyProblem).meta({
  minLength: 1,
  maxLength: MAX_KEY_CODE_POINTS,
  description: `Names the occasion of publishing and deduplicates within the partition: ${KEY_RULES}`,
});
export const publishedKey = checked(publishedKeyProblem).meta({
  minLength: 1,
  maxLength: MAX_KEY_CODE_POINTS,
  pattern: "^[^~]",
  description: `The unit of order: ${KEY_RULES}; a first character ~ is reserved`,
});
export const namedKey = checked(namedKeyProblem).meta({
  minLength: 1,
  maxLength: MAX_KEY_CODE_POINTS,
  description: "A partition key, or one of the spread lanes ~0 to ~15",
});

export function integer(min: number, max: number) {
  return z.int("must be an integer").min(min, `must be at least ${min}`).max(max, `must be at most ${max}`);
}

/** In a query everything is text: the same bounds on decimal digits. */
export function integerText(min: number, max: number) {
  return z
    .string()
    .superRefine((text, context) => {
      const value = /^(0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
      if (!(value >= min && value <= max)) {
        context.addIssue({ code: "custom", message: `must be an integer from ${min} to ${max}` });
      }
    })
    .meta({ override: { type: "integer", minimum: min, maximum: max } })
    .transform(Number);
}

export const delayMs = integer(0, MAX_DELAY_MS);
export const visibilityTimeoutMs = integer(MIN_VISIBILITY_TIMEOUT_MS, MAX_VISIBILITY_TIMEOUT_MS);
/** Opaque, and as long as its partition key makes it: only the request's own size bounds it. */
export const receipt = z.string("must be a string").meta({ description: "Opaque; names one delivery" });
export const offset = integer(0, Number.MAX_SAFE_INTEGER);
export const offsetText = integerText(0, Number.MAX_SAFE_INTEGER);
export const pageLimitText = integerText(1, MAX_PAGE)
  .default(MAX_PAGE)
  .meta({ description: `Absent: ${MAX_PAGE}` });
export const flagText = checked((text) => (/^(true|false)$/.test(text) ? null : "must be true or false"))
  .meta({ override: { type: "boolean" } })
  .transform((text) => text === "true");

/** A media type as one HTTP header line can carry it. */
export const contentType = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(MAX_CONTENT_TYPE_CHARS, `must have at most ${MAX_CONTENT_TYPE_CHARS} characters`)
  .regex(/^[!-~]([ -~]*[!-~])?$/, "must be printable ASCII");

// Replies. They document what is written; nothing validates them at run time.

export const atTime = z.int().meta({ description: "Milliseconds since the epoch" });
export const count = z.int().min(0);
export const atLeast = z
  .literal(true)
  .optional()
  .meta({ description: "The number beside it is a lower bound" });
export const deadLetter = z.strictObject({
  originalTopic: z.string(),
  originalId: z.string(),
  group: z.string(),
  failedAt: atTime,
  attempts: count,
  reason: z.string(),
});
export const headersReply = z.record(z.string(), z.string());
