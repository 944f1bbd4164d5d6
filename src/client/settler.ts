import { MAX_SETTLEMENTS } from "../core/limits.ts";
import { askedWaitMs, backoffMs, mayPassOnceServed, wasNotDone } from "./backoff.ts";
import type { SettlementStatus } from "./consume-options.ts";
import type { Settlement, SettleResult } from "./delivery.ts";
import type { Decision, HeldDelivery } from "./held-delivery.ts";
import { asOurs } from "./settle-call.ts";
import { pause, type Surroundings } from "./surroundings.ts";

/** A receipt works after its visibility until another delivery takes its place: worth trying for so long. */
const GIVE_UP_AFTER_MS = 60_000;
const BOUNDS = { initialMs: 50, maxMs: 5000 };

/** After a nack or a postponement that counted, its own repetition is stale: which it was, nobody can tell. */
function repeatedStatus(result: SettleResult, { action }: Decision): SettlementStatus {
  if (result.status === "stale" && (action === "nack" || action === "postpone")) return "unknown";
  return asOurs(result, action).status;
}

export interface SettlerPorts {
  settle(settlements: Settlement[], signal: AbortSignal): Promise<SettleResult[]>;
  /** Once for each decision. */
  onOutcome(held: HeldDelivery, status: SettlementStatus): void;
  /** A try failed and is made again, or what it held was given up. */
  onError(error: unknown): void;
  /** A failure that does not pass. */
  onFatal(error: unknown): void;
}

interface Entry {
  held: HeldDelivery;
  decision: Decision;
  /** An earlier try may have been carried out. */
  isRepeat: boolean;
  giveUpAtMs: number;
  resolve: (status: SettlementStatus) => void;
}

/**
 * Sends decisions, at most 100 a request and one request at a time: the first goes at once, and what comes while it
 * is under way goes together. A request that failed goes again, with what came meanwhile, until each decision has an
 * answer or its delivery's visibility is long past: then its outcome is `unknown`.
 */
export class Settler {
  private readonly ports: SettlerPorts;
  private readonly surroundings: Surroundings;
  private queue: Entry[] = [];
  private underWay: Entry[] = [];
  private isPumping = false;
  private readonly closed = new AbortController();
  private whenEmpty: (() => void)[] = [];

  constructor(ports: SettlerPorts, surroundings: Surroundings) {
    this.ports = ports;
    this.surroundings = surroundings;
  }

  /** Decisions without an answer. */
  get size(): number {
    return this.queue.length + this.underWay.length;
  }

  /** Resolves with the outcome; never rejects. */
  add(held: HeldDelivery, decision: Decision): Promise<SettlementStatus> {
    return new Promise((resolve) => {
      const giveUpAtMs = Math.max(held.visibleUntilMs, this.surroundings.nowMs()) + GIVE_UP_AFTER_MS;
      this.queue.push({ held, decision, isRepeat: false, giveUpAtMs, resolve });
      if (this.isPumping) return;
      this.isPumping = true;
      // After the current turn, so that decisions of one turn share a request.
      queueMicrotask(() => void this.pump());
    });
  }

  /** Resolves when every decision has its outcome: after `withinMs` at the latest. */
  async drain(withinMs: number): Promise<void> {
    if (this.size === 0) return;
    const empty = new Promise<void>((resolve) => this.whenEmpty.push(resolve));
    const cancel = this.surroundings.after(withinMs, () => this.closed.abort());
    await empty;
    cancel();
  }

  private async pump(): Promise<void> {
    let failures = 0;
    while (this.queue.length > 0 && !this.closed.signal.aborted) {
      this.underWay = this.queue.splice(0, MAX_SETTLEMENTS);
      try {
        const settlements = this.underWay.map(({ decision }) => decision);
        const results = await this.ports.settle(settlements, this.closed.signal);
        failures = 0;
        this.answered(results);
      } catch (error) {
        if (this.closed.signal.aborted) break;
        if (!mayPassOnceServed(error)) {
          this.ports.onFatal(error);
          break;
        }
        this.takeBack(wasNotDone(error));
        this.ports.onError(error);
        await this.waitFor(backoffMs(BOUNDS, failures++, this.surroundings.fraction(), askedWaitMs(error)));
        this.giveUpOld();
      }
    }
    const left = [...this.underWay, ...this.queue];
    this.underWay = [];
    this.queue = [];
    this.isPumping = false;
    this.giveUp(left);
    for (const resolve of this.whenEmpty.splice(0)) resolve();
  }

  private answered(results: readonly SettleResult[]): void {
    const entries = this.underWay;
    this.underWay = [];
    for (const [i, { held, decision, isRepeat, resolve }] of entries.entries()) {
      const result = results[i];
      const status =
        result === undefined ? "unknown" : isRepeat ? repeatedStatus(result, decision) : result.status;
      resolve(status);
      this.ports.onOutcome(held, status);
    }
  }

  private takeBack(wasNotCarriedOut: boolean): void {
    for (const entry of this.underWay) entry.isRepeat ||= !wasNotCarriedOut;
    this.queue = [...this.underWay, ...this.queue];
    this.underWay = [];
  }

  private giveUpOld(): void {
    const nowMs = this.surroundings.nowMs();
    const isOld = ({ giveUpAtMs }: Entry) => giveUpAtMs <= nowMs;
    const old = this.queue.filter(isOld);
    this.queue = this.queue.filter((entry) => !isOld(entry));
    this.giveUp(old);
  }

  private giveUp(entries: readonly Entry[]): void {
    for (const { held, resolve } of entries) {
      resolve("unknown");
      this.ports.onOutcome(held, "unknown");
    }
  }

  /** Closing ends the wait. */
  private async waitFor(delayMs: number): Promise<void> {
    await pause(delayMs, this.surroundings.after, this.closed.signal).catch((reason: unknown) => {
      if (!this.closed.signal.aborted) throw reason;
    });
  }
}
