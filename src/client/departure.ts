import type { GroupCalls } from "./group-calls.ts";
import { endOrTime, pause, type Surroundings } from "./surroundings.ts";

const LEAVE_MS = 3000;
/** Leaving ends a receive that waits at the server; one that is on its way there, or reads the log, has so long. */
const LAST_RECEIVE_MS = 250;
/** So long after a receive was called off the server may still be at it, and grant what nobody will be given. */
const CALLED_OFF_MS = 250;

/** The receive of a consumer that stops. */
export interface LastReceive {
  /** Ends with it, or at once where none is open. */
  ended: Promise<void>;
  /** When it was called off without an answer, by the client's clock; null: it was not. */
  calledOffAtMs(): number | null;
  callOff(): void;
  /** It was answered with deliveries that nobody will handle. */
  hasDeliveries(): boolean;
}

/**
 * Leaves the group for good. Leaving ends what the subscriber holds, and a receive that waits; but a receive that the
 * server gets, or answers, behind it makes the subscriber known again and may be granted something. So the receive is
 * let end first, and left again where it could have been granted anything.
 *
 * @param report is told why leaving failed; what is held lapses then
 */
export async function depart(
  calls: GroupCalls,
  receive: LastReceive,
  surroundings: Surroundings,
  report: (error: unknown) => void,
): Promise<void> {
  const { nowMs, after } = surroundings;
  await leaveOnce(calls, surroundings, report);
  await endOrTime(receive.ended, LAST_RECEIVE_MS, after);
  receive.callOff();
  await receive.ended;
  const calledOffAtMs = receive.calledOffAtMs();
  const waitMs = calledOffAtMs === null ? 0 : calledOffAtMs + CALLED_OFF_MS - nowMs();
  if (waitMs > 0) await pause(waitMs, after);
  if (waitMs > 0 || receive.hasDeliveries()) await leaveOnce(calls, surroundings, report);
}

async function leaveOnce(
  calls: GroupCalls,
  { after }: Surroundings,
  report: (error: unknown) => void,
): Promise<void> {
  const controller = new AbortController();
  const cancel = after(LEAVE_MS, () => controller.abort(new Error(`not within ${LEAVE_MS} ms`)));
  try {
    await calls.leave(controller.signal);
  } catch (error) {
    report(error);
  } finally {
    cancel();
  }
}
