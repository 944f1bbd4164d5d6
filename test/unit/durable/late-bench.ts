import { readdirSync, readFileSync } from "node:fs";
import type { GroupSettings } from "../../../src/core/settings.ts";
import {
  type CommandInput,
  type CommandName,
  type CommandValue,
  Engine,
} from "../../../src/durable/engine.ts";
import { migrate } from "../../../src/durable/migrate.ts";
import type { Ports } from "../../../src/durable/ports.ts";
import type { AppendOutcome, MessageLog, NewMessage } from "../../../src/log/message-log.ts";
import type { GrantView, Settlement, TakeInput } from "../../../src/protocol/tenant-calls.ts";
import { logUnreachable } from "../../sim/gated-log.ts";
import { LateDatabase } from "../../sim/late-database.ts";
import { LateLog } from "../../sim/late-log.ts";
import { NodeSql } from "../../sim/node-sql.ts";
import { settled } from "./harness.ts";

export const TENANT = "demo";
export const HORIZON_MS = 5000;
const START_MS = Date.UTC(2026, 0, 1);
const SCHEMA = readdirSync("schema/object").map((name) => ({
  name,
  sql: readFileSync(`schema/object/${name}`, "utf8"),
}));

/**
 * One tenant's engine beside a log outside it, whose inserts may commit late. The clock moves only when the test
 * moves it; the database's is the same plus `databaseAheadMs`.
 */
export class LateBench {
  nowMs = START_MS;
  databaseAheadMs = 0;
  /** How long the next inserts stay open before they commit. */
  openMs = 0;
  sql: NodeSql;
  readonly reports: string[] = [];
  /** What the log was asked, since the test last emptied it. */
  readonly asked: string[] = [];
  /** The log cannot be reached. */
  logIsDown = false;
  engine: Engine;
  readonly log: MessageLog;
  private readonly database: LateDatabase;
  private timers: { atMs: number; task: () => void }[] = [];
  private readonly waits: { atMs: number; resolve: () => void }[] = [];
  private alarmAtMs: number | null = null;
  private nonces = 0;
  private takes = 0;

  constructor() {
    const world = {
      nowMs: () => this.nowMs + this.databaseAheadMs,
      trueMs: () => this.nowMs,
      drawFate: () => ({ openMs: this.openMs, fails: false }),
      wait: (delayMs: number) =>
        new Promise<void>((resolve) => this.waits.push({ atMs: this.nowMs + delayMs, resolve })),
      betweenStatements: async () => {},
    };
    this.database = new LateDatabase(world, { killAfterMs: 4500, tellsOffsets: true });
    this.log = watched(new LateLog(TENANT, this.database, { commitHorizonMs: HORIZON_MS }), this);
    this.sql = freshSql(this.nowMs);
    this.engine = this.openEngine();
  }

  /** The object's memory is lost, its rows stay. */
  restart(): void {
    this.timers = [];
    this.engine = this.openEngine();
  }

  /** The object and its rows are lost, the log stays. */
  loseObject(): void {
    this.sql = freshSql(this.nowMs);
    this.alarmAtMs = null;
    this.restart();
  }

  async call<N extends CommandName>(name: N, input: CommandInput<N>): Promise<CommandValue<N>> {
    const outcome = await this.engine.call(name, input);
    if (!outcome.ok)
      throw new Error(`${outcome.error.code}: ${outcome.error.detail}; ${this.reports.join("; ")}`);
    return outcome.value;
  }

  /** As a Worker does it, without the hint. */
  append(topic: string, messages: readonly Partial<NewMessage>[]): Promise<AppendOutcome> {
    return this.log.append(
      topic,
      messages.map((message, at) => ({
        id: `m${at}`,
        partitionKey: "k",
        body: `{"n":${at}}`,
        contentType: null,
        headers: "",
        delayMs: 0,
        ...message,
      })),
    );
  }

  async hint(topic: string, { stored }: AppendOutcome): Promise<void> {
    const offsets = stored && { lowest: stored.lowestOffset, highest: stored.highestOffset };
    await this.call("notify", { topic, offsets });
  }

  /** With its hint. Returns the offsets, in order. */
  async publish(topic: string, messages: readonly Partial<NewMessage>[]): Promise<number> {
    const outcome = await this.append(topic, messages);
    await this.hint(topic, outcome);
    return outcome.stored?.lowestOffset ?? Number.NaN;
  }

