import { type CommandInput, type CommandName, type CommandValue, Engine } from "../../src/durable/engine.ts";
import { migrate } from "../../src/durable/migrate.ts";
import type { Ports } from "../../src/durable/ports.ts";
import type { WakeSchedule } from "../../src/durable/wake-schedule.ts";
import { ObjectLog } from "../../src/log/object/object-log.ts";
import { OBJECT_SCHEMA } from "../../src/log/object/schema.generated.ts";
import type { Outcome } from "../../src/protocol/tenant-calls.ts";
import { CacheCheck } from "./cache-check.ts";
import { type Answer, CallWay, type Reply } from "./call-way.ts";
import { Edge } from "./edge.ts";
import { gatedLog } from "./gated-log.ts";
import { GrantNotes } from "./grant-notes.ts";
import { type Call, History } from "./history.ts";
import { LateObserver } from "./late-observer.ts";
import { LateSite } from "./late-site.ts";
import { LogObserver } from "./log-observer.ts";
import { LogWay } from "./log-way.ts";
import { NodeSql } from "./node-sql.ts";
import { ObjectAlarm } from "./object-alarm.ts";
import { ObjectGone } from "./object-gone.ts";
import type { Prng } from "./prng.ts";
import { type Faults, type Lateness, NO_FAULTS } from "./profile.ts";
import { RouteNotes } from "./route-notes.ts";
import { StorageFaults } from "./storage-faults.ts";
import { type SqlWatch, WatchedSql } from "./watched-sql.ts";
import type { World } from "./world.ts";

/** One life of the object, from its start to its crash or eviction. */
interface Incarnation {
  alive: boolean;
  engine: Engine;
  /** Calls under way, with what to do when the object goes. */
  underWay: Set<() => void>;
}

/** An answer takes so long at most, beside its wait: some reads of a log that is slow and down for a while. */
const MAX_ANSWER_MS = 20_000;

/**
 * Hosts the object of one tenant as the platform would, only worse: its storage and alarm last, everything
 * else goes with each crash. Calls travel, get lost and come twice as the faults say.
 */
export class ObjectHost {
  readonly history: History;
  sql = new NodeSql();
  faults: Faults;
  skewMs = 0;
  private readonly alarm: ObjectAlarm;
  private readonly tenant: string;
  private readonly world: World;
  private readonly prng: Prng;
  private readonly outside: LateSite | null;
  private readonly edge: Edge | null;
  private readonly calls: CallWay;
  private readonly logWay: LogWay;
  private readonly observer: LogObserver | LateObserver;
  private cacheCheck: CacheCheck;
  private current: Incarnation | null = null;
  readonly storageFaults: StorageFaults;
  private readonly grants: GrantNotes;
  private readonly routes: RouteNotes;
  /** Something of it ran in this step. */
  private moved = false;

  /** `lateness`: of a log outside the object; null where the object holds it. */
  constructor(tenant: string, world: World, prng: Prng, faults: Faults, lateness: Lateness | null) {
    this.tenant = tenant;
    this.world = world;
    this.prng = prng;
    this.faults = faults;
    const outside = lateness && new LateSite(tenant, world, prng.fork(), () => this.faults, lateness);
    this.history = new History(
      tenant,
      () => world.nextSeq(),
      () => this.nowMs(),
      outside && (() => outside.nowMs()),
    );
    this.outside = outside;
    this.grants = new GrantNotes(this.history);
    this.routes = new RouteNotes(this.history);
    const outlives = { outlives: outside !== null };
    const { history } = this;
    const noteFailure = () => history.storageFailureSeqs.push(history.seq());
    this.storageFaults = new StorageFaults(prng, () => this.crashInside(), noteFailure);
    this.alarm = new ObjectAlarm(world, this.history);
    this.calls = new CallWay(tenant, world, prng, () => this.faults);
    this.logWay = new LogWay(tenant, world, prng, () => this.faults, this.history, outlives);
    this.edge = outside && this.makeEdge(outside);
    this.observer = outside
      ? new LateObserver(outside.database, this.history)
      : new LogObserver(this.sql, this.history);
    this.cacheCheck = new CacheCheck(this.sql, this.history);
    migrate(this.sql, { nowMs: () => this.nowMs() }, OBJECT_SCHEMA);
  }

