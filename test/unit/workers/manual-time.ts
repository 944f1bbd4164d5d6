import type { After } from "../../../src/workers/http/deadline.ts";

/** More turns than any chain of promises in the tests is long. */
const TURNS = 30;

/** A clock that moves when the test says so, and the timers that hang on it. */
export class ManualTime {
  nowMs = 1_000_000;
  private readonly timers = new Set<{ atMs: number; task: () => void }>();

  readonly after: After = (delayMs, task) => {
    const timer = { atMs: this.nowMs + delayMs, task };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  };

  get pendingTimers(): number {
    return this.timers.size;
  }

  /** Lets everything run that waits for no timer. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
  }

  /** Fires what is due on the way, in order, each at its own time. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.nowMs + byMs;
    await this.settle();
    for (;;) {
      const due = [...this.timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.timers.delete(due);
      this.nowMs = Math.max(this.nowMs, due.atMs);
      due.task();
      await this.settle();
    }
    this.nowMs = endMs;
  }
}
