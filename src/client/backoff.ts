import { FairlaneApiError, FairlaneNetworkError } from "./errors.ts";

/** How long to wait before the next try: grows with each failure in a row, and is never the same twice. */
export interface BackoffBounds {
  initialMs: number;
  maxMs: number;
}

const FACTOR = 2;
/** More would not change the wait any more, and would overflow some day. */
const MAX_STEPS = 30;
/** A wait that the server asked for is kept, and lengthened by up to this part, so that not all come back at once. */
const SPREAD = 0.2;

/**
 * @param step failures in a row before this one, from 0
 * @param fraction chance, from 0 up to 1
 * @param askedMs what the server asked to wait, or null
 */
export function backoffMs(
  { initialMs, maxMs }: BackoffBounds,
  step: number,
  fraction: number,
  askedMs: number | null,
): number {
  const fullMs = Math.min(maxMs, initialMs * FACTOR ** Math.min(step, MAX_STEPS));
  const jitteredMs = fullMs * (0.5 + fraction / 2);
  return askedMs === null ? jitteredMs : Math.max(jitteredMs, askedMs * (1 + SPREAD * fraction));
}

/** What the server asked to wait, or null. */
export function askedWaitMs(error: unknown): number | null {
  return error instanceof FairlaneApiError ? error.retryAfterMs : null;
}

/** May the same request succeed later, as it is? */
export function mayPass(error: unknown): boolean {
  if (error instanceof FairlaneNetworkError) return true;
  return error instanceof FairlaneApiError && (error.status === 429 || error.status >= 500);
}

/**
 * The same of one who has been served already: then an answer that is not this API's comes from something on the way
 * that is out of order for a while, and not from a wrong address.
 */
export function mayPassOnceServed(error: unknown): boolean {
  return mayPass(error) || (error instanceof FairlaneApiError && error.code === "unexpected-reply");
}

/** The request certainly was not carried out. */
export function wasNotDone(error: unknown): boolean {
  if (error instanceof FairlaneNetworkError) return !error.outcomeUnknown;
  return error instanceof FairlaneApiError && error.status === 429;
}
