import { readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import type { GroupSettings } from "../../../src/core/settings.ts";
import {
  type CommandInput,
  type CommandName,
  type CommandValue,
  Engine,
} from "../../../src/durable/engine.ts";
import { migrate } from "../../../src/durable/migrate.ts";
import type { Ports } from "../../../src/durable/ports.ts";
import type { MessageLog, NewMessage } from "../../../src/log/message-log.ts";
import { ObjectLog } from "../../../src/log/object/object-log.ts";
import type { DeliveryView, Settlement } from "../../../src/protocol/tenant-calls.ts";
import { NodeSql } from "../../sim/node-sql.ts";

const TENANT = "demo";
const START_MS = Date.UTC(2026, 0, 1);
const SCHEMA = readdirSync("schema/object").map((name) => ({
  name,
  sql: readFileSync(`schema/object/${name}`, "utf8"),
}));

/** A settlement without its receipt. */
type HowSettled = Settlement extends infer One ? (One extends unknown ? Omit<One, "receipt"> : never) : never;

interface Timer {
  atMs: number;
  task: () => void;
}

/** One tenant's engine on a SQLite in memory and a clock that only the test moves. */
export class Bench {
  readonly sql: NodeSql;
  readonly reports: string[] = [];
  readonly announced: number[] = [];
  /** Set by a test: the registry cannot be reached. */
  registryFails = false;
  nowMs = START_MS;
  alarmAtMs: number | null = null;
  log: MessageLog;
  engine: Engine;
  private timers: Timer[] = [];
  private nonces = 0;
  private takes = 0;
  private readonly announces: boolean;

  constructor(options: { announces?: boolean } = {}) {
    this.announces = options.announces ?? false;
    this.sql = new NodeSql();
    migrate(this.sql, { nowMs: () => this.nowMs }, SCHEMA);
    this.log = this.openLog();
    this.engine = this.openEngine();
  }

  /** The object dies and a new one comes up on the same rows. */
  restart(): void {
    this.timers = [];
    this.log = this.openLog();
    this.engine = this.openEngine();
  }

  /** Wraps the log, for a test that wants it to fail or to count. */
  withLog(wrap: (log: MessageLog) => Partial<MessageLog>): void {
    const embedded = this.openLog();
    const replaced: Partial<MessageLog> = wrap(embedded);
    this.log = new Proxy(embedded, {
      get: (target, name) => {
        const own = replaced[name as keyof MessageLog];
        const value = own ?? target[name as keyof ObjectLog];
        return typeof value === "function" ? value.bind(target) : value;
      },
    }) as unknown as MessageLog;
    this.engine = new Engine(TENANT, this.ports(), this.log, embedded);
  }

  async call<N extends CommandName>(name: N, input: CommandInput<N>): Promise<CommandValue<N>> {
    const outcome = await this.engine.call(name, input);
    if (!outcome.ok)
      throw new Error(`${outcome.error.code}: ${outcome.error.detail}; ${this.reports.join("; ")}`);
    return outcome.value;
  }

  async failure<N extends CommandName>(name: N, input: CommandInput<N>): Promise<string> {
    const outcome = await this.engine.call(name, input);
    return outcome.ok ? expect.fail(`${name} succeeded`) : outcome.error.code;
  }

  /** Moves the clock, firing timers and the alarm in order; their work is done when it returns. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      await settled();
      const next = Math.min(this.alarmAtMs ?? endMs + 1, ...this.timers.map((timer) => timer.atMs));
      if (next > endMs) break;
      this.nowMs = Math.max(this.nowMs, next);
      const due = this.timers.filter((timer) => timer.atMs <= this.nowMs);
      this.timers = this.timers.filter((timer) => timer.atMs > this.nowMs);
      for (const { task } of due) task();
      if (this.alarmAtMs !== null && this.alarmAtMs <= this.nowMs) await this.fireAlarm();
    }
    this.nowMs = endMs;
    await settled();
  }

  async fireAlarm(): Promise<void> {
    this.alarmAtMs = null;
    await this.engine.alarm();
  }

  async publish(topic: string, messages: readonly Partial<NewMessage>[]): Promise<number[]> {
    const before = await this.log.tail(topic);
    await this.call("publish", {
      topic,
      messages: messages.map((message, at) => ({ ...sample(at), ...message })),
    });
    const stored = await this.log.scanTopic(topic, { afterOffset: before.offset, maxEntries: 1000 });
    return stored.entries.map((entry) => entry.offset);
  }

  putGroup(topic: string, group: string, settings: Partial<GroupSettings> = {}): Promise<unknown> {
    return this.call("putGroup", { topic, group, settings });
  }

  async take(
    topic: string,
    group: string,
    more: Partial<CommandInput<"take">> = {},
  ): Promise<DeliveryView[]> {
    this.takes += 1;
    const defaults = { subscriber: "s1", maxMessages: 10, waitMs: 0, visibilityTimeoutMs: null };
    const input = { topic, group, ...defaults, takeId: `take-${this.takes}`, ...more };
    return (await this.call("take", input)).deliveries;
  }

  async settle(
    topic: string,
    group: string,
    deliveries: readonly DeliveryView[],
    how: HowSettled = { action: "ack" },
  ): Promise<string[]> {
    const settlements = deliveries.map(({ receipt }) => ({ ...how, receipt }) as Settlement);
    const results = await this.call("settle", { topic, group, subscriber: null, settlements });
    return results.map(({ status }) => status);
  }

  /** Takes and acks until the group has nothing more to give now. */
  async drain(topic: string, group: string): Promise<DeliveryView[]> {
    const drained: DeliveryView[] = [];
    for (let round = 0; round < 1000; round += 1) {
      const deliveries = await this.take(topic, group, { maxMessages: 100 });
      if (deliveries.length === 0) return drained;
      await this.settle(topic, group, deliveries);
      drained.push(...deliveries);
    }
    return expect.fail("the group never ran dry");
  }

  async groupStats(topic: string, group: string) {
    const { groups } = await this.call("getTopic", { topic });
    return groups.find((view) => view.group === group) ?? expect.fail(`no group ${group}`);
  }

  count(table: string): number {
    return Number(this.sql.all(`SELECT count(*) AS n FROM ${table}`)[0]?.n);
  }

  private openLog(): ObjectLog {
    return new ObjectLog(TENANT, this.sql, { nowMs: () => this.nowMs });
  }

  private openEngine(): Engine {
    return new Engine(TENANT, this.ports(), this.log, this.log as ObjectLog);
  }

  private ports(): Ports {
    const announce = async (activity: number): Promise<void> => {
      if (this.registryFails) throw new Error("no registry");
      this.announced.push(activity);
    };
    return {
      sql: this.sql,
      clock: { nowMs: () => this.nowMs },
      chance: { nonce: () => (++this.nonces).toString(16).padStart(16, "0") },
      timers: { after: (delayMs, task) => this.after(delayMs, task) },
      alarm: {
        get: () => this.alarmAtMs,
        set: (atMs) => {
          this.alarmAtMs = atMs;
        },
      },
      report: (where, error) => {
        this.reports.push(`${where}: ${error}`);
      },
      ...(this.announces ? { announceActive: announce } : {}),
    };
  }

  /** What has no delay runs in the next turn by itself; the rest waits for the clock. */
  private after(delayMs: number, task: () => void): () => void {
    if (delayMs === 0) {
      const handle = setImmediate(task);
      return () => clearImmediate(handle);
    }
    const timer = { atMs: this.nowMs + delayMs, task };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }
}

function sample(at: number): NewMessage {
  return { id: `m${at}`, partitionKey: "k", body: `{"n":${at}}`, contentType: null, headers: "", delayMs: 0 };
}

/** Messages `<prefix>0` and so on, of one partition. */
export function numbered(count: number, partitionKey = "k", prefix = "m"): Partial<NewMessage>[] {
  return Array.from({ length: count }, (_, at) => ({ id: `${prefix}${at}`, partitionKey }));
}

export function ids(messages: readonly { id: string }[]): string[] {
  return messages.map(({ id }) => id);
}

/** Lets everything that waits for nothing but its turn run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
