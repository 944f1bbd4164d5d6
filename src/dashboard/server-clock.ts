/** Smaller differences are the age of what was read, not a wrong clock. */
const TOLERATED_MS = 10_000;
const OBSERVATIONS = 30;

/**
 * The server's clock as the page can know it: by the times in its replies, each of which is at most some seconds old.
 * A browser whose clock is right shows its own time; one whose clock is wrong still shows right ages.
 */
export class ServerClock {
  private readonly localNowMs: () => number;
  private aheadMs: number[] = [];

  constructor(localNowMs: () => number) {
    this.localNowMs = localNowMs;
  }

  /** `atMs`: a time of the server that was the present a moment ago. */
  observe(atMs: number): void {
    this.aheadMs = [...this.aheadMs, atMs - this.localNowMs()].slice(-OBSERVATIONS);
  }

  nowMs(): number {
    // The least delayed of them is the nearest to the truth.
    const aheadMs = this.aheadMs.length === 0 ? 0 : Math.max(...this.aheadMs);
    return this.localNowMs() + (Math.abs(aheadMs) > TOLERATED_MS ? aheadMs : 0);
  }
}
