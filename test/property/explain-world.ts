import fc from "fast-check";
import type { GroupSettings } from "../../src/core/settings.ts";
import type { CommandInput, CommandName, CommandValue } from "../../src/durable/engine.ts";
import type { NewMessage } from "../../src/log/message-log.ts";
import type { Explanation, Settlement } from "../../src/protocol/tenant-calls.ts";

/** One group on an engine, played by random steps, with what each message's last delivery says of it. */

export const SUBSCRIBERS = ["ann", "bob", "cid"] as const;
const KEYS = 4;
export const TOPIC = "t";
export const GROUP = "g";
const ASKING_GRACE_MS = 2000;
const LEASE_MS = 3000;

interface Handed {
  receipt: string;
  partitionKey: string;
  offset: number;
  attempt: number;
  visibleUntil: number;
}

/** What a world needs of the bench that it runs on; both benches have it. */
export interface Place {
  nowMs: number;
  /** Where messages may appear late in the log: how long the next ones take. */
  openMs?: number;
  call<N extends CommandName>(name: N, input: CommandInput<N>): Promise<CommandValue<N>>;
  publish(topic: string, messages: readonly Partial<NewMessage>[]): Promise<unknown>;
  putGroup(topic: string, group: string, settings: Partial<GroupSettings>): Promise<unknown>;
  take(topic: string, group: string, more: Partial<CommandInput<"take">>): Promise<Handed[]>;
  advance(ms: number): Promise<void>;
  log: { listMessages(topic: string, read: { afterOffset: number; maxEntries: number }): Promise<Stored[]> };
}

interface Stored {
  id: string;
  partitionKey: string;
  offset: number;
  dueAtMs: number;
}

const who = fc.constantFrom(...SUBSCRIBERS);
const which = fc.nat(30);
const shortMs = fc.constantFrom(0, 1, 300, 900, 1500, 4000);

export type Step =
  | { kind: "publish"; key: number; count: number; delayMs: number; openMs: number }
  | { kind: "take"; subscriber: string; maxMessages: number; visibilityTimeoutMs: number }
  | { kind: "wait"; subscriber: string; waitMs: number }
  | { kind: "settle"; action: Settlement["action"]; which: number; ms: number }
  | { kind: "ackAll" }
  | { kind: "giveBack" | "release"; which: number }
  | { kind: "heartbeat" | "leave"; subscriber: string }
  | { kind: "pass"; ms: number }
  | { kind: "settings"; maxInFlightPerPartition: number; paused: boolean };

export const publishSteps = fc.record({
  kind: fc.constant("publish" as const),
  key: fc.nat(KEYS - 1),
  count: fc.integer({ min: 1, max: 4 }),
  openMs: fc.constantFrom(0, 0, 0, 250),
  delayMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: shortMs }),
});
export const takeSteps = fc.record({
  kind: fc.constant("take" as const),
  subscriber: who,
  maxMessages: fc.integer({ min: 1, max: 5 }),
  visibilityTimeoutMs: fc.constantFrom(1000, 1700, 20_000),
});
const settle = fc.record({
  kind: fc.constant("settle" as const),
  action: fc.constantFrom(
    "ack" as const,
    "ack" as const,
    "nack" as const,
    "nack" as const,
    "postpone" as const,
    "reject" as const,
    "extend" as const,
  ),
  which,
  ms: shortMs,
});
const settings = fc.record({
  kind: fc.constant("settings" as const),
  maxInFlightPerPartition: fc.constantFrom(1, 2, 3, 10),
  paused: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: publishSteps },
    { weight: 7, arbitrary: takeSteps },
    { weight: 7, arbitrary: settle },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("wait" as const),
        subscriber: who,
        waitMs: fc.constantFrom(500, 5000),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: shortMs }) },
    { weight: 1, arbitrary: settings },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom("giveBack" as const, "release" as const), which }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom("heartbeat" as const, "heartbeat" as const, "leave" as const),
        subscriber: who,
      }),
    },
  ),
  { minLength: 3, maxLength: 40 },
);

/** What became of a message, as far as its last delivery tells. */
export type Known =
  | { kind: "delivered"; subscriber: string; attempt: number; sinceMs: number; untilMs: number }
  | { kind: "postponed" | "backingOff"; untilMs: number }
  | { kind: "acked" | "rejected" };

export class ExplainWorld {
  readonly place: Place;
  readonly known = new Map<number, Known>();
  private readonly askedAtMs = new Map<string, number>();
  private readonly aliveUntilMs = new Map<string, number>();
  /** Deliveries whose receipts may still work. */
  private readonly handed: (Handed & { subscriber: string })[] = [];
  private publishing = 0;
  /** Receives that wait, by subscriber. */
  private readonly waiting: string[] = [];
  private published = 0;

