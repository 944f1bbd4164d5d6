import { expect } from "vitest";
import type { Entry } from "../../src/log/message-log.ts";
import type { DeliveryView } from "../../src/protocol/tenant-calls.ts";
import { Bench } from "../unit/durable/harness.ts";

/** One step of a random life of a topic; numbers choose among what there is. */
export type Step =
  | { kind: "publish"; key: number; count: number; delayMs: number }
  | { kind: "take"; group: number; maxMessages: number }
  | { kind: "settle"; action: "ack" | "nack" | "postpone" | "reject"; pick: number; count: number }
  | { kind: "advance"; ms: number }
  | { kind: "restart" }
  | { kind: "delete"; pick: number }
  | { kind: "redrive" }
  | { kind: "reset"; group: number; key: number; pick: number }
  | { kind: "collect" };

export const RETENTION_MS = 2000;
export const MAX_RETENTION_MS = 100_000_000;
const GROUPS = ["g", "h"] as const;
/** Delayed messages go to the last one only, which is never reset. */
const KEYS = ["a", "b", "delayed"] as const;

/** A tenant beside a model that knows no lanes: which group has not settled which offset. */
export class CollectionWorld {
  readonly bench = new Bench();
  readonly unsettled = new Map<string, Set<number>>(GROUPS.map((group) => [group, new Set()]));
  private held: { group: string; delivery: DeliveryView }[] = [];
  private published = 0;

  async open(): Promise<void> {
    const settings = { retentionMs: RETENTION_MS, maxRetentionMs: MAX_RETENTION_MS };
    await this.bench.call("putTopic", { topic: "t", settings });
    const group = {
      maxAttempts: 1000,
      maxInFlightPerPartition: 3,
      visibilityTimeoutMs: 1500,
      leaseDurationMs: 1000,
    };
    for (const name of GROUPS) await this.bench.putGroup("t", name, group);
  }

  async run(step: Step): Promise<void> {
    const { bench } = this;
    switch (step.kind) {
      case "publish":
        return this.publish(step);
      case "take":
        return this.take(step);
      case "settle":
        return this.settle(step);
      case "advance":
        return bench.advance(step.ms);
      case "restart":
        return bench.restart();
      case "delete":
        return this.delete(step.pick);
      case "redrive":
        return this.redrive();
      case "reset":
        return this.reset(step);
      case "collect":
        return this.collect();
    }
  }

  /** What the engine says of the topic is what the model knows. */
  async check(): Promise<void> {
    const stored = await this.stored();
    const view = await this.bench.call("getTopic", { topic: "t" });
    expect(view.messages).toBe(stored.length);
    for (const group of GROUPS) {
      const offsets = [...this.unsettledOf(group)].sort((a, b) => a - b);
      const stats = view.groups.find((one) => one.group === group);
      const oldest = await this.publishedAtMs(offsets[0]);
      expect(stats).toMatchObject({ backlog: offsets.length, oldestUnsettledAt: oldest, expired: 0 });
      await this.checkLag(group, stored, offsets);
    }
  }

  async checkLag(group: string, stored: readonly Entry[], unsettled: readonly number[]): Promise<void> {
    const { partitions } = await this.bench.call("lag", { topic: "t", group, after: null, limit: 100 });
    const expected = KEYS.flatMap((partitionKey) => {
      const mine = stored.filter((entry) => entry.partitionKey === partitionKey).map(({ offset }) => offset);
      const latest = mine.at(-1);
      if (latest === undefined) return [];
      const waiting = mine.filter((offset) => unsettled.includes(offset));
      const acked = mine.filter((offset) => offset < (waiting[0] ?? Number.POSITIVE_INFINITY)).at(-1) ?? 0;
      return [{ partitionKey, acked, latest, lag: waiting.length }];
    });
    expect(partitions).toEqual(expected);
  }

  unsettledOf(group: string): Set<number> {
    return this.unsettled.get(group) ?? expect.fail(`no group ${group}`);
  }

  async stored(): Promise<Entry[]> {
    return (await this.bench.log.scanTopic("t", { afterOffset: 0, maxEntries: 1000 })).entries;
  }