  putGroup(topic: string, group: string, settings: Partial<GroupSettings> = {}): Promise<unknown> {
    return this.call("putGroup", { topic, group, settings });
  }

  async take(topic: string, group: string, more: Partial<TakeInput> = {}): Promise<GrantView[]> {
    this.takes += 1;
    const defaults = { subscriber: "s1", maxMessages: 10, waitMs: 0, visibilityTimeoutMs: null };
    const input = { topic, group, ...defaults, takeId: `take-${this.takes}`, ...more };
    return (await this.call("take", input)).grants;
  }

  async ack(topic: string, group: string, grants: readonly GrantView[]): Promise<string[]> {
    const settlements = grants.map(({ receipt }): Settlement => ({ action: "ack", receipt }));
    const results = await this.call("settle", { topic, group, subscriber: null, settlements });
    return results.map(({ status }) => status);
  }

  /** Takes and acks until there is nothing more now; the IDs in order of delivery. */
  async drain(topic: string, group: string): Promise<string[]> {
    const drained: string[] = [];
    for (;;) {
      const grants = await this.take(topic, group, { maxMessages: 100 });
      if (grants.length === 0) return drained;
      drained.push(...(await this.idsOf(topic, grants)));
      await this.ack(topic, group, grants);
    }
  }

  async idsOf(topic: string, grants: readonly GrantView[]): Promise<string[]> {
    const offsets = grants.map(({ offset }) => offset);
    const messages = new Map((await this.log.readMessages(topic, offsets)).map((m) => [m.offset, m.id]));
    return offsets.map((offset) => messages.get(offset) ?? "gone");
  }

  /** Moves the clock, firing what is due in order; its work is done when it returns. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      await settled();
      const atMs = [...this.timers, ...this.waits].map((due) => due.atMs);
      const next = Math.min(this.alarmAtMs ?? endMs + 1, ...atMs);
      if (next > endMs) break;
      this.nowMs = Math.max(this.nowMs, next);
      const timers = this.timers.filter((timer) => timer.atMs <= this.nowMs);
      this.timers = this.timers.filter((timer) => timer.atMs > this.nowMs);
      for (const { task } of timers) task();
      const waits = this.waits.filter((wait) => wait.atMs <= this.nowMs);
      for (const wait of waits) this.waits.splice(this.waits.indexOf(wait), 1);
      for (const { resolve } of waits) resolve();
      if (this.alarmAtMs !== null && this.alarmAtMs <= this.nowMs) {
        this.alarmAtMs = null;
        await this.engine.alarm();
      }
    }
    this.nowMs = endMs;
    await settled();
  }

  count(table: string): number {
    return Number(this.sql.all(`SELECT count(*) AS n FROM ${table}`)[0]?.n);
  }

  private openEngine(): Engine {
    return new Engine(TENANT, this.ports(), this.log, null);
  }

  private ports(): Ports {
    return {
      sql: this.sql,
      clock: { nowMs: () => this.nowMs },
      chance: { nonce: () => (++this.nonces).toString(16).padStart(16, "0") },
      timers: {
        after: (delayMs, task) => {
          if (delayMs === 0) {
            const handle = setImmediate(task);
            return () => clearImmediate(handle);
          }
          const timer = { atMs: this.nowMs + delayMs, task };
          this.timers.push(timer);
          return () => {
            this.timers = this.timers.filter((other) => other !== timer);
          };
        },
      },
      alarm: {
        get: () => this.alarmAtMs,
        set: (atMs) => {
          this.alarmAtMs = atMs;
        },
      },
      report: (where, error) => {
        this.reports.push(`${where}: ${error}`);
      },
    };
  }
}

function freshSql(nowMs: number): NodeSql {
  const sql = new NodeSql();
  migrate(sql, { nowMs: () => nowMs }, SCHEMA);
  return sql;
}

/** The same log, which notes what it is asked and can be unreachable. */
function watched(log: LateLog, bench: LateBench): MessageLog {
  return new Proxy(log, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        bench.asked.push(String(name));
        if (bench.logIsDown) throw logUnreachable();
        return value.apply(target, args);
      };
    },
  });
}
