import { DueQueue } from "../core/due-queue.ts";
import type { GroupRef, TakeInput, TakeReply } from "../protocol/tenant-calls.ts";

/** A receive that waits inside the object for something to deliver. */
export interface Waiter {
  readonly input: TakeInput;
  readonly deadlineAtMs: number;
  /** Why the last try had nothing, if the log could not be read: said when the wait ends. */
  lastError: unknown;
  readonly settle: (outcome: { reply: TakeReply } | { error: unknown }) => void;
}

/** A receive in its first try: it does not wait yet, but may await the log. */
export interface FirstTry {
  readonly input: TakeInput;
  /** Its subscriber left, or its sender went away: it must not be granted anything any more. */
  isCalledOff: boolean;
}

/** Waiting receives by group, first come first served. Memory only: clients ask again. */
export class Waiters {
  private readonly firstTries = new Set<FirstTry>();
  private readonly byGroup = new Map<string, Set<Waiter>>();
  private readonly byTake = new Map<string, Waiter>();
  /** How many receives of each subscriber wait, by group. */
  private readonly subscribers = new Map<string, Map<string, Set<Waiter>>>();
  private readonly deadlines = new DueQueue<Waiter>();

  get count(): number {
    return this.byTake.size;
  }

  add(waiter: Waiter): void {
    const name = groupName(waiter.input);
    inner(this.byGroup, name, () => new Set<Waiter>()).add(waiter);
    const subscribers = inner(this.subscribers, name, () => new Map<string, Set<Waiter>>());
    inner(subscribers, waiter.input.subscriber, () => new Set<Waiter>()).add(waiter);
    this.byTake.set(waiter.input.takeId, waiter);
    this.deadlines.set(waiter, waiter.deadlineAtMs);
  }

  remove(waiter: Waiter): void {
    const name = groupName(waiter.input);
    const waiting = this.byGroup.get(name);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.byGroup.delete(name);
    const subscribers = this.subscribers.get(name);
    const own = subscribers?.get(waiter.input.subscriber);
    own?.delete(waiter);
    if (own?.size === 0) subscribers?.delete(waiter.input.subscriber);
    if (subscribers?.size === 0) this.subscribers.delete(name);
    this.byTake.delete(waiter.input.takeId);
    this.deadlines.set(waiter, null);
  }

  find(takeId: string): Waiter | undefined {
    return this.byTake.get(takeId);
  }

  of(ref: GroupRef): Waiter[] {
    return [...(this.byGroup.get(groupName(ref)) ?? [])];
  }

  has(ref: GroupRef): boolean {
    return this.byGroup.has(groupName(ref));
  }

  beginTry(input: TakeInput): FirstTry {
    const begun = { input, isCalledOff: false };
    this.firstTries.add(begun);
    return begun;
  }

  endTry(begun: FirstTry): void {
    this.firstTries.delete(begun);
  }

  /** Ends receives at once, whether they wait or are in their first try. */
  callOff(ref: GroupRef, isMeant: (input: TakeInput) => boolean): void {
    for (const waiter of this.of(ref)) {
      if (!isMeant(waiter.input)) continue;
      this.remove(waiter);
      waiter.settle({ reply: NOTHING });
    }
    for (const begun of this.firstTries) {
      const { topic, group } = begun.input;
      if (topic === ref.topic && group === ref.group && isMeant(begun.input)) begun.isCalledOff = true;
    }
  }

  /** Groups in which somebody waits. */
  groups(): GroupRef[] {
    return [...this.byGroup.values()].flatMap((waiting) => {
      const [first] = waiting;
      return first ? [{ topic: first.input.topic, group: first.input.group }] : [];
    });
  }

  isWaiting(ref: GroupRef, subscriber: string): boolean {
    return this.subscribers.get(groupName(ref))?.has(subscriber) ?? false;
  }

  /** Does a receive wait on this route? */
  isAttached(ref: GroupRef, route: string): boolean {
    for (const { input } of this.byGroup.get(groupName(ref)) ?? []) if (input.route === route) return true;
    return false;
  }

  /** Earliest deadline of all. */
  nextDeadlineAtMs(): number | null {
    return this.deadlines.peekAtMs();
  }

  /** Those whose wait is over, once each: whoever asks tries them a last time and ends them. */
  takeExpired(nowMs: number): Waiter[] {
    const expired = this.deadlines.takeDue(nowMs);
    for (const waiter of this.byTake.values()) {
      if (!hasEnded(waiter, nowMs) || expired.includes(waiter)) continue;
      this.deadlines.set(waiter, null);
      expired.push(waiter);
    }
    return expired;
  }
}

/** The reply to a receive that was called off. */
export const NOTHING: TakeReply = { deliveries: [], grants: [], partitions: [], partitionsHeld: 0 };

/** Also when the clock stepped back: nobody waits longer than it asked for from now. */
export function hasEnded({ deadlineAtMs, input }: Waiter, nowMs: number): boolean {
  return deadlineAtMs <= nowMs || deadlineAtMs - nowMs > input.waitMs;
}

function inner<K, V>(outer: Map<K, V>, key: K, make: () => V): V {
  const known = outer.get(key);
  if (known !== undefined) return known;
  const made = make();
  outer.set(key, made);
  return made;
}

export function groupName(ref: GroupRef): string {
  return `${ref.topic}\n${ref.group}`;
}
