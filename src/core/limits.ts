/**
 * Every bound of the product, with its reason. Units are last in each name.
 * Relations between them are asserted in test/unit/limits.test.ts.
 */

/** A body fits a SQLite row (2 MB) and a MEDIUMBLOB with room for its other columns. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** One publish request; in hex it stays under MySQL's usual max_allowed_packet of 16 MiB. */
export const MAX_BATCH_BODY_BYTES = 4 * 1024 * 1024;
export const MAX_BATCH_MESSAGES = 100;
/** A request body on the wire: base64 grows bodies by a third, plus envelopes and escaped keys. */
export const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
export const MAX_HEADERS = 64;
export const MAX_HEADERS_BYTES = 8 * 1024;
export const MAX_CONTENT_TYPE_CHARS = 255;
export const MAX_REASON_CHARS = 1000;
export const MAX_TENANT_CHARS = 64;
export const MAX_TOPIC_CHARS = 124;
export const MAX_GROUP_CHARS = 128;
export const MAX_SUBSCRIBER_CHARS = 128;
/** Code points, not UTF-16 units: 255 four-byte characters are 1020 bytes of an index key. */
export const MAX_KEY_CODE_POINTS = 255;
export const MAX_DELAY_MS = 7 * 24 * 3600 * 1000;
export const SPREAD_LANES = 16;

export const MAX_TOPICS_PER_TENANT = 1000;
export const MAX_GROUPS_PER_TOPIC = 100;
export const MAX_SUBSCRIBERS_PER_GROUP = 1000;
export const MAX_WAITING_RECEIVES = 1000;

export const MAX_RECEIVE_MESSAGES = 100;
export const MAX_WAIT_MS = 20_000;
export const MAX_REPLY_BYTES = 8 * 1024 * 1024;
export const MAX_SETTLEMENTS = 100;
export const MAX_PAGE = 100;
export const MAX_PARTITIONS_SHOWN = 100;
/** Counts for people are exact up to here, then a lower bound. */
export const MAX_EXACT_COUNT = 10_000;

export const MIN_VISIBILITY_TIMEOUT_MS = 1000;
export const MAX_VISIBILITY_TIMEOUT_MS = 12 * 3600 * 1000;
export const MIN_LEASE_DURATION_MS = 1000;
export const MIN_RETENTION_MS = 1000;
export const MAX_IN_FLIGHT_PER_PARTITION = 1000;
export const MAX_ATTEMPTS = 1000;
/** Upper end of durations that a user sets; keeps every sum of two of them an exact integer. */
export const MAX_DURATION_MS = 10 * 365 * 24 * 3600 * 1000;
export const DEAD_LETTER_RETENTION_MS = 14 * 24 * 3600 * 1000;
export const DEAD_LETTER_SUFFIX = "_dlq";

export const MAX_ROUTE_CHARS = 64;
/** Of one group: each message is asked of all of them at once. */
export const MAX_ROUTES_PER_GROUP = 20;
export const MIN_ROUTE_TTL_MS = 1000;
export const MAX_ROUTE_TTL_MS = 24 * 3600 * 1000;
/** A client renews thrice in it; a closed laptop gives its messages back after it. */
export const DEFAULT_ROUTE_TTL_MS = 30_000;

/** The embedded log refuses to publish beyond this; the platform stops at 10 GB. */
export const MAX_EMBEDDED_BYTES = 8 * 1000 * 1000 * 1000;
/** A deleted group's name is not made again by a receive for this long. */
export const GROUP_TOMBSTONE_MS = 60_000;
/** A subscriber still counts as asking this long after its last receive ended. */
export const ASKING_GRACE_MS = 2000;