  constructor(place: Place) {
    this.place = place;
  }

  get hasWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** `maxRetentionMs` null: no message grows too old. */
  async begin(maxRetentionMs: number | null): Promise<void> {
    if (maxRetentionMs !== null)
      await this.place.call("putTopic", { topic: TOPIC, settings: { retentionMs: 1000, maxRetentionMs } });
    await this.place.putGroup(TOPIC, GROUP, { leaseDurationMs: LEASE_MS, maxAttempts: 2 });
    await this.place.publish(TOPIC, [{ id: "first", partitionKey: "k0" }]);
  }

  async play(step: Step): Promise<void> {
    const at = { topic: TOPIC, group: GROUP };
    switch (step.kind) {
      case "publish":
        await this.publish(step);
        return;
      case "take":
        await this.take(step.subscriber, step.maxMessages, step.visibilityTimeoutMs);
        return;
      case "wait":
        this.wait(step.subscriber, step.waitMs);
        return;
      case "settle":
        await this.settle(step.action, step.which, step.ms);
        return;
      case "ackAll":
        while (this.handed.length > 0) await this.settle("ack", 0, 0);
        return;
      case "giveBack":
        await this.giveBack(step.which);
        return;
      case "release":
        // Nobody may hold it: that is refused and changes nothing.
        await this.place
          .call("releaseLease", { ...at, partitionKey: `k${step.which % KEYS}` })
          .catch(() => null);
        return;
      case "heartbeat":
        await this.place.call("heartbeat", { ...at, subscriber: step.subscriber });
        this.beat(step.subscriber);
        return;
      case "leave":
        await this.leave(step.subscriber);
        return;
      case "pass":
        await this.place.advance(step.ms);
        return;
      case "settings": {
        const { maxInFlightPerPartition, paused } = step;
        await this.place.putGroup(TOPIC, GROUP, { maxInFlightPerPartition, paused });
        // Settings are read into a new cache: who asked is forgotten with the old one.
        this.askedAtMs.clear();
      }
    }
  }

  /** Passes the time that messages take which are still on their way to the log, and what waits for its turn. */
  async rest(): Promise<void> {
    await this.place.advance(0);
    for (let wait = 0; wait < 100 && this.publishing > 0; wait += 1) await this.place.advance(10);
  }

  messages(): Promise<Stored[]> {
    return this.place.log.listMessages(TOPIC, { afterOffset: 0, maxEntries: 1000 });
  }

  explain({ partitionKey, offset }: Stored): Promise<Explanation> {
    return this.place.call("explain", { topic: TOPIC, group: GROUP, partitionKey, id: null, offset });
  }

  /** All of them at one instant, by offset; looked at twice, since looking reads on. */
  async explainAll(messages: readonly Stored[]): Promise<Map<number, Explanation>> {
    const explained = new Map<number, Explanation>();
    for (let look = 0; look < 2; look += 1) {
      for (const message of messages) explained.set(message.offset, await this.explain(message));
    }
    return explained;
  }

  /** Subscribers that count as asking now. */
  asking(): string[] {
    const { nowMs } = this.place;
    return SUBSCRIBERS.filter((name) => {
      if (this.waiting.includes(name)) return true;
      const askedAtMs = this.askedAtMs.get(name) ?? Number.NEGATIVE_INFINITY;
      return askedAtMs + ASKING_GRACE_MS > nowMs && (this.aliveUntilMs.get(name) ?? 0) > nowMs;
    });
  }

  async take(subscriber: string, maxMessages: number, visibilityTimeoutMs: number): Promise<number[]> {
    const handed = await this.place.take(TOPIC, GROUP, { subscriber, maxMessages, visibilityTimeoutMs });
    return this.noteHanded(subscriber, handed, visibilityTimeoutMs);
  }

  /** Passes so much time, in which these go on asking, without taking anything. */
  async passAsking(ms: number, subscribers: readonly string[]): Promise<void> {
    const endMs = this.place.nowMs + ms;
    for (;;) {
      for (const subscriber of subscribers)
        await this.place.take(TOPIC, GROUP, { subscriber, maxMessages: 0, visibilityTimeoutMs: null });
      const leftMs = endMs - this.place.nowMs;
      if (leftMs <= 0) return;
      await this.place.advance(subscribers.length === 0 ? leftMs : Math.min(leftMs, ASKING_GRACE_MS / 2));
    }
  }

