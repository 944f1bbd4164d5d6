import type { MessageLog } from "../log/message-log.ts";

/** Below this the difference is the time that an answer took, not that of the clocks. */
const NOTABLE_MS = 50;

/**
 * How the log's clock, by which messages are due and age, stands to the object's. A read of the log tells its time;
 * between reads the difference is taken to last. Durations cross between the two clocks, instants do not.
 */
export class LogClock {
  readonly commitHorizonMs: number;
  private ahead = 0;
  /** A read has told the log's time: before that nothing may be taken to be due. */
  isKnown: boolean;

  constructor(log: Pick<MessageLog, "commitHorizonMs">) {
    this.commitHorizonMs = log.commitHorizonMs;
    // Without a horizon the log is in the object, and has its clock.
    this.isKnown = log.commitHorizonMs === 0;
  }

  /** Milliseconds by which the log's clock is ahead. */
  get aheadMs(): number {
    return this.ahead;
  }

  logNowMs(nowMs: number): number {
    return nowMs + this.ahead;
  }

  /** A read that just ended saw this time. Returns whether that changed anything. */
  note(logMs: number, nowMs: number): boolean {
    this.isKnown = true;
    const aheadMs = logMs - nowMs;
    if (Math.abs(aheadMs - this.ahead) < NOTABLE_MS) return false;
    this.ahead = Math.abs(aheadMs) < NOTABLE_MS ? 0 : aheadMs;
    return true;
  }
}