  nowMs(): number {
    return this.world.trueMs + this.skewMs;
  }

  /** Sends a call on its way; `onReply` is called once, with null when the outcome stays unknown. */
  send<N extends CommandName>(name: N, input: CommandInput<N>, onReply: Answer<N>): void {
    if (this.outside && name === "publish") {
      this.sendDirect(input as CommandInput<"publish">, onReply as Answer<"publish">);
      return;
    }
    this.calls.travel(name, onReply, (answer) => this.arrive(name, input, answer));
  }

  /** Publishes into the log, past the object; where the log is elsewhere that is the way of every publish. */
  sendDirect(input: CommandInput<"publish">, onReply: Answer<"publish">): void {
    this.calls.travel("publish", onReply, (answer) => {
      if (this.edge) {
        this.edge.publish(input, answer);
        return;
      }
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

  /** Publishes with an insert that stays open so long; without a hint the object has to find it by itself. */
  publishLate(
    input: CommandInput<"publish">,
    { openMs, isHinted }: { openMs: number; isHinted: boolean },
    onReply: Answer<"publish">,
  ): void {
    this.outside?.forceFate({ openMs, fails: false });
    const { lostHint } = this.faults;
    if (!isHinted) this.faults = { ...this.faults, lostHint: 1 };
    this.send("publish", input, (reply) => {
      this.faults = { ...this.faults, lostHint };
      onReply(reply);
    });
  }

  private arrive<N extends CommandName>(name: N, input: CommandInput<N>, answer: Answer<N>): void {
    const life = this.incarnation();
    const call = this.history.started(name, input);
    this.follow(life, call, life.engine.call(name, input), this.throughEdge(call, answer));
  }

  /** Where the edge reads the bodies, a take ends with its reply, whether or not the object still lives then. */
  private throughEdge<N extends CommandName>(call: Call<N>, answer: Answer<N>): Answer<N> {
    const { edge } = this;
    if (!edge || call.name !== "take") return answer;
    const take = call as unknown as Call<"take">;
    return (reply) => edge.complete(take, reply as Reply<"take">, answer as Answer<"take">);
  }

  private makeEdge({ log }: LateSite): Edge {
    const { world, prng, history, logWay: way } = this;
    return new Edge({
      ...{ world, prng: prng.fork(), history, log, way },
      isHintLost: () => prng.chance(this.faults.lostHint),
      send: (name, input, onReply) => this.send(name, input, onReply),
    });
  }

  private follow<N extends CommandName>(
    life: Incarnation,
    call: Call<N>,
    run: Promise<Outcome<CommandValue<N>>>,
    answer: Answer<N>,
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
      beforeStatement: () => this.storageFaults.beforeStatement(),
      afterCommit: () => {
        this.routes.committed(this.sql, this.grants.beforeSeq);
        this.grants.committed();
        this.storageFaults.afterCommit();
      },
      wrote: (query, params) => this.wrote(query, params),
      rolledBack: () => this.rolledBack(),
    };
    const sql = new WatchedSql(this.sql, watch);
    const clock = { nowMs: () => this.nowMs() };
    const embedded = this.outside ? null : new ObjectLog(this.tenant, sql, clock);
    const log = this.outside?.log ?? embedded;
    if (!log) throw new Error("no log");
    const ports = this.portsOf(life, sql);
    const caller = {
      isAlive: () => life.alive,
      moved: () => {
        this.moved = true;
      },
    };
    const gated = gatedLog(log, (method, args, work) => this.logWay.run(method, args, caller, work));
    life.engine = new Engine(this.tenant, ports, gated, embedded);
    this.cacheCheck.follow(life.engine.tenant);
    // A log outside has its hints from the edge, where they get lost.
    if (!this.outside) this.loseHintsOf(life.engine.tenant.wake);
    return life;
  }

  private loseHintsOf(wake: WakeSchedule): void {
    const topicGrew = wake.topicGrew.bind(wake);
    wake.topicGrew = (...growth) => {
      if (!this.prng.chance(this.faults.lostHint)) topicGrew(...growth);
    };
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
        get: () => this.alarm.atMs,
        set: (atMs) => {
          if (life.alive) this.alarm.set(atMs, this.prng.int(0, this.faults.lateTimerMs));
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

  private wrote(query: string, params: readonly (string | number | null | Uint8Array)[]): void {
    this.observer.wrote(query);
    this.cacheCheck.noteWrite(query);
    this.routes.wrote(query);
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
    this.storageFaults.crashed();
    const life = this.current;
    if (!life) return;
    this.world.trace(`${this.tenant} crash ${how}`);
    life.alive = false;
    this.history.crashes.push(this.history.moment());
    this.current = null;
    // What was committed before counts; what is in the transaction under way is rolled back with it.
    const underWay = [...life.underWay];
    life.underWay.clear();
    for (const gone of underWay) gone();
    this.alarm.died();
    this.moved = true;
  }

  /** No more faults. */
  quieten(): void {
    this.storageFaults.disarm();
    this.logWay.down(0);
    this.faults = { ...NO_FAULTS, logDelayMs: Math.min(this.faults.logDelayMs, NO_FAULTS.logDelayMs) };
  }

  close(): void {
    this.sql.close();
  }

  logOutage(lastsMs: number): void {
    this.logWay.down(lastsMs);
  }

  /** The object goes with its storage and alarm. */
  lose(): void {
    this.history.losses.push(this.history.moment());
    this.crash("with its storage");
    this.sql.close();
    this.sql = new NodeSql();
    migrate(this.sql, { nowMs: () => this.nowMs() }, OBJECT_SCHEMA);
    this.cacheCheck = new CacheCheck(this.sql, this.history);
    this.routes.lost();
    this.alarm.atMs = null;
  }

  get lateness(): Lateness | null {
    return this.outside?.lateness ?? null;
  }

  stepDatabaseClock(byMs: number): void {
    if (!this.outside) return;
    const beforeMs = this.outside.nowMs();
    this.outside.skewMs += byMs;
    this.history.logJumped(beforeMs, this.outside.nowMs());
    this.world.trace(`${this.tenant} clock of the database steps by ${byMs}`);
  }

  /** Messages of a topic that the log holds. */
  messagesOf(topic: string): number {
    if (this.outside) return this.outside.database.table(this.tenant, topic).rows.length;
    const [row] = this.sql.all("SELECT count(*) AS n FROM queue_messages WHERE topic = ?", topic);
    return Number(row?.n);
  }

  jumpClock(byMs: number): void {
    const beforeMs = this.nowMs();
    this.skewMs += byMs;
    this.history.jumped(beforeMs, this.nowMs());
    this.world.trace(`${this.tenant} clock jumps by ${byMs}`);
  }

  /** True time at which the alarm is due; null if none is set. */
  alarmTrueMs(): number | null {
    return this.alarm.trueMs(this.skewMs);
  }

  fireAlarm(kind: "due" | "odd"): void {
    this.world.trace(`${this.tenant} alarm ${kind}`);
    const life = this.incarnation();
    this.alarm.started(kind);
    life.engine.alarm().then(() => {
      if (life === this.current) this.alarm.ended();
    }, this.world.failed);
  }

  /** After each step of the world: what the log holds now, and whether the cache equals the rows. */
  afterStep(): void {
    // Messages appear in a log outside whether or not the object does anything.
    if (this.outside) this.observer.look();
    if (!this.moved) return;
    this.moved = false;
    if (!this.outside) this.observer.look();
    if (this.current) this.cacheCheck.afterStep(this.current.engine.tenant);
  }
}
