/** Bounds of dispatch inside the tenant object, each with its reason. */

/** Failed or postponed messages of a lane that may wait at once; beyond, the lane takes no fresh ones. */
export const MAX_LANE_EXCEPTIONS = 1000;
/** The same for a whole group: memory of the object. */
export const MAX_GROUP_EXCEPTIONS = 50_000;
/** Lanes with something unsettled that a group keeps at once: memory of the object (some 300 bytes each). */
export const MAX_GROUP_LANES = 50_000;
/**
 * Lanes of all routes of a group together. One that would go beyond ends the route with the most of them: a developer at
 * a breakpoint must not use up what the application needs.
 */
export const MAX_ROUTE_LANES = 10_000;
/** Failed or postponed messages of one route that may wait at once. */
export const MAX_ROUTE_EXCEPTIONS = 2000;
/** Undelivered messages that become rows at once when a route ends; what is beyond is read when its turn comes. */
export const MAX_MERGED_ENTRIES = 1000;
/** With more ranges pending in a lane no further route begins: each that ends may add two. */
export const MAX_PENDING_RANGES = 24;
/** Filters of ended routes that are kept at most; beyond, no further route begins. */
export const MAX_ENDED_ROUTES = 100;
/** Waiting messages that are asked of a new route in one read. */
export const MAX_SORTED_MESSAGES = 500;
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

/** Settled offsets of a lane that wait for the next checkpoint: some ten kilobytes of its row. */
export const MAX_UNSAVED_OFFSETS = 2000;
/** So many make the checkpoint due at once. */
export const MANY_UNSAVED_OFFSETS = 500;
/** From the first settlement to the checkpoint that has it: design.md promises five seconds. */
export const CHECKPOINT_DELAY_MS = 3500;
/** Partitions saved in one statement batch. */
export const MAX_CHECKPOINT_PARTITIONS = 500;
/**
 * How long before the last read an offset may have been given and still be found by the next one without a hint: each
 * read begins so far back. A publish that took the log longer says so in its hint (`AppendOutcome.late`).
 */
export const TAIL_OVERLAP_MS = 30;
/** The first read of an object's life, which knows no hints, begins so far back. */
export const FIRST_TAIL_OVERLAP_MS = 5000;
/** A confirming read comes when this part of the commit horizon has passed since the last one. */
export const CONFIRMS_PER_HORIZON = 16;
/** Pages of one confirming read; the rest comes with the next. */
export const MAX_CONFIRM_PAGES = 8;
/** Pages read again from a hint on, and how often hints that come meanwhile make one read begin anew. */
export const MAX_REREAD_PAGES = 40;
export const MAX_REREADS = 3;
/** Bytes of known offsets that stand in the group's own row, which is written at each read. */
export const MAX_ROW_KNOWN_BYTES = 2048;
/** A receive that may wait gives a hint this long to come before it reads the log for itself. */
export const HINT_LINGER_MS = 8;
/** While receives wait, the log is looked at this often, for hints that were lost. */
export const SWEEP_MS = 5000;
