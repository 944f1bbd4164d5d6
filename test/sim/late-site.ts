import { logUnreachable } from "./gated-log.ts";
import { LateDatabase } from "./late-database.ts";
import { LateLog } from "./late-log.ts";
import type { InsertFate } from "./late-table.ts";
import type { Prng } from "./prng.ts";
import type { Faults, Lateness } from "./profile.ts";
import type { World } from "./world.ts";

/** A short wait within which most inserts commit: dispatch never takes it for lateness. Milliseconds. */
const USUAL_OPEN_MS = 20;

/** The database of one tenant in the world of the simulator, which no object takes with it. */
export class LateSite {
  readonly database: LateDatabase;
  readonly log: LateLog;
  /** By which the database's clock is ahead of true time. */
  skewMs: number;
  private readonly forced: InsertFate[] = [];
  private readonly world: World;
  private readonly prng: Prng;
  private readonly faults: () => Faults;
  readonly lateness: Lateness;

  constructor(tenant: string, world: World, prng: Prng, faults: () => Faults, lateness: Lateness) {
    this.world = world;
    this.prng = prng;
    this.faults = faults;
    this.lateness = lateness;
    this.skewMs = lateness.skewMs;
    this.database = new LateDatabase(
      {
        nowMs: () => this.nowMs(),
        trueMs: () => world.trueMs,
        drawFate: () => this.drawFate(),
        wait: (delayMs) => new Promise((resolve) => world.after(delayMs, `${tenant} insert`, resolve)),
        betweenStatements: async () => {
          if (this.prng.chance(this.faults().logFailure)) throw logUnreachable();
        },
      },
      { killAfterMs: lateness.killAfterMs, tellsOffsets: lateness.tellsOffsets },
    );
    this.log = new LateLog(tenant, this.database, { commitHorizonMs: lateness.commitHorizonMs });
  }

  nowMs(): number {
    return this.world.trueMs + this.skewMs;
  }

  /** What will happen to the next insert that would store something. */
  forceFate(fate: InsertFate): void {
    this.forced.push(fate);
  }

  private drawFate(): InsertFate {
    const forced = this.forced.shift();
    if (forced) return forced;
    const { prng, lateness } = this;
    const { lateCommit, insertFailure } = this.faults();
    const fails = prng.chance(insertFailure);
    if (prng.chance(lateCommit)) return { openMs: prng.int(USUAL_OPEN_MS + 1, lateness.maxOpenMs), fails };
    return { openMs: prng.chance(0.5) ? 0 : prng.int(1, USUAL_OPEN_MS), fails };
  }
}
