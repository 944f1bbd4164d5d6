import { LOOK_AHEAD_ENTRIES, SWEEP_MS } from "../core/dispatch-limits.ts";
import { isAnybodyAsking } from "./asking.ts";
import { pumpGroup } from "./commands/take.ts";
import { copyDeadLettersSoon } from "./dead-letter-pass.ts";
import type { GroupState } from "./group-state.ts";
import { releaseIdleLeases } from "./idle-leases.ts";
import type { Tenant } from "./tenant.ts";
import { groupName } from "./waiters.ts";

/**
 * The one owner of the object's alarm and of its timer. The alarm does what must happen even if nobody calls:
 * lapses, missed heartbeats, idle leases, dead letters. The timer wakes waiting receives, which live in memory
 * as it does; it is armed only while some wait.
 *
 * Both run the same pass, which may run twice or early: it does what is due and arms again.
 */

/** An alarm that did not fire for so long is set again. */
const LOST_ALARM_MS = 60_000;

/** An instant that has passed waits for work that is under way: a read of the log, a pass. */
const PASSED_PAUSE_MS = 20;

/** Groups visited in one pass; the next pass goes on where time orders it. */
const MAX_PASS_GROUPS = 200;

export class WakeSchedule {
  private readonly tenant: Tenant;
  private cancelTimer: (() => void) | null = null;
  private timerAtMs: number | null = null;
  private readonly lookingAhead = new Set<string>();
  private readonly growthAwaited = new Map<string, Set<() => void>>();
  private readonly pumping = new Map<string, { again: boolean }>();
  /** Counts what may have brought work for somebody: a receive that is about to wait sees what it missed. */
  news = 0;
  private passing: Promise<void> | null = null;

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  /** When time alone changes something in this group; null if never. */
  nextEventAtMs(group: GroupState): number | null {
    if (group.gone) return null;
    const paused = group.record.settings.paused;
    const idleAtMs = group.lanes.idleSinceMs();
    const { leaseDurationMs } = group.record.settings;
    return earliest(
      paused ? null : group.lanes.nextChangeAtMs(),
      !paused && group.lanes.needsCare ? this.tenant.nowMs() : null,
      group.nextExpiryAtMs(),
      group.routes.nextExpiryAtMs(),
      idleAtMs === null ? null : idleAtMs + 2 * leaseDurationMs,
      group.checkpointAtMs,
      // While copies are under way their end says what comes next.
      group.lanes.hasDying && !this.tenant.copyingDeadLetters.has(groupName(group.key))
        ? (group.deadLetterRetryAtMs ?? this.tenant.nowMs())
        : null,
    );
  }

  arm(): void {
    const nowMs = this.tenant.nowMs();
    const eventAtMs = this.tenant.groupsDueAt.peekAtMs();
    if (eventAtMs !== null) {
      const target = Math.max(eventAtMs, nowMs + 1);
      const armed = this.tenant.ports.alarm.get();
      // One that is later than needed is moved, and one that should have fired long ago was lost.
      if (armed === null || armed > target || armed < nowMs - LOST_ALARM_MS)
        this.tenant.ports.alarm.set(target);
    }
    this.armTimer(nowMs, eventAtMs);
  }

  /** When a waiting receive may get lanes that are another's now; pumps groups where that has come. */
  private nextHandOverAtMs(nowMs: number): number | null {
    let earliestAtMs: number | null = null;
    for (const { topic, group: name } of this.tenant.waiters.groups()) {
      const group = this.tenant.loadedGroup(topic, name);
      if (!group) continue;
      if (group.askingEnds.takeDue(nowMs).length > 0) this.pump(group.key);
      earliestAtMs = earliest(earliestAtMs, group.askingEnds.peekAtMs(), group.nextDrainEndAtMs());
    }
    return earliestAtMs;
  }

