import { logUnreachable } from "./gated-log.ts";
import type { Checkpoint, History } from "./history.ts";
import type { Prng } from "./prng.ts";
import type { Faults } from "./profile.ts";
import type { World } from "./world.ts";

/** Who waits for an answer of the log. */
export interface LogCaller {
  isAlive(): boolean;
  /** It goes on after a wait. */
  moved(): void;
}

/** Whoever is gone hears nothing any more. */
const NEVER = new Promise<never>(() => {});

/** The way to the log and back: calls wait before and after they took effect, fail before or after it, or go unheard. */
export class LogWay {
  private readonly name: string;
  private readonly world: World;
  private readonly prng: Prng;
  private readonly faults: () => Faults;
  private readonly history: History;
  /** The log is elsewhere: what was sent takes effect even when its sender is gone. */
  private readonly outlives: boolean;
  private downUntilMs = 0;

  constructor(
    name: string,
    world: World,
    prng: Prng,
    faults: () => Faults,
    history: History,
    options: { outlives: boolean },
  ) {
    this.name = name;
    this.world = world;
    this.prng = prng;
    this.faults = faults;
    this.history = history;
    this.outlives = options.outlives;
  }

  /** Nothing gets through for so long; 0 ends it. */
  down(lastsMs: number): void {
    this.downUntilMs = this.world.trueMs + lastsMs;
  }

  run(
    method: string,
    args: readonly unknown[],
    caller: LogCaller,
    work: () => Promise<unknown>,
  ): Promise<unknown> {
    const run = this.go(method, caller, work);
    if (method === "saveProgress" && this.outlives) this.noteCheckpoint(args as [string, string], run);
    return run;
  }

  private noteCheckpoint([topic, group]: [string, string], run: Promise<unknown>): void {
    const { history } = this;
    const checkpoint: Checkpoint = { topic, group, end: null, ok: false };
    history.checkpoints.push(checkpoint);
    const ended = (ok: boolean) => {
      checkpoint.end = history.moment();
      checkpoint.ok = ok;
    };
    run.then(
      () => ended(true),
      () => ended(false),
    );
  }

  private async go(method: string, caller: LogCaller, work: () => Promise<unknown>): Promise<unknown> {
    const { prng, world } = this;
    const { logFailure } = this.faults();
    const fails = world.trueMs < this.downUntilMs || prng.chance(logFailure);
    const failsAfter = fails && prng.chance(0.4);
    if (fails) this.history.logFailures.push(this.history.moment());
    await this.pause(caller, method);
    if (fails && !failsAfter) {
      return this.answer(caller, () => {
        throw logUnreachable();
      });
    }
    const value = await this.heard(caller, work);
    await this.pause(caller, method);
    return this.answer(caller, () => {
      if (failsAfter) throw logUnreachable();
      return value;
    });
  }

  private async heard(caller: LogCaller, work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await work();
    } catch (error) {
      return this.answer(caller, () => {
        throw error;
      });
    }
  }

  private answer(caller: LogCaller, end: () => unknown): unknown {
    return this.outlives && !caller.isAlive() ? NEVER : end();
  }

  private pause(caller: LogCaller, method: string): Promise<void> {
    const { logDelayMs } = this.faults();
    if (logDelayMs === 0 || this.prng.chance(0.4)) return Promise.resolve();
    const delayMs = this.prng.int(0, logDelayMs);
    return new Promise((resolve) => {
      this.world.after(delayMs, `${this.name} log ${method}`, () => {
        if (!this.outlives && !caller.isAlive()) return;
        if (caller.isAlive()) caller.moved();
        resolve();
      });
    });
  }
}
