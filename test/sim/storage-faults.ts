import type { Prng } from "./prng.ts";

const MAX_STATEMENTS_AHEAD = 15;

/** Faults that come at a statement of the object's storage: it crashes there, or after a commit, or the statement fails. */
export class StorageFaults {
  private crashIn: number | null = null;
  private crashesAfterCommit = false;
  private failIn: number | null = null;
  private readonly prng: Prng;
  private readonly crash: () => never;
  private readonly noteFailure: () => void;

  constructor(prng: Prng, crash: () => never, noteFailure: () => void) {
    this.prng = prng;
    this.crash = crash;
    this.noteFailure = noteFailure;
  }

  armCrash(): void {
    if (this.prng.chance(0.3)) this.crashesAfterCommit = true;
    else this.crashIn = this.prng.int(1, MAX_STATEMENTS_AHEAD);
  }

  armFailure(): void {
    this.failIn = this.prng.int(1, MAX_STATEMENTS_AHEAD);
  }

  /** It crashed, for whatever reason. */
  crashed(): void {
    this.crashIn = null;
    this.crashesAfterCommit = false;
  }

  disarm(): void {
    this.crashed();
    this.failIn = null;
  }

  beforeStatement(): void {
    if (this.crashIn !== null && --this.crashIn <= 0) this.crash();
    if (this.failIn !== null && --this.failIn <= 0) {
      this.failIn = null;
      this.noteFailure();
      throw new Error("SQLITE_IOERR: injected");
    }
  }

  afterCommit(): void {
    if (this.crashesAfterCommit) this.crash();
  }
}
