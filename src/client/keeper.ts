import { MAX_SETTLEMENTS } from "../core/limits.ts";
import { DEFAULT_GROUP_SETTINGS } from "../core/settings.ts";
import { mayPassOnceServed } from "./backoff.ts";
import type { ConsumePhase, SettlementStatus } from "./consume-options.ts";
import type { GroupCalls } from "./group-calls.ts";
import type { HeldDelivery } from "./held-delivery.ts";
import type { GroupSettings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

/** So many looks in the shorter of visibility timeout and lease: several tries fit before either ends. */
const LOOKS = 12;
const MIN_LOOK_MS = 20;
const MAX_LOOK_MS = 5000;
const BEAT_AFTER_PART = 1 / 3;
/** A change of the group's settings is noticed so much later at most. */
const SETTINGS_MAX_AGE_MS = 30_000;
const MAX_EXTEND_TIMEOUT_MS = 10_000;

export interface KeeperPorts {
  /** A delivery ended at the server. */
  onStale(held: HeldDelivery, status: "stale" | "settled" | "invalid"): void;
  onError(error: unknown, phase: ConsumePhase): void;
  onFatal(error: unknown): void;
}

/** Keeps alive what a consumer holds: the visibility of its deliveries, and its leases by heartbeats. */
export class Keeper {
  private readonly calls: GroupCalls;
  private readonly held: ReadonlySet<HeldDelivery>;
  private readonly ports: KeeperPorts;
  private readonly surroundings: Surroundings;
  /** What the user asked for, or null. */
  private readonly chosenMs: number | null;
  private settings: GroupSettings = DEFAULT_GROUP_SETTINGS;
  private settingsAtMs: number | null = null;
  private shortestMs = Number.POSITIVE_INFINITY;
  private beatAtMs = 0;
  private isBeating = false;
  private cancelLook: (() => void) | null = null;
  private readonly closed = new AbortController();

  constructor(
    calls: GroupCalls,
    held: ReadonlySet<HeldDelivery>,
    ports: KeeperPorts,
    surroundings: Surroundings,
    chosenMs: number | null,
  ) {
    this.calls = calls;
    this.held = held;
    this.ports = ports;
    this.surroundings = surroundings;
    this.chosenMs = chosenMs;
  }

  get visibilityTimeoutMs(): number {
    return this.chosenMs ?? this.settings.visibilityTimeoutMs;
  }

  /** Resolves when there are settings to go by; rejects where the first ones cannot be read. Old ones are renewed. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.settingsAtMs === null) await this.readSettings(signal);
    else this.renewOld();
  }

  /** The subscriber called, by a request that was sent then. */
  beat(sentAtMs: number): void {
    this.beatAtMs = Math.max(this.beatAtMs, sentAtMs);
  }

  /** Something is held now. */
  watch(): void {
    if (this.cancelLook !== null || this.held.size === 0 || this.closed.signal.aborted) return;
    this.cancelLook = this.surroundings.after(this.lookMs(), () => {
      this.cancelLook = null;
      this.look();
      this.watch();
    });
  }

  /** At once, for a handler that asks for it. Never rejects. */
  async extendNow(held: HeldDelivery, visibilityTimeoutMs: number): Promise<SettlementStatus> {
    if (held.staleAs !== null) return held.staleAs;
    this.shortestMs = Math.min(this.shortestMs, visibilityTimeoutMs);
    this.cancelLook?.();
    this.cancelLook = null;
    this.watch();
    const [status = "unknown"] = await this.extend([held], visibilityTimeoutMs);
    return status;
  }

  /** Ends every call under way. */
  close(): void {
    this.cancelLook?.();
    this.cancelLook = null;
    this.closed.abort();
  }

  private lookMs(): number {
    const shortestMs = Math.min(this.visibilityTimeoutMs, this.settings.leaseDurationMs, this.shortestMs);
    return Math.min(MAX_LOOK_MS, Math.max(MIN_LOOK_MS, shortestMs / LOOKS));
  }

  private look(): void {
    const nowMs = this.surroundings.nowMs();
    const due = [...this.held].filter(
      ({ isOpen, isExtending, extendAtMs }) => isOpen && !isExtending && extendAtMs <= nowMs + this.lookMs(),
    );
    for (let from = 0; from < due.length; from += MAX_SETTLEMENTS) {
      void this.extend(due.slice(from, from + MAX_SETTLEMENTS), this.visibilityTimeoutMs);
    }
    const beatDueMs = this.beatAtMs + this.settings.leaseDurationMs * BEAT_AFTER_PART;
    if (due.length === 0 && beatDueMs <= nowMs && !this.isBeating) void this.sendBeat(nowMs);
    this.renewOld();
  }

  /** In the background. What fails is tried again when it would be due anyway. */
  private renewOld(): void {
    const nowMs = this.surroundings.nowMs();
    if (this.settingsAtMs === null || nowMs - this.settingsAtMs < SETTINGS_MAX_AGE_MS) return;
    this.settingsAtMs = nowMs;
    this.readSettings(this.closed.signal).catch((error: unknown) => this.failed(error, "settings"));
  }

  private async readSettings(signal: AbortSignal): Promise<void> {
    const nowMs = this.surroundings.nowMs();
    this.settings = await this.calls.settings(signal);
    this.settingsAtMs = nowMs;
  }

  /** The server's answers; none where there was none. */
  private async extend(
    due: readonly HeldDelivery[],
    visibilityTimeoutMs: number,
  ): Promise<SettlementStatus[]> {
    const sentAtMs = this.surroundings.nowMs();
    for (const held of due) held.isExtending = true;
    try {
      const settlements = due.map(({ delivery: { receipt } }) => ({
        receipt,
        action: "extend" as const,
        visibilityTimeoutMs,
      }));
      const timeoutMs = Math.min(MAX_EXTEND_TIMEOUT_MS, visibilityTimeoutMs * BEAT_AFTER_PART);
      const results = await this.calls.settle(settlements, this.closed.signal, timeoutMs);
      this.beat(sentAtMs);
      for (const [i, held] of due.entries()) {
        const status = results[i]?.status ?? "ok";
        if (status === "ok") held.extended(sentAtMs, visibilityTimeoutMs);
        // Decided meanwhile: its own settlement says what became of it.
        else if (held.isOpen) this.ports.onStale(held, status);
      }
      return results.map(({ status }) => status);
    } catch (error) {
      // Tried again at the next look.
      this.failed(error, "extend");
      return [];
    } finally {
      for (const held of due) held.isExtending = false;
    }
  }

  private async sendBeat(nowMs: number): Promise<void> {
    this.isBeating = true;
    try {
      await this.calls.heartbeat(this.closed.signal);
      this.beat(nowMs);
    } catch (error) {
      this.failed(error, "heartbeat");
    } finally {
      this.isBeating = false;
    }
  }

  private failed(error: unknown, phase: ConsumePhase): void {
    if (this.closed.signal.aborted) return;
    if (mayPassOnceServed(error)) this.ports.onError(error, phase);
    else this.ports.onFatal(error);
  }
}
