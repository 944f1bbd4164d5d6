import type { ObjectHost } from "./object-host.ts";
import type { Prng } from "./prng.ts";
import type { Lateness } from "./profile.ts";
import type { World } from "./world.ts";

const TICK_MS = 500;

/** Makes what goes wrong in the world of one object, about once a second of true time. */
export class FaultMaker {
  private readonly world: World;
  private readonly host: ObjectHost;
  private readonly prng: Prng;
  private stopped = false;

  constructor(world: World, host: ObjectHost, prng: Prng) {
    this.world = world;
    this.host = host;
    this.prng = prng;
  }

  start(): void {
    this.world.after(this.prng.int(0, 2 * TICK_MS), "faults", () => this.tick());
  }

  stop(): void {
    this.stopped = true;
  }

  private tick(): void {
    if (this.stopped) return;
    const { host, prng } = this;
    const { faults } = host;
    if (prng.chance(faults.crash)) host.storageFaults.armCrash();
    if (prng.chance(faults.eviction)) host.crash("between two steps");
    if (prng.chance(faults.storageFailure)) host.storageFaults.armFailure();
    if (prng.chance(faults.clockJump)) host.jumpClock(this.jumpMs(faults.maxJumpMs));
    if (prng.chance(faults.logOutage)) host.logOutage(prng.int(100, 6000));
    if (prng.chance(faults.oddAlarm)) host.fireAlarm("odd");
    if (host.lateness) this.tickOutside(host.lateness);
    this.start();
  }

  private tickOutside({ maxStepMs }: Lateness): void {
    const { host, prng } = this;
    if (prng.chance(host.faults.databaseStep)) host.stepDatabaseClock(prng.int(-maxStepMs, maxStepMs));
    if (prng.chance(host.faults.objectLoss)) host.lose();
  }

  /** Mostly seconds, sometimes as far as it may. */
  private jumpMs(maxMs: number): number {
    const span = this.prng.chance(0.7) ? Math.min(maxMs, 20_000) : maxMs;
    return this.prng.int(-span, span);
  }
}
