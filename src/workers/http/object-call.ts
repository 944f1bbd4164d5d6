import { FairlaneError } from "../../core/failure.ts";
import type { Outcome } from "../../protocol/tenant-calls.ts";
import { type After, beforeDeadline, DeadlinePassed, pause, platformAfter } from "./deadline.ts";

/** How long a call may take, apart from what it was asked to wait. After it the outcome is unknown. */
export const CALL_DEADLINE_MS = 10_000;
const MAX_RETRIES = 2;
const RETRY_PAUSE_MS = 50;

/** Time as the caller sees it; tests pass their own. */
export interface Timing {
  after: After;
  /** 0 to 1. */
  random(): number;
}

export const platformTiming: Timing = { after: platformAfter, random: Math.random };

export interface ObjectCall<Value> {
  /** Called with a new stub each time: one that has failed stays broken. */
  once(): Promise<Outcome<Value>>;
  /** Doing it twice is the same as doing it once, so that a lost call may be tried again. */
  repeatable: boolean;
  deadlineMs: number;
}

/**
 * One call of an object, with a deadline and the platform's rule for trying again. Throws `FairlaneError`: what the object
 * answered, or `store-unavailable` when it could not be reached.
 */
export async function callObject<Value>(call: ObjectCall<Value>, timing: Timing): Promise<Value> {
  for (let attempt = 0; ; attempt++) {
    try {
      const outcome = await beforeDeadline(call.once(), call.deadlineMs, timing.after);
      if (!outcome.ok) throw new FairlaneError(outcome.error);
      return outcome.value;
    } catch (error) {
      if (error instanceof FairlaneError) throw error;
      const mayRetry = call.repeatable && attempt < MAX_RETRIES && isRetryable(error);
      if (!mayRetry) throw asFailure(error);
      await pause(RETRY_PAUSE_MS * 2 ** attempt * (0.5 + timing.random()), timing.after);
    }
  }
}

interface PlatformError {
  retryable?: boolean;
  overloaded?: boolean;
}

function isRetryable(error: unknown): boolean {
  const { retryable, overloaded } = error as PlatformError;
  return retryable === true && overloaded !== true;
}

/** The platform's error classes, once. What is none of them is a fault inside the object. */
function asFailure(error: unknown): unknown {
  if (error instanceof DeadlinePassed) {
    return new FairlaneError({
      code: "store-unavailable",
      detail: "no answer in time; the outcome is unknown",
    });
  }
  const { retryable, overloaded } = error as PlatformError;
  if (overloaded === true)
    return new FairlaneError({ code: "rate-limited", detail: "the tenant is overloaded" });
  if (retryable === true) {
    return new FairlaneError({
      code: "store-unavailable",
      detail: "the connection was lost; the outcome is unknown",
    });
  }
  return error;
}
