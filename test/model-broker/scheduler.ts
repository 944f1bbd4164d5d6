import { Prng } from "../sim/prng.ts";

/** More than any scenario takes; whoever gets here waits for what will not come. */
const MAX_TICKS = 400_000;

/** An operating-system process of the model: it can be paused and resumed, and it can die. */
export class ModelProcess {
  readonly name: string;
  state: "running" | "paused" | "dead" = "running";
  /** Operations that this process had carried out. */
  steps = 0;
  readonly onDeath: (() => void)[] = [];
  /** Ends its connections; it lives on. */
  cut: () => void = () => {};

  constructor(name: string) {
    this.name = name;
  }
}

/** What one process asks of the broker or of the document's store, one after the other, as over one connection. */
export class Lane {
  readonly process: ModelProcess;
  readonly waiting: Operation[] = [];

  constructor(process: ModelProcess) {
    this.process = process;
  }
}

interface Operation {
  label: string;
  effect: () => unknown;
  resolve: (value: never) => void;
  reject: (reason: unknown) => void;
}

interface Timer {
  atMs: number;
  order: number;
  process: ModelProcess;
  resolve: () => void;
}

export interface Crash {
  /** The n-th step of the process, from 1, or the n-th of that label. */
  at: { step: number } | { label: string; nth: number };
  /** cut: the effect happens, its answer is lost with every connection of the process, and the process lives on. */
  when: "before" | "after" | "cut";
}

/**
 * Carries out one operation at a time, in an order that the seed decides among the lanes; within a lane in the order
 * asked. Time stands still while there is an operation and then jumps to the next timer. Each operation is a place
 * where its process can die: before the effect, or after it and before the answer. A dead process hears nothing more:
 * its promises stay open for ever, as those of a real one.
 *
 * Invariants: between two operations every promise that can go on has gone on; nothing depends on real time.
 */
export class Scheduler {
  nowMs = Date.UTC(2026, 0, 1);
  private readonly random: Prng;
  private readonly lanes: Lane[] = [];
  private timers: Timer[] = [];
  private crash: { process: ModelProcess; plan: Crash; seen: number } | null = null;
  private ticks = 0;
  private timerOrder = 0;
  private running = false;
  private closed = false;
  private readonly quiet: (() => void)[] = [];
  private readonly watching: (() => void)[] = [];

  constructor(seed: number) {
    this.random = new Prng(seed);
  }

  lane(process: ModelProcess): Lane {
    const lane = new Lane(process);
    this.lanes.push(lane);
    return lane;
  }

  perform<T>(lane: Lane, label: string, effect: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      lane.waiting.push({ label, effect, resolve: resolve as (value: never) => void, reject });
      this.wake();
    });
  }

  wait(process: ModelProcess, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.timers.push({ atMs: this.nowMs + ms, order: this.timerOrder++, process, resolve });
      this.wake();
    });
  }

  crashAt(process: ModelProcess, plan: Crash): void {
    this.crash = { process, plan, seen: 0 };
  }

  forgetCrash(): void {
    this.crash = null;
  }

  kill(process: ModelProcess): void {
    if (process.state === "dead") return;
    process.state = "dead";
    this.timers = this.timers.filter((timer) => timer.process !== process);
    for (const lane of this.lanes.filter((each) => each.process === process)) this.drop(lane);
    for (const hear of process.onDeath) hear();
  }

  resume(process: ModelProcess): void {
    if (process.state === "paused") process.state = "running";
    this.wake();
  }

  /** Takes a lane away; what waits in it fails with `reason`, or is never heard of where there is none. */
  drop(lane: Lane, reason?: Error): void {
    const index = this.lanes.indexOf(lane);
    if (index >= 0) this.lanes.splice(index, 1);
    const waiting = lane.waiting.splice(0);
    if (reason) for (const operation of waiting) operation.reject(reason);
  }

  /**
   * Resolves when nothing but timers was left to do, so many times over, and one of them, if there is one, went
   * off.
   */
  async quietly(times = 1): Promise<void> {
    for (let round = 0; round < times; round++) {
      await new Promise<void>((resolve) => {
        this.quiet.push(resolve);
        this.wake();
      });
    }
  }

  /** Resolves after one operation, or one timer where there is none. */
  async nextRound(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.watching.push(resolve);
      this.wake();
    });
  }

  /** So much time passes at once: what was due in it is due now. */
  leap(ms: number): void {
    this.nowMs += ms;
  }

  close(): void {
    this.closed = true;
    this.timers = [];
    for (const lane of [...this.lanes]) this.drop(lane);
  }

  private wake(): void {
    if (this.running || this.closed) return;
    this.running = true;
    setImmediate(() => this.tick());
  }

  private tick(): void {
    this.running = false;
    if (this.closed) return;
    const ready = this.lanes.filter((lane) => lane.waiting.length > 0 && lane.process.state === "running");
    if (++this.ticks > MAX_TICKS) {
      this.exhaust();
      return;
    }
    if (ready.length > 0) this.carryOut(this.random.pick(ready));
    else {
      const fired = this.fireTimer();
      if (!fired && this.quiet.length === 0 && this.watching.length === 0) return;
      for (const resolve of this.quiet.splice(0)) resolve();
    }
    for (const resolve of this.watching.splice(0)) resolve();
    this.wake();
  }

  private carryOut(lane: Lane): void {
    const operation = lane.waiting.shift() as Operation;
    const { process } = lane;
    process.steps++;
    const when = this.crashOf(process, operation.label);
    if (when === "before") {
      this.kill(process);
      return;
    }
    let answer: () => void;
    try {
      const value = operation.effect();
      answer = () => operation.resolve(value as never);
    } catch (error) {
      answer = () => operation.reject(error);
    }
    if (when === "after") this.kill(process);
    else if (when === "cut") this.cut(lane, operation, answer);
    else answer();
  }

  /** What was on its way over a connection fails with it. The document's store is reached by other means. */
  private cut(lane: Lane, operation: Operation, answer: () => void): void {
    lane.waiting.unshift(operation);
    lane.process.cut();
    const index = lane.waiting.indexOf(operation);
    if (index < 0) return;
    lane.waiting.splice(index, 1);
    answer();
  }

  private crashOf(process: ModelProcess, label: string): Crash["when"] | null {
    const crash = this.crash;
    if (crash?.process !== process) return null;
    const { at, when } = crash.plan;
    if ("step" in at) {
      if (process.steps !== at.step) return null;
    } else if (at.label !== label || ++crash.seen !== at.nth) {
      return null;
    }
    this.crash = null;
    return when;
  }

  private fireTimer(): boolean {
    const due = this.timers.filter((timer) => timer.process.state === "running");
    due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
    const next = due[0];
    if (!next) return false;
    this.timers.splice(this.timers.indexOf(next), 1);
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.resolve();
    return true;
  }

  private exhaust(): void {
    const reason = new Error(`the model did ${MAX_TICKS} steps without an end`);
    for (const lane of [...this.lanes]) this.drop(lane, reason);
    this.closed = true;
  }
}
