import { FairlaneApiError } from "../client/fairlane.ts";

/** Time as a poller sees it; the page's own, or a test's. */
export interface PollTimers {
  nowMs(): number;
  /** Returns what cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

export interface PollerOptions<T> {
  read(): Promise<T>;
  onReply(reply: T): void;
  /** `retryAtMs` null: refused, and refused again as long as the question is the same. It is not asked by itself. */
  onFailure(error: unknown, retryAtMs: number | null): void;
  /** From one reply to the next request; null: asks only when told to, and again after a failure that may pass. */
  intervalMs: number | null;
  timers: PollTimers;
}

const FIRST_RETRY_MS = 2000;
const MAX_RETRY_MS = 30_000;

/**
 * Asks for one kind of thing again and again.
 *
 * At most one request is under way and at most one timer is set, whatever is called how often. `round` names the
 * question: a reply to one that was given up meanwhile is dropped, and the next request waits for it all the same.
 */
export class Poller<T> {
  private readonly options: PollerOptions<T>;
  private running = false;
  private asking = false;
  /** The request under way is to be followed by another at once. */
  private again = false;
  private round = 0;
  private failures = 0;
  private cancelTimer: (() => void) | null = null;

  constructor(options: PollerOptions<T>) {
    this.options = options;
  }

  /** Asks what `read` reads now; an answer to what it read before counts no more. */
  start(): void {
    this.running = true;
    this.failures = 0;
    this.round += 1;
    this.askNow();
  }

  stop(): void {
    this.running = false;
    this.again = false;
    this.round += 1;
    this.clearTimer();
  }

  /** The next request now in place of later. The one under way still counts: whoever asks often gets replies too. */
  askNow(): void {
    if (!this.running) return;
    this.clearTimer();
    if (this.asking) this.again = true;
    else void this.ask();
  }

  private async ask(): Promise<void> {
    const { round } = this;
    this.asking = true;
    this.again = false;
    let delayMs: number | null = null;
    try {
      const reply = await this.options.read();
      if (round === this.round) {
        this.failures = 0;
        delayMs = this.options.intervalMs;
        this.options.onReply(reply);
      }
    } catch (error) {
      if (round === this.round) delayMs = this.failed(error);
    }
    this.asking = false;
    if (!this.running) return;
    if (this.again) void this.ask();
    else if (delayMs !== null) this.askIn(delayMs);
  }

  private failed(error: unknown): number | null {
    if (isRefusal(error)) {
      this.options.onFailure(error, null);
      return null;
    }
    const delayMs = Math.max(retryDelayMs(this.failures), wantedDelayMs(error));
    this.failures += 1;
    this.options.onFailure(error, this.options.timers.nowMs() + delayMs);
    return delayMs;
  }

  private askIn(delayMs: number): void {
    this.clearTimer();
    this.cancelTimer = this.options.timers.after(delayMs, () => {
      this.cancelTimer = null;
      void this.ask();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}

/** The server has understood the question, and says no. What it says of its own state may pass, and so may a proxy's page. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof FairlaneApiError) || error.code === "unexpected-reply") return false;
  return error.status < 500 && error.status !== 429;
}

function retryDelayMs(failures: number): number {
  return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
}

/** What the server asked for with Retry-After, within reason. */
function wantedDelayMs(error: unknown): number {
  if (typeof error !== "object" || error === null || !("retryAfterMs" in error)) return 0;
  const { retryAfterMs } = error;
  return typeof retryAfterMs === "number" ? Math.min(MAX_RETRY_MS, Math.max(0, retryAfterMs)) : 0;
}
