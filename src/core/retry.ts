import type { RetrySettings } from "./settings.ts";

/**
 * How long a message waits after its failed delivery number `attempt` (from 1), in whole milliseconds.
 * Grows by `multiplier` from `initialBackoffMs` and stops at `maxBackoffMs`.
 */
export function backoffMs(retry: RetrySettings, attempt: number): number {
  // A power beyond all numbers times nothing would be no number.
  if (retry.initialBackoffMs === 0) return 0;
  const grown = retry.initialBackoffMs * retry.multiplier ** (attempt - 1);
  return Math.floor(Math.min(grown, retry.maxBackoffMs));
}

/** What a dead letter says when no consumer ever gave a reason. */
export const LAPSED_REASON = "retry limit exceeded";
