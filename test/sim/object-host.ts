import { type CommandInput, type CommandName, type CommandValue, Engine } from "../../src/durable/engine.ts";
import { migrate } from "../../src/durable/migrate.ts";
import type { Ports } from "../../src/durable/ports.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import type { Outcome } from "../../src/protocol/tenant-calls.ts";
import { CacheCheck } from "./cache-check.ts";
import { gatedLog, logUnreachable } from "./gated-log.ts";
import { GrantNotes } from "./grant-notes.ts";
import { type Call, History } from "./history.ts";
import { LogObserver } from "./log-observer.ts";
import { NodeSql } from "./node-sql.ts";
import { ObjectGone } from "./object-gone.ts";
import type { Prng } from "./prng.ts";
import { type Faults, NO_FAULTS } from "./profile.ts";
import { type SqlWatch, WatchedSql } from "./watched-sql.ts";
import type { World } from "./world.ts";

/** What a caller gets: an answer, or nothing (then the outcome is unknown). */
export type Reply<N extends CommandName> = Outcome<CommandValue<N>> | null;

/** One life of the object, from its start to its crash or eviction. */
interface Incarnation {
  alive: boolean;
  engine: Engine;
  /** Calls under way, with what to do when the object goes. */
  underWay: Set<() => void>;
}

/** An answer takes so long at most, beside its wait: some reads of a log that is slow and down for a while. */
const MAX_ANSWER_MS = 20_000;
/** A caller gives up after this; the call itself may still be under way. */
const CALLER_PATIENCE_MS = 30_000;

/**
 * Hosts the object of one tenant as the platform would, only worse: its storage and alarm last, everything
 * else goes with each crash. Calls travel, get lost and come twice as the faults say.
 */
export class ObjectHost {
  readonly history: History;
  readonly sql = new NodeSql();
  faults: Faults;
  skewMs = 0;
  alarmAtMs: number | null = null;
  private alarmLateMs = 0;
  private readonly tenant: string;
  private readonly world: World;
  private readonly prng: Prng;
  private readonly observer: LogObserver;
  private readonly cacheCheck: CacheCheck;
  private current: Incarnation | null = null;
  private crashIn: number | null = null;
  private crashAfterCommit = false;
  private failIn: number | null = null;
  private logDownUntilMs = 0;
  private readonly grants: GrantNotes;
  /** Something of it ran in this step. */
  private moved = false;
  private alarmRuns = false;

  constructor(tenant: string, world: World, prng: Prng, faults: Faults) {
    this.tenant = tenant;
    this.world = world;
    this.prng = prng;
    this.faults = faults;
    this.history = new History(
      tenant,
      () => world.nextSeq(),
      () => this.nowMs(),
    );
    this.grants = new GrantNotes(this.history);
    this.observer = new LogObserver(this.sql, this.history);
    this.cacheCheck = new CacheCheck(this.sql, this.history);
    migrate(this.sql, { nowMs: () => this.nowMs() }, OBJECT_SCHEMA);
  }

  nowMs(): number {
    return this.world.trueMs + this.skewMs;
  }

  /** Sends a call on its way; `onReply` is called once, with null when the outcome stays unknown. */
  send<N extends CommandName>(name: N, input: CommandInput<N>, onReply: (reply: Reply<N>) => void): void {
    this.travel(name, onReply, (answer) => this.arrive(name, input, answer));
  }

  /** Publishes into the log, as a Worker does whose log is elsewhere: the object hears nothing of it. */
  sendDirect(input: CommandInput<"publish">, onReply: (reply: Reply<"publish">) => void): void {
    this.travel("publish", onReply, (answer) => {
      const life = this.incarnation();
      const call = this.history.started("publish", input);
      const run = life.engine.tenant.log.append(input.topic, input.messages).then(
        (value) => ({ ok: true as const, value }),
        (error) => ({
          ok: false as const,
          error: error.failure ?? { code: "internal" as const, detail: String(error) },
        }),
      );
      this.follow(life, call, run, answer);
    });
  }

