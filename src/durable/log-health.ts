import { MAX_LOG_BACKOFF_MS, MIN_LOG_BACKOFF_MS } from "../core/dispatch-limits.ts";
import { FairlaneError, fail } from "../core/failure.ts";
import type { Ports } from "./ports.ts";

/**
 * Whether the log can be read. After a failed read nothing is granted from it until the backoff has
 * passed, so that an unreachable log costs no deliveries and is not hammered. Memory only: after a
 * restart the first read finds out.
 */
export class LogHealth {
  private readonly ports: Ports;
  private failures = 0;
  private retryAtMs: number | null = null;

  constructor(ports: Ports) {
    this.ports = ports;
  }

  /** When reads may be tried again; null while the log is fine. */
  get resumesAtMs(): number | null {
    return this.retryAtMs;
  }

  /** Runs a read unless the log is backing off. Throws `store-unavailable`. */
  async read<T>(act: () => Promise<T>): Promise<T> {
    const nowMs = this.ports.clock.nowMs();
    // A clock that stepped back must not stretch the pause beyond its longest.
    if (this.retryAtMs !== null && nowMs < this.retryAtMs && this.retryAtMs - nowMs <= MAX_LOG_BACKOFF_MS) {
      fail("store-unavailable", "the message log cannot be read at the moment", {
        retryAfterMs: this.retryAtMs - nowMs,
      });
    }
    try {
      const value = await act();
      this.failures = 0;
      this.retryAtMs = null;
      return value;
    } catch (error) {
      if (!(error instanceof FairlaneError) || error.failure.code !== "store-unavailable") throw error;
      this.noteFailure();
      throw error;
    }
  }

  /** A read failed, here or at the edge. */
  noteFailure(): void {
    const backoffMs = Math.min(MAX_LOG_BACKOFF_MS, MIN_LOG_BACKOFF_MS * 2 ** Math.min(this.failures, 10));
    this.failures += 1;
    this.retryAtMs = this.ports.clock.nowMs() + backoffMs;
  }
}
