import { backoffMs, mayPassOnceServed } from "./backoff.ts";
import type { ConsumePhase, OwnRoutePlan } from "./consume-options.ts";
import { FairlaneApiError } from "./errors.ts";
import type { GroupCalls } from "./group-calls.ts";
import { endOrTime, type Surroundings } from "./surroundings.ts";

/** Two renewals may fail before the route expires. */
const RENEW_PART = 1 / 3;
const FIRST_RETRY_PART = 1 / 24;
/** A renewal under way may start the route anew behind its end: it is waited for so long. */
const LAST_RENEWAL_MS = 3000;
const END_MS = 3000;

export interface RouteKeeperPorts {
  onError(error: unknown, phase: ConsumePhase): void;
  onFatal(error: unknown): void;
}

/**
 * A consumer's own route.
 *
 *   absent   not started yet, or a receive did not find it: it is put before the next receive
 *   there    renewed after each third of its time, whatever else renews it: a handler may run for longer than its time
 *            while nobody receives
 *   closed   ended, or left to its expiry; nothing is sent any more
 *
 * If the process dies, the route expires, and what it has not settled goes back.
 */
export class RouteKeeper {
  private readonly route: OwnRoutePlan;
  private readonly calls: GroupCalls;
  private readonly ports: RouteKeeperPorts;
  private readonly surroundings: Surroundings;
  private readonly closed = new AbortController();
  private isThere = false;
  /** Also after a PUT without an answer. */
  private mayBeThere = false;
  private renewing: Promise<void> = Promise.resolve();
  private cancelRenewal: (() => void) | null = null;
  private failures = 0;
  private isClosing = false;

  constructor(route: OwnRoutePlan, calls: GroupCalls, ports: RouteKeeperPorts, surroundings: Surroundings) {
    this.route = route;
    this.calls = calls;
    this.ports = ports;
    this.surroundings = surroundings;
  }

  /** Resolves when there is a route to receive on; rejects where it cannot be started. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.isThere) return;
    await this.put(signal);
    this.isThere = true;
    this.renewAfter(this.route.ttlMs * RENEW_PART);
  }

  /** A receive did not find it: the server lost it, or somebody ended it. */
  lost(): void {
    this.isThere = false;
  }

  /** Resolves when it is ended, unless it is to be kept. Never rejects. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.cancelRenewal?.();
    await endOrTime(this.renewing, LAST_RENEWAL_MS, this.surroundings.after);
    this.closed.abort();
    if (this.route.keep || !this.mayBeThere) return;
    const controller = new AbortController();
    const late = new Error(`not within ${END_MS} ms`);
    const cancel = this.surroundings.after(END_MS, () => controller.abort(late));
    try {
      await this.calls.endRoute(controller.signal);
    } catch (error) {
      // It expires.
      this.ports.onError(error, "route");
    } finally {
      cancel();
    }
  }

  private renewAfter(delayMs: number): void {
    this.cancelRenewal?.();
    if (this.isClosing) return;
    this.cancelRenewal = this.surroundings.after(delayMs, () => {
      this.renewing = this.renew();
    });
  }

  private async renew(): Promise<void> {
    const { ttlMs } = this.route;
    try {
      await this.put(this.closed.signal);
      this.failures = 0;
      this.renewAfter(ttlMs * RENEW_PART);
    } catch (error) {
      if (this.isClosing) return;
      if (!mayPassOnceServed(error)) return this.ports.onFatal(error);
      this.ports.onError(error, "route");
      const bounds = { initialMs: ttlMs * FIRST_RETRY_PART, maxMs: ttlMs * RENEW_PART };
      this.renewAfter(backoffMs(bounds, this.failures++, this.surroundings.fraction(), null));
    }
  }

  private async put(signal: AbortSignal): Promise<void> {
    const { filter, ttlMs } = this.route;
    const before = this.mayBeThere;
    this.mayBeThere = true;
    try {
      await this.calls.putRoute({ filter, ttlMs }, signal, ttlMs * RENEW_PART);
    } catch (error) {
      if (error instanceof FairlaneApiError && error.status < 500) this.mayBeThere = before;
      throw error;
    }
  }
}
