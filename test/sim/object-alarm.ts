import type { History } from "./history.ts";
import type { World } from "./world.ts";

/** What is due together comes together: some a second are plenty. */
const MAX_ALARMS_PER_SECOND = 100;
/** One whose handler died comes again after so long. */
const AGAIN_MS = 2000;

/** The one alarm of an object: it lasts, it may be late, and it comes again when its handler died. */
export class ObjectAlarm {
  /** By the object's clock; null: not set. */
  atMs: number | null = null;
  private lateMs = 0;
  private runs = false;
  private second = 0;
  private firedInSecond = 0;
  private readonly world: World;
  private readonly history: History;

  constructor(world: World, history: History) {
    this.world = world;
    this.history = history;
  }

  set(atMs: number, lateMs: number): void {
    this.atMs = Math.max(Math.ceil(atMs), this.history.clockMs() + 1);
    this.lateMs = lateMs;
  }

  /** True time at which it is due; null if it is not set. */
  trueMs(skewMs: number): number | null {
    return this.atMs === null ? null : this.atMs - skewMs + this.lateMs;
  }

  /** As the platform does: it is forgotten when its handler starts. */
  started(kind: "due" | "odd"): void {
    if (kind === "due") {
      this.noteDue();
      this.atMs = null;
    }
    this.runs = true;
  }

  ended(): void {
    this.runs = false;
  }

  died(): void {
    if (this.runs)
      this.atMs = Math.min(this.atMs ?? Number.POSITIVE_INFINITY, this.history.clockMs() + AGAIN_MS);
    this.runs = false;
  }

  /** One that comes again and again at once does nothing but cost. */
  private noteDue(): void {
    const second = Math.floor(this.world.trueMs / 1000);
    if (second !== this.second) this.firedInSecond = 0;
    this.second = second;
    this.firedInSecond += 1;
    if (this.firedInSecond === MAX_ALARMS_PER_SECOND)
      this.history.violate("G11", `the alarm spins: ${MAX_ALARMS_PER_SECOND} times in a second`);
  }
}