  private async publish({ key, count, delayMs }: Step & { kind: "publish" }): Promise<void> {
    const partitionKey = KEYS[key] ?? KEYS[0];
    const messages = Array.from({ length: count }, () => {
      this.published += 1;
      return { id: `m${this.published}`, partitionKey, delayMs: partitionKey === "delayed" ? delayMs : 0 };
    });
    const offsets = await this.bench.publish("t", messages);
    for (const group of GROUPS) for (const offset of offsets) this.unsettledOf(group).add(offset);
  }

  private async take({ group, maxMessages }: Step & { kind: "take" }): Promise<void> {
    const name = GROUPS[group] ?? GROUPS[0];
    for (const delivery of await this.bench.take("t", name, { maxMessages })) {
      expect(this.unsettledOf(name).has(delivery.offset), "delivered although settled").toBe(true);
      this.held.push({ group: name, delivery });
    }
  }

  private async settle({ action, pick, count }: Step & { kind: "settle" }): Promise<void> {
    for (const { group, delivery } of this.held.splice(pick % Math.max(1, this.held.length), count)) {
      const how = action === "postpone" ? { action, delayMs: 700 } : { action };
      const [status] = await this.bench.settle("t", group, [delivery], how);
      if (status === "ok" && (action === "ack" || action === "reject"))
        this.unsettledOf(group).delete(delivery.offset);
    }
  }

  private async delete(pick: number): Promise<void> {
    const stored = await this.stored();
    const entry = stored[pick % Math.max(1, stored.length)];
    if (!entry) return;
    const [message] = await this.bench.log.readMessages("t", [entry.offset]);
    const id = message?.id ?? expect.fail("the log lost a message");
    await this.bench.call("deleteMessage", { topic: "t", id, partitionKey: entry.partitionKey });
    await this.forgetDeleted();
  }

  private async redrive(): Promise<void> {
    const before = new Set((await this.stored()).map(({ offset }) => offset));
    await this.bench.call("redrive", { topic: "t", ids: null, group: null, limit: null });
    for (const { offset, targetGroup } of await this.stored()) {
      if (!before.has(offset)) this.unsettledOf(targetGroup ?? expect.fail("not redriven")).add(offset);
    }
  }

  private async reset({ group, key, pick }: Step & { kind: "reset" }): Promise<void> {
    const name = GROUPS[group] ?? GROUPS[0];
    const partitionKey = KEYS[key % 2] ?? KEYS[0];
    const mine = (await this.stored()).filter((entry) => entry.partitionKey === partitionKey);
    const offset =
      pick % 5 === 0 ? 0 : (mine[pick % Math.max(1, mine.length)]?.offset ?? Number.MAX_SAFE_INTEGER);
    await this.bench.call("resetOffset", { topic: "t", group: name, partitionKey, offset });
    for (const entry of mine) {
      const { targetGroup } = entry;
      const isIts = targetGroup === null || targetGroup === name;
      if (isIts && entry.offset > offset) this.unsettledOf(name).add(entry.offset);
      else this.unsettledOf(name).delete(entry.offset);
    }
  }

  /** G10, with nothing old enough to go unsettled: what goes was settled by all, and what may go went. */
  private async collect(): Promise<void> {
    const before = await this.stored();
    const reply = await this.bench.call("collect", {});
    const left = new Set((await this.stored()).map(({ offset }) => offset));
    const gone = before.filter(({ offset }) => !left.has(offset));
    expect(reply).toMatchObject({ deletedMessages: gone.length, stopped: "done" });
    for (const { offset } of gone) {
      for (const group of GROUPS)
        expect(this.unsettledOf(group).has(offset), "collected unsettled").toBe(false);
      const message = before.find((entry) => entry.offset === offset);
      // Offsets tell the time of publishing, in microseconds since 2020.
      const publishedAtMs = Date.UTC(2020, 0, 1) + Math.floor((message?.offset ?? 0) / 1000);
      expect(publishedAtMs + RETENTION_MS).toBeLessThanOrEqual(this.bench.nowMs);
    }
    await this.forgetDeleted();
  }

  private async forgetDeleted(): Promise<void> {
    const left = new Set((await this.stored()).map(({ offset }) => offset));
    for (const offsets of this.unsettled.values()) {
      for (const offset of offsets) if (!left.has(offset)) offsets.delete(offset);
    }
  }

  private async publishedAtMs(offset: number | undefined): Promise<number | null> {
    if (offset === undefined) return null;
    const [message] = await this.bench.log.readMessages("t", [offset]);
    return message?.publishedAtMs ?? null;
  }
}