  private travel<N extends CommandName>(
    name: N,
    onReply: (reply: Reply<N>) => void,
    arrive: (answer: (reply: Reply<N>) => void) => void,
  ): void {
    const { world, prng, faults } = this;
    let replied = false;
    const reply = (value: Reply<N>) => {
      if (replied) return;
      replied = true;
      world.trace(`${this.tenant} ${name} -> ${value === null ? "?" : JSON.stringify(value)}`);
      onReply(value);
    };
    const cancel = world.after(CALLER_PATIENCE_MS, `${name} gives up`, () => reply(null));
    if (prng.chance(faults.lostRequest)) return;
    // A receive is never sent twice by the way: each has a name of its own.
    const copies = name !== "take" && prng.chance(faults.duplicateCall) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      world.after(prng.int(0, faults.networkDelayMs), `${this.tenant} ${name}`, () =>
        arrive((value) => {
          const lost = prng.chance(this.faults.lostReply);
          const backMs = prng.int(0, this.faults.networkDelayMs);
          world.after(backMs, `${this.tenant} reply of ${name}`, () => {
            cancel();
            reply(lost ? null : value);
          });
        }),
      );
    }
  }

  private arrive<N extends CommandName>(
    name: N,
    input: CommandInput<N>,
    answer: (reply: Reply<N>) => void,
  ): void {
    const life = this.incarnation();
    const call = this.history.started(name, input);
    this.follow(life, call, life.engine.call(name, input), answer);
  }

  private follow<N extends CommandName>(
    life: Incarnation,
    call: Call<N>,
    run: Promise<Outcome<CommandValue<N>>>,
    answer: (reply: Reply<N>) => void,
  ): void {
    const gone = () => {
      this.history.ended(call, null);
      answer(null);
    };
    // It may have crashed before the first await of the command.
    if (!life.alive) {
      gone();
      return;
    }
    life.underWay.add(gone);
    const startTrueMs = this.world.trueMs;
    run.then((outcome) => {
      if (!life.underWay.delete(gone)) return;
      this.history.ended(call, outcome);
      this.checkPatience(call as unknown as Call, this.world.trueMs - startTrueMs);
      this.moved = true;
      answer(outcome);
    }, this.world.failed);
  }

  /** A call is answered soon, a receive soon after its wait, whatever the clock does. */
  private checkPatience(call: Call, lastedMs: number): void {
    const waitMs = "waitMs" in call.input ? call.input.waitMs : 0;
    // A clock that steps back by less than the wait is not noticed: then it is the wait twice.
    if (lastedMs <= 2 * waitMs + MAX_ANSWER_MS) return;
    this.history.violate("G11", `${call.name} with a wait of ${waitMs} ms was answered after ${lastedMs} ms`);
  }

  /** Calls that nobody has answered. */
  get callsUnderWay(): number {
    return this.current?.underWay.size ?? 0;
  }

  /** The engine of this life; made anew when there is none. */
  private incarnation(): Incarnation {
    this.moved = true;
    this.current ??= this.start();
    return this.current;
  }

  private start(): Incarnation {
    const life: Incarnation = { alive: true, underWay: new Set(), engine: null as unknown as Engine };
    const watch: SqlWatch = {
      isAlive: () => life.alive,
      beforeStatement: () => this.beforeStatement(),
      afterCommit: () => this.afterCommit(),
      wrote: (query, params) => this.wrote(query, params),
      rolledBack: () => this.rolledBack(),
    };
    const sql = new WatchedSql(this.sql, watch);
    const clock = { nowMs: () => this.nowMs() };
    const log = new ObjectLog(this.tenant, sql, clock);
    const ports = this.portsOf(life, sql);
    const gated = gatedLog(log, (method, work) => this.gate(life, method, work));
    life.engine = new Engine(this.tenant, ports, gated, log);
    this.cacheCheck.follow(life.engine.tenant);
    const { wake } = life.engine.tenant;
    const topicGrew = wake.topicGrew.bind(wake);
    wake.topicGrew = (topic) => {
      if (!this.prng.chance(this.faults.lostHint)) topicGrew(topic);
    };
    return life;
  }

  private portsOf(life: Incarnation, sql: WatchedSql): Ports {
    return {
      sql,
      clock: { nowMs: () => this.nowMs() },
      chance: { nonce: () => this.drawNonce(life) },
      timers: {
        after: (delayMs, task) => {
          if (!life.alive) return () => {};
          const lateMs = this.prng.int(0, this.faults.lateTimerMs);
          return this.world.after(delayMs + lateMs, `${this.tenant} timer`, () => {
            if (!life.alive) return;
            this.moved = true;
            task();
          });
        },
      },
      alarm: {
        get: () => this.alarmAtMs,
        set: (atMs) => {
          if (!life.alive) return;
          this.alarmAtMs = Math.max(Math.ceil(atMs), this.nowMs() + 1);
          this.alarmLateMs = this.prng.int(0, this.faults.lateTimerMs);
        },
      },
      report: (where, error) => {
        if (life.alive) this.reported(where, error);
      },
    };
  }

  /** Injected failures may end in the background too; anything else there is a defect. */
  private reported(where: string, error: unknown): void {
    this.world.trace(`${this.tenant} reports ${where}: ${String(error)}`);
    const text = `${String(error)} ${String((error as { cause?: unknown })?.cause ?? "")}`;
    if (/injected|store-unavailable/.test(text)) return;
    const stack = error instanceof Error ? error.stack : "";
    this.history.violate("G11", `${where} failed in the background: ${stack || text}`);
  }

  private drawNonce(life: Incarnation): string {
    if (!life.alive) throw new ObjectGone();
    return this.grants.draw();
  }

  private beforeStatement(): void {
    if (this.crashIn !== null && --this.crashIn <= 0) this.crashInside();
    if (this.failIn !== null && --this.failIn <= 0) {
      this.failIn = null;
      this.history.storageFailureSeqs.push(this.history.seq());
      throw new Error("SQLITE_IOERR: injected");
    }
  }

  private afterCommit(): void {
    this.grants.committed();
    if (this.crashAfterCommit) this.crashInside();
  }

  private wrote(query: string, params: readonly (string | number | null | Uint8Array)[]): void {
    this.observer.wrote(query);
    this.cacheCheck.noteWrite(query);
    this.grants.wrote(query, params);
  }

  private rolledBack(): void {
    this.grants.rolledBack();
    this.observer.wrote("queue_messages");
  }

  private crashInside(): never {
    this.crash("inside a statement");
    throw new ObjectGone();
  }

  /** The object goes with its memory, timers and calls under way; the storage and the alarm stay. */
  crash(how: string): void {
    this.crashIn = null;
    this.crashAfterCommit = false;
    const life = this.current;
    if (!life) return;
    this.world.trace(`${this.tenant} crash ${how}`);
    life.alive = false;
    this.current = null;
    // What was committed before counts; what is in the transaction under way is rolled back with it.
    const underWay = [...life.underWay];
    life.underWay.clear();
    for (const gone of underWay) gone();
    if (this.alarmRuns)
      this.alarmAtMs = Math.min(this.alarmAtMs ?? Number.POSITIVE_INFINITY, this.nowMs() + 2000);
    this.alarmRuns = false;
    this.moved = true;
  }

  armCrash(): void {
    if (this.prng.chance(0.3)) this.crashAfterCommit = true;
    else this.crashIn = this.prng.int(1, 15);
  }

  armStorageFailure(): void {
    this.failIn = this.prng.int(1, 15);
  }

  /** No more faults. */
  quieten(): void {
    this.crashIn = null;
    this.crashAfterCommit = false;
    this.failIn = null;
    this.logDownUntilMs = 0;
    this.faults = { ...NO_FAULTS, logDelayMs: Math.min(this.faults.logDelayMs, NO_FAULTS.logDelayMs) };
  }

  close(): void {
    this.sql.close();
  }

  logOutage(lastsMs: number): void {
    this.logDownUntilMs = this.world.trueMs + lastsMs;
  }

  jumpClock(byMs: number): void {
    const beforeMs = this.nowMs();
    this.skewMs += byMs;
    this.history.jumped(beforeMs, this.nowMs());
    this.world.trace(`${this.tenant} clock jumps by ${byMs}`);
  }

  /** True time at which the alarm is due; null if none is set. */
  alarmTrueMs(): number | null {
    return this.alarmAtMs === null ? null : this.alarmAtMs - this.skewMs + this.alarmLateMs;
  }

  /** As the platform does: the alarm is forgotten when its handler starts, and comes again if that dies. */
  fireAlarm(kind: "due" | "odd"): void {
    this.world.trace(`${this.tenant} alarm ${kind}`);
    const life = this.incarnation();
    if (kind === "due") this.alarmAtMs = null;
    this.alarmRuns = true;
    life.engine.alarm().then(() => {
      if (life === this.current) this.alarmRuns = false;
    }, this.world.failed);
  }

  private async gate(life: Incarnation, method: string, work: () => Promise<unknown>): Promise<unknown> {
    const { faults, prng, world } = this;
    const down = world.trueMs < this.logDownUntilMs;
    const fails = down || prng.chance(faults.logFailure);
    const failsAfter = fails && prng.chance(0.4);
    await this.pause(life, method);
    if (fails && !failsAfter) throw logUnreachable();
    const value = await work();
    await this.pause(life, method);
    if (failsAfter) throw logUnreachable();
    return value;
  }

  /** Ends only if the object is still there then: nothing of a dead one goes on. */
  private pause(life: Incarnation, method: string): Promise<void> {
    if (this.faults.logDelayMs === 0 || this.prng.chance(0.4)) return Promise.resolve();
    const delayMs = this.prng.int(0, this.faults.logDelayMs);
    return new Promise((resolve) => {
      this.world.after(delayMs, `${this.tenant} log ${method}`, () => {
        if (!life.alive) return;
        this.moved = true;
        resolve();
      });
    });
  }

  /** After each step of the world: what the log holds now, and whether the cache equals the rows. */
  afterStep(): void {
    if (!this.moved) return;
    this.moved = false;
    this.observer.look();
    if (this.current) this.cacheCheck.afterStep(this.current.engine.tenant);
  }
}
