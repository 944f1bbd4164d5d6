import { z } from "zod";
import {
  DEAD_LETTER_SUFFIX,
  MAX_CONTENT_TYPE_CHARS,
  MAX_DELAY_MS,
  MAX_GROUP_CHARS,
  MAX_KEY_CODE_POINTS,
  MAX_PAGE,
  MAX_ROUTE_CHARS,
  MAX_SUBSCRIBER_CHARS,
  MAX_TENANT_CHARS,
  MAX_TOPIC_CHARS,
  MAX_VISIBILITY_TIMEOUT_MS,
  MIN_VISIBILITY_TIMEOUT_MS,
  SPREAD_LANES,
} from "../core/limits.ts";
import {
  groupProblem,
  keyProblem,
  namedKeyProblem,
  publishedKeyProblem,
  routeProblem,
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

// The patterns are what the document says of these checks, in ECMA-262 with Unicode: nothing runs them here.
const NAME_PATTERN = "^[a-z0-9][a-z0-9._-]*$";
const TOPIC_PATTERN = `^[a-z0-9][a-z0-9._-]{0,${MAX_TOPIC_CHARS - 1}}(${DEAD_LETTER_SUFFIX})?$`;
const ORIGINAL_TOPIC_PATTERN = `^(?!.*${DEAD_LETTER_SUFFIX}$)[a-z0-9][a-z0-9._-]{0,${MAX_TOPIC_CHARS - 1}}$`;

export const tenantName = checked(tenantProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: MAX_TENANT_CHARS,
  description: "A configured tenant",
});
export const topicName = checked(topicProblem).meta({
  pattern: TOPIC_PATTERN,
  minLength: 1,
  maxLength: MAX_TOPIC_CHARS + DEAD_LETTER_SUFFIX.length,
  description: `At most ${MAX_TOPIC_CHARS} characters, not counting the \`${DEAD_LETTER_SUFFIX}\` that ends a dead-letter topic's name`,
});
/** For the document: the calls that refuse dead-letter topics do it in their routes. */
export const originalTopicName = topicName.meta({
  pattern: ORIGINAL_TOPIC_PATTERN,
  minLength: 1,
  maxLength: MAX_TOPIC_CHARS,
  description: `No dead-letter topic: the name does not end in \`${DEAD_LETTER_SUFFIX}\``,
});
export const groupName = checked(groupProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: MAX_GROUP_CHARS,
  description: "A consumer group of the topic",
});
export const subscriberName = checked(subscriberProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: MAX_SUBSCRIBER_CHARS,
  description: "One member of the group",
});

export const routeName = checked(routeProblem).meta({
  pattern: NAME_PATTERN,
  minLength: 1,
  maxLength: MAX_ROUTE_CHARS,
  description: "A route of the group",
});

const KEY_RULES = "well-formed Unicode, no NUL, no space at the end, compared byte for byte";
/** A lone surrogate is of the category Cs; one of a pair is not seen as such by a pattern with Unicode. */
const KEY_TAIL = "[^\\u0000\\p{Cs}]*[^\\u0000\\p{Cs} ]";
const PUBLISHED_KEY = `(?!~)${KEY_TAIL}`;
/** `~0` to `~15`, by as many alternatives as lanes: no number of them is written here. */
const SPREAD_LANE = `~(${Array.from({ length: SPREAD_LANES }, (_, lane) => lane).join("|")})`;

export const messageId = checked(keyProblem).meta({
  pattern: `^${KEY_TAIL}$`,
  minLength: 1,
  maxLength: MAX_KEY_CODE_POINTS,
  description: `Names the occasion of publishing and deduplicates within the partition: ${KEY_RULES}`,
});
export const publishedKey = checked(publishedKeyProblem).meta({
  minLength: 1,
  maxLength: MAX_KEY_CODE_POINTS,
  pattern: `^${PUBLISHED_KEY}$`,
  description: `The unit of order: ${KEY_RULES}; a first character ~ is reserved`,
});
export const NAMED_KEY_PATTERN = `^(${SPREAD_LANE}|${PUBLISHED_KEY})$`;
export const namedKey = checked(namedKeyProblem).meta({
  pattern: NAMED_KEY_PATTERN,
  minLength: 1,
  maxLength: MAX_KEY_CODE_POINTS,
  description: `A partition key, or one of the spread lanes ~0 to ~${SPREAD_LANES - 1}`,
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

export const delayMs = integer(0, MAX_DELAY_MS).meta({ description: "Milliseconds from now" });
export const visibilityTimeoutMs = integer(MIN_VISIBILITY_TIMEOUT_MS, MAX_VISIBILITY_TIMEOUT_MS).meta({
  description: "Milliseconds for which nobody else gets the message",
});
/** Opaque, and as long as its partition key makes it: only the request's own size bounds it. */
export const receipt = z.string("must be a string").meta({ description: "Opaque; names one delivery" });
export const offset = integer(0, Number.MAX_SAFE_INTEGER).meta({
  description: "A place in the topic's log. Offsets grow but are not dense: never subtract them",
});
export const offsetText = integerText(0, Number.MAX_SAFE_INTEGER);
export const pageLimitText = integerText(1, MAX_PAGE)
  .default(MAX_PAGE)
  .meta({ description: "How many at most", override: { default: MAX_PAGE } });
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

export const atTime = z.int().min(0).meta({ description: "Milliseconds since the epoch" });
export const count = z.int().min(0);
export const atLeast = z
  .literal(true)
  .optional()
  .meta({ description: "The number beside it is a lower bound" });
export const deadLetter = z
  .strictObject({
    originalTopic: z.string(),
    originalId: z.string(),
    group: z.string().meta({ description: "The group that gave up on it" }),
    failedAt: atTime,
    attempts: count,
    reason: z.string().meta({ description: "Of the last failure" }),
  })
  .meta({ id: "DeadLetter", description: "Where a dead letter comes from, and why it is one" });
export const headersReply = z.record(z.string(), z.string()).meta({ description: "Names in lower case" });
