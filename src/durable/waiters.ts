import type { TakeInput, TakeReply } from "../protocol/tenant-calls.ts";

/** A receive that waits inside the object for something to deliver. */
export interface Waiter {
  readonly input: TakeInput;
  readonly deadlineAtMs: number;
  /** Why the last try had nothing, if the log could not be read: said when the wait ends. */
  lastError: unknown;
  readonly settle: (outcome: { reply: TakeReply } | { error: unknown }) => void;
}

/** Waiting receives by group, first come first served. Memory only: clients ask again. */
export class Waiters {
  private readonly byGroup = new Map<string, Set<Waiter>>();
  private readonly byTake = new Map<string, Waiter>();

  get count(): number {
    return this.byTake.size;
  }

  add(waiter: Waiter): void {
    const name = groupName(waiter.input);
    const waiting = this.byGroup.get(name) ?? new Set<Waiter>();
    waiting.add(waiter);
    this.byGroup.set(name, waiting);
    this.byTake.set(waiter.input.takeId, waiter);
  }

  remove(waiter: Waiter): void {
    const name = groupName(waiter.input);
    const waiting = this.byGroup.get(name);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.byGroup.delete(name);
    this.byTake.delete(waiter.input.takeId);
  }

  find(takeId: string): Waiter | undefined {
    return this.byTake.get(takeId);
  }

  of(ref: { topic: string; group: string }): Waiter[] {
    return [...(this.byGroup.get(groupName(ref)) ?? [])];
  }

  has(ref: { topic: string; group: string }): boolean {
    return this.byGroup.has(groupName(ref));
  }

  /** Groups in which somebody waits. */
  groups(): { topic: string; group: string }[] {
    return [...this.byGroup.values()].flatMap((waiting) => {
      const [first] = waiting;
      return first ? [{ topic: first.input.topic, group: first.input.group }] : [];
    });
  }

  isWaiting(ref: { topic: string; group: string }, subscriber: string): boolean {
    for (const waiter of this.byGroup.get(groupName(ref)) ?? []) {
      if (waiter.input.subscriber === subscriber) return true;
    }
    return false;
  }

  subscribersOf(ref: { topic: string; group: string }): Set<string> {
    const names = new Set<string>();
    for (const waiter of this.byGroup.get(groupName(ref)) ?? []) names.add(waiter.input.subscriber);
    return names;
  }

  /** Earliest deadline of all. */
  nextDeadlineAtMs(): number | null {
    let earliest: number | null = null;
    for (const { deadlineAtMs } of this.byTake.values()) {
      if (earliest === null || deadlineAtMs < earliest) earliest = deadlineAtMs;
    }
    return earliest;
  }

  expired(nowMs: number): Waiter[] {
    return [...this.byTake.values()].filter((waiter) => waiter.deadlineAtMs <= nowMs);
  }
}

export function groupName(ref: { topic: string; group: string }): string {
  return `${ref.topic}\n${ref.group}`;
}
