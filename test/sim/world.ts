import { createHash } from "node:crypto";
import { EventQueue } from "./event-queue.ts";
import type { ObjectHost } from "./object-host.ts";
import { Prng } from "./prng.ts";

/** True time of the first step; offsets count from 2020, so any later year does. */
const START_MS = Date.UTC(2027, 0, 15);
const MAX_TRACE_LINES = 20_000;
/** Steps of one run; a run that needs more does not come to rest. */
export const MAX_STEPS = 40_000;

/**
 * A world of one thread: events in one queue, ordered by true time and the seed. A step runs one event and all
 * promise continuations that follow from it.
 */
export class World {
  readonly prng: Prng;
  readonly hosts: ObjectHost[] = [];
  trueMs = START_MS;
  steps = 0;
  readonly lines: string[] = [];
  private readonly queue: EventQueue;
  private readonly hash = createHash("sha256");
  private seq = 0;
  private failure: unknown = null;

  constructor(seed: number) {
    this.prng = new Prng(seed);
    this.queue = new EventQueue(this.prng.fork());
  }

  nextSeq(): number {
    this.seq += 1;
    return this.seq;
  }

  /** For promises that never reject: a rejection is a defect of the simulator and ends the run. */
  readonly failed = (error: unknown): void => {
    this.failure ??= error;
  };

  trace(line: string): void {
    const text = `${this.trueMs - START_MS} ${line}`;
    this.hash.update(text).update("\n");
    this.lines.push(text);
    if (this.lines.length > MAX_TRACE_LINES * 2) this.lines.splice(0, MAX_TRACE_LINES);
  }

  traceHash(): string {
    return this.hash.copy().digest("hex").slice(0, 16);
  }

  /** Runs `task` after a delay of true time. */
  after(delayMs: number, label: string, task: () => void): () => void {
    return this.queue.add(this.trueMs + delayMs, label, () => {
      this.trace(label);
      task();
    });
  }

  /** Runs until true time `untilMs`, or until nothing is left to happen. Returns false when steps ran out. */
  async runUntil(untilMs: number): Promise<boolean> {
    for (;;) {
      if (this.steps >= MAX_STEPS) return false;
      const alarm = this.nextAlarm();
      const eventAtMs = this.queue.peekAtMs();
      const nextMs = Math.min(alarm?.atMs ?? Number.POSITIVE_INFINITY, eventAtMs ?? Number.POSITIVE_INFINITY);
      if (nextMs > untilMs) {
        this.trueMs = Math.max(this.trueMs, untilMs);
        return true;
      }
      this.trueMs = Math.max(this.trueMs, nextMs);
      if (alarm && (eventAtMs === null || alarm.atMs < eventAtMs)) alarm.host.fireAlarm("due");
      else this.queue.take().run();
      await this.settle();
    }
  }

  private async settle(): Promise<void> {
    this.steps += 1;
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failure !== null) throw this.failure;
    for (const host of this.hosts) host.afterStep();
  }

  private nextAlarm(): { host: ObjectHost; atMs: number } | null {
    let next: { host: ObjectHost; atMs: number } | null = null;
    for (const host of this.hosts) {
      const atMs = host.alarmTrueMs();
      if (atMs !== null && (next === null || atMs < next.atMs))
        next = { host, atMs: Math.max(atMs, this.trueMs) };
    }
    return next;
  }
}
