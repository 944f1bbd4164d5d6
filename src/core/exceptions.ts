import type { Exception, LaneEntry, Run } from "./lane.ts";

/** How messages become exceptions, see lane.ts. */

/** One message of a run on its own. */
export function deliveredException(run: Run, message: Run["messages"][number]): Exception {
  const { nonce, subscriber, epoch, visibleUntilMs, deliveredAtMs, sortedBy } = run;
  return {
    ...message,
    state: "inFlight",
    attempt: 1,
    atMs: visibleUntilMs,
    nonce,
    subscriber,
    epoch,
    reason: "",
    deliveredAtMs,
    sortedBy,
  };
}

/** A message, delayed, late or inherited, that the walk has to come back for. */
export function arrivedException(entry: LaneEntry): Exception {
  const { offset, bodyBytes, dueAtMs, delayed, sortedBy } = entry;
  return {
    sortedBy,
    offset,
    bodyBytes,
    dueAtMs,
    state: "arrived",
    attempt: 0,
    // One that was not delayed is due whatever the clock says.
    atMs: delayed ? dueAtMs : 0,
    nonce: "",
    subscriber: "",
    epoch: 0,
    reason: "",
  };
}

/** The next delivery carries the same attempt number and comes before anything else of the lane. */
export function givenBack(exception: Exception): Exception {
  const { offset, bodyBytes, dueAtMs, attempt, reason, sortedBy } = exception;
  return {
    offset,
    bodyBytes,
    dueAtMs,
    state: "returned",
    attempt: attempt - 1,
    atMs: 0,
    nonce: "",
    subscriber: "",
    epoch: 0,
    reason,
    sortedBy,
  };
}
