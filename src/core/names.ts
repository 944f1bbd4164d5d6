import {
  DEAD_LETTER_SUFFIX,
  MAX_GROUP_CHARS,
  MAX_KEY_CODE_POINTS,
  MAX_ROUTE_CHARS,
  MAX_SUBSCRIBER_CHARS,
  MAX_TENANT_CHARS,
  MAX_TOPIC_CHARS,
  SPREAD_LANES,
} from "./limits.ts";

/**
 * Which names, keys and IDs exist. Each check answers null, or what is wrong in words that fit behind
 * the field's name.
 */
const NAME_PATTERN_SOURCE = "[a-z0-9][a-z0-9._-]*";
const NAME_PATTERN = /^[a-z0-9][a-z0-9._-]*$/;

export function nameProblem(name: string, maxChars: number): string | null {
  if (name.length === 0) return "must not be empty";
  if (name.length > maxChars) return `must have at most ${maxChars} characters`;
  return NAME_PATTERN.test(name) ? null : `must match ${NAME_PATTERN_SOURCE}`;
}

export function tenantProblem(tenant: string): string | null {
  return nameProblem(tenant, MAX_TENANT_CHARS);
}

/** A dead-letter topic may be longer by its suffix, so that every topic can have one. */
export function topicProblem(topic: string): string | null {
  const own = topic.endsWith(DEAD_LETTER_SUFFIX) ? topic.slice(0, -DEAD_LETTER_SUFFIX.length) : topic;
  if (own === "" && topic !== "") return `must have something before ${DEAD_LETTER_SUFFIX}`;
  return nameProblem(own, MAX_TOPIC_CHARS);
}

export function groupProblem(group: string): string | null {
  return nameProblem(group, MAX_GROUP_CHARS);
}

export function subscriberProblem(subscriber: string): string | null {
  return nameProblem(subscriber, MAX_SUBSCRIBER_CHARS);
}

export function routeProblem(route: string): string | null {
  return nameProblem(route, MAX_ROUTE_CHARS);
}

/** Message IDs, and partition keys but for the reserved ones. */
export function keyProblem(key: string): string | null {
  if (key.length === 0) return "must not be empty";
  if (hasMoreCodePoints(key, MAX_KEY_CODE_POINTS)) {
    return `must have at most ${MAX_KEY_CODE_POINTS} Unicode code points`;
  }
  if (!key.isWellFormed()) return "must be well-formed Unicode: it holds a lone surrogate";
  if (key.includes("\0")) return "must not hold NUL";
  // MySQL's binary collation pads with spaces: a key and the same key with one more would be equal.
  if (key.endsWith(" ")) return "must not end with a space";
  return null;
}

/** A partition key that a producer chooses. */
export function publishedKeyProblem(partitionKey: string): string | null {
  if (partitionKey.startsWith("~")) return "must not start with ~, which is reserved";
  return keyProblem(partitionKey);
}

/** A partition key that a consumer or an operator names: the spread lanes can be named as well. */
export function namedKeyProblem(partitionKey: string): string | null {
  return isSpreadLane(partitionKey) ? null : publishedKeyProblem(partitionKey);
}

export function isSpreadLane(partitionKey: string): boolean {
  if (!/^~(0|[1-9][0-9]?)$/.test(partitionKey)) return false;
  return Number(partitionKey.slice(1)) < SPREAD_LANES;
}

/** Stops counting at the limit, so that a long text costs no more than a short one. */
function hasMoreCodePoints(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > 2 * max) return true;
  let count = 0;
  for (const _ of text) if (++count > max) return true;
  return false;
}