  private wait(subscriber: string, waitMs: number): void {
    this.waiting.push(subscriber);
    const visibilityTimeoutMs = 1700;
    const more = { subscriber, waitMs, maxMessages: 3, visibilityTimeoutMs };
    const ended = (): unknown => this.waiting.splice(this.waiting.indexOf(subscriber), 1);
    this.place.take(TOPIC, GROUP, more).then(
      (handed) => {
        ended();
        this.noteHanded(subscriber, handed, visibilityTimeoutMs);
      },
      (error: Error) => {
        ended();
        // A change of settings may come between, and is answered so; anything else fails the test.
        if (!error.message.startsWith("store-unavailable")) throw error;
      },
    );
  }

  private noteHanded(subscriber: string, handed: readonly Handed[], visibleMs: number): number[] {
    this.beat(subscriber);
    this.askedAtMs.set(subscriber, this.place.nowMs);
    for (const one of handed) {
      this.handed.push({ ...one, subscriber });
      const { offset, attempt, visibleUntil } = one;
      const sinceMs = visibleUntil - visibleMs;
      this.known.set(offset, { kind: "delivered", subscriber, attempt, sinceMs, untilMs: visibleUntil });
    }
    return handed.map(({ offset }) => offset);
  }

  private beat(subscriber: string): void {
    this.aliveUntilMs.set(subscriber, this.place.nowMs + LEASE_MS);
  }

  private async publish({ key, count, delayMs, openMs }: Extract<Step, { kind: "publish" }>): Promise<void> {
    const messages = Array.from({ length: count }, () => {
      this.published += 1;
      return { id: `m${this.published}`, partitionKey: `k${key}`, delayMs };
    });
    const isLate = this.place.openMs !== undefined && openMs > 0;
    if (isLate) this.place.openMs = openMs;
    this.publishing += 1;
    const stored = this.place.publish(TOPIC, messages).then(() => {
      this.publishing -= 1;
    });
    if (isLate) this.place.openMs = 0;
    else await stored;
  }

  private async settle(action: Settlement["action"], which: number, ms: number): Promise<void> {
    const [one] = this.handed.splice(which % Math.max(1, this.handed.length), 1);
    if (!one) return;
    const { receipt, offset } = one;
    const settlement = settlementOf(action, receipt, ms);
    const input = { topic: TOPIC, group: GROUP, subscriber: null, settlements: [settlement] };
    const [result] = await this.place.call("settle", input);
    if (result?.status !== "ok") return;
    const { nowMs } = this.place;
    const before = this.known.get(offset);
    if (action === "ack") this.known.set(offset, { kind: "acked" });
    if (action === "reject" || result.deadLettered) this.known.set(offset, { kind: "rejected" });
    else if (action === "nack") this.known.set(offset, { kind: "backingOff", untilMs: nowMs + ms });
    if (action === "postpone") this.known.set(offset, { kind: "postponed", untilMs: nowMs + ms });
    if (action === "extend") {
      this.handed.push(one);
      const { subscriber, attempt } = one;
      const sinceMs = before?.kind === "delivered" ? before.sinceMs : Number.NaN;
      this.known.set(offset, { kind: "delivered", subscriber, attempt, sinceMs, untilMs: nowMs + 1000 + ms });
    }
  }

  private async giveBack(which: number): Promise<void> {
    const [one] = this.handed.splice(which % Math.max(1, this.handed.length), 1);
    if (!one) return;
    await this.place.call("giveBack", {
      topic: TOPIC,
      group: GROUP,
      takeId: "none",
      receipts: [one.receipt],
    });
    this.endDelivery(one);
  }

  private async leave(subscriber: string): Promise<void> {
    await this.place.call("leave", { topic: TOPIC, group: GROUP, subscriber });
    this.aliveUntilMs.delete(subscriber);
    for (const one of this.handed.filter((handed) => handed.subscriber === subscriber)) {
      this.handed.splice(this.handed.indexOf(one), 1);
      this.endDelivery(one);
    }
  }

  /** It is as it was before; one that had lapsed may have been the last attempt. */
  private endDelivery({ offset, subscriber }: { offset: number; subscriber: string }): void {
    const known = this.known.get(offset);
    if (known?.kind !== "delivered" || known.subscriber !== subscriber) return;
    if (known.untilMs > this.place.nowMs) this.known.delete(offset);
  }
}

function settlementOf(action: Settlement["action"], receipt: string, ms: number): Settlement {
  switch (action) {
    case "nack":
      return { receipt, action, reason: "because", delayMs: ms };
    case "postpone":
      return { receipt, action, delayMs: ms };
    case "extend":
      return { receipt, action, visibilityTimeoutMs: 1000 + ms };
    case "reject":
      return { receipt, action, reason: "never" };
    case "ack":
      return { receipt, action };
  }
}