  /** Resolves at the topic's next growth, at the latest after `maxMs`. */
  nextGrowth(topic: string, maxMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.growthAwaited.get(topic) ?? new Set();
      this.growthAwaited.set(topic, waiting);
      const end = () => {
        cancel();
        waiting.delete(end);
        if (waiting.size === 0 && this.growthAwaited.get(topic) === waiting) this.growthAwaited.delete(topic);
        resolve();
      };
      const cancel = this.tenant.ports.timers.after(maxMs, end);
      waiting.add(end);
    });
  }

  /** A topic has new messages, with offsets from `lowestOffset` on; null: not known from where on. */
  topicGrew(topic: string, lowestOffset: number | null = null): void {
    this.news += 1;
    this.tenant.noteHint(topic, lowestOffset);
    for (const end of [...(this.growthAwaited.get(topic) ?? [])]) end();
    for (const group of this.tenant.waiters.groups()) if (group.topic === topic) this.pump(group);
  }

  /** Tries the waiting receives of a group, soon and once, however often it is called meanwhile. */
  pump(group: { topic: string; group: string }): void {
    this.news += 1;
    if (!this.tenant.waiters.has(group)) return;
    const name = groupName(group);
    const running = this.pumping.get(name);
    if (running) {
      running.again = true;
      return;
    }
    const state = { again: false };
    this.pumping.set(name, state);
    const run = async (): Promise<void> => {
      try {
        do {
          state.again = false;
          await pumpGroup(this.tenant, group);
        } while (state.again);
      } finally {
        this.pumping.delete(name);
        this.arm();
      }
    };
    // Failures reach the waiting receives themselves; nothing is left for this promise to say.
    run().catch((error) => this.tenant.ports.report("pump", error));
  }

  /**
   * Reads on in the background, so that what lies behind deep or stuck lanes is found. Goes on only while
   * somebody asks.
   */
  lookAhead(group: GroupState): void {
    const pauseMs = group.lookAheadPauseMs;
    const name = groupName(group.key);
    if (pauseMs === null || this.lookingAhead.has(name)) return;
    this.lookingAhead.add(name);
    this.tenant.ports.timers.after(pauseMs, () => {
      this.lookingAhead.delete(name);
      this.lookAheadOnce(group.key).catch((error) => this.tenant.ports.report("look-ahead", error));
    });
  }

  private async lookAheadOnce(ref: { topic: string; group: string }): Promise<void> {
    const group = await this.tenant.group(ref.topic, ref.group);
    if (!group || group.lookAheadPauseMs === null) return;
    await this.tenant.reader(ref).read({ lanes: [], tailEntries: LOOK_AHEAD_ENTRIES });
    this.pump(ref);
    if (isAnybodyAsking(this.tenant, group, this.tenant.nowMs())) this.lookAhead(group);
  }

  /** What is due now, over all groups. Never throws: a failing group is reported and tried again. */
  async pass(): Promise<void> {
    this.passing ??= this.passOnce().finally(() => {
      this.passing = null;
    });
    await this.passing;
  }

  private async passOnce(): Promise<void> {
    const { tenant } = this;
    await tenant.allTopics();
    const nowMs = tenant.nowMs();
    for (const waiter of tenant.waiters.takeExpired(nowMs)) this.pump(waiter.input);
    const due = tenant.groupsDueAt.takeDue(nowMs);
    for (const later of due.splice(MAX_PASS_GROUPS)) tenant.groupsDueAt.set(later, nowMs + 1);
    for (const group of due) {
      try {
        await this.visit(group);
      } catch (error) {
        tenant.ports.report("pass", error);
        if (!group.gone) tenant.groupsDueAt.set(group, tenant.nowMs() + 1000);
      }
    }
    for (const group of tenant.waiters.groups()) this.pump(group);
    // One that failed sets the alarm for its next try by itself.
    tenant.activity.retry();
    this.arm();
  }

  private async visit(known: GroupState): Promise<void> {
    const { topic, group: name } = known.key;
    const group = await this.tenant.group(topic, name);
    if (!group) return;
    this.tenant.change(group, (nowMs) => releaseIdleLeases(group, nowMs));
    if (group.lanes.hasDying) await copyDeadLettersSoon(this.tenant, group.key);
    if (group.checkpointAtMs !== null && group.checkpointAtMs <= this.tenant.nowMs())
      this.tenant.checkpoints.start(group.key);
    this.pump(group.key);
  }

  /** A log outside the object is looked at now and then while receives wait: a hint may have been lost. */
  private nextSweepAtMs(): number | null {
    if (this.tenant.embedded) return null;
    let earliestAtMs: number | null = null;
    for (const { topic, group: name } of this.tenant.waiters.groups()) {
      const group = this.tenant.loadedGroup(topic, name);
      if (group) earliestAtMs = earliest(earliestAtMs, group.lastReadAtMs + SWEEP_MS);
    }
    return earliestAtMs;
  }

  private armTimer(nowMs: number, eventAtMs: number | null): void {
    if (this.tenant.waiters.count === 0) {
      this.cancelTimer?.();
      this.cancelTimer = null;
      this.timerAtMs = null;
      return;
    }
    const target = earliest(
      eventAtMs,
      this.tenant.waiters.nextDeadlineAtMs(),
      this.tenant.nextDueAtMs(),
      this.nextHandOverAtMs(nowMs),
      this.tenant.logHealth.resumesAtMs,
      this.nextSweepAtMs(),
    );
    if (target === null || target === this.timerAtMs) return;
    this.cancelTimer?.();
    this.timerAtMs = target;
    this.cancelTimer = this.tenant.ports.timers.after(
      target > nowMs ? target - nowMs : PASSED_PAUSE_MS,
      () => {
        this.timerAtMs = null;
        this.cancelTimer = null;
        this.pass().catch((error) => this.tenant.ports.report("timer", error));
      },
    );
  }
}

function earliest(...instants: (number | null)[]): number | null {
  let first: number | null = null;
  for (const at of instants) if (at !== null && (first === null || at < first)) first = at;
  return first;
}
