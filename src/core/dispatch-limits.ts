/** Bounds of dispatch inside the tenant object, each with its reason. */

/** Failed or postponed messages of a lane that may wait at once; beyond, the lane takes no fresh ones. */
export const MAX_LANE_EXCEPTIONS = 1000;
/** The same for a whole group: memory of the object. */
export const MAX_GROUP_EXCEPTIONS = 50_000;
/** Lanes with something unsettled that a group keeps at once: memory of the object (some 300 bytes each). */
export const MAX_GROUP_LANES = 50_000;
/** Entries cached ahead of a lane; as many as one receive may ask for. */
export const MAX_WINDOW_ENTRIES = 100;
/** Smallest page of a tail read: a receive for one message sees a few lanes. */
export const MIN_TAIL_ENTRIES = 16;
/** Lanes looked at for one receive, for each message that it asks for. */
export const LANES_PER_MESSAGE = 4;
/** Reads of the log that one receive may wait for. */
export const MAX_READ_ROUNDS = 16;
/** Lanes read one by one in one round. */
export const MAX_LANE_READS = 100;
/**
 * While fewer lanes than this have work, a receive reads on before it grants, and passes look further ahead in
 * the log quickly: what lies behind a few deep or stuck lanes must not wait for them.
 */
export const FEW_LANES = 32;
/** From here on passes look ahead no more: so many lanes in turn are fair enough, and each costs memory. */
export const ENOUGH_LANES = 10_000;
export const LOOK_AHEAD_ENTRIES = 500;
/** What a receive reads on for itself. */
export const LOOK_AHEAD_NOW_ENTRIES = 200;
export const LOOK_AHEAD_PAUSE_MS = 20;
export const SLOW_LOOK_AHEAD_PAUSE_MS = 250;
/** Backoff of reads after the log failed. */
export const MIN_LOG_BACKOFF_MS = 100;
export const MAX_LOG_BACKOFF_MS = 3000;
/** Dead letters copied in one statement batch. */
export const MAX_DEAD_LETTER_COPIES = 100;
/** A copy that failed is tried again after this, doubling up to the log's backoff. */
export const DEAD_LETTER_RETRY_MS = 1000;
