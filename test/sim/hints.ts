import type { NotifyInput } from "../../src/protocol/tenant-calls.ts";
import type { Prng } from "./prng.ts";
import type { World } from "./world.ts";

/** Hints that meet within so long go together. */
const JOIN_MS = 10;

type Offsets = NotifyInput["offsets"];

interface Pending {
  offsets: Offsets;
  /** Called once, with whether the object heard of it. */
  ends: ((delivered: boolean) => void)[];
}

/**
 * Tells the object that topics grew, as the edge does: one hint at a time for a topic, those that come meanwhile
 * are merged into the next. Some get lost.
 */
export class Hints {
  private readonly world: World;
  private readonly prng: Prng;
  private readonly isLost: () => boolean;
  private readonly notify: (input: NotifyInput, done: (delivered: boolean) => void) => void;
  private readonly pending = new Map<string, Pending>();
  private readonly underWay = new Set<string>();

  constructor(
    world: World,
    prng: Prng,
    isLost: () => boolean,
    notify: (input: NotifyInput, done: (delivered: boolean) => void) => void,
  ) {
    this.world = world;
    this.prng = prng;
    this.isLost = isLost;
    this.notify = notify;
  }

  tell(topic: string, offsets: Offsets, ended: (delivered: boolean) => void): void {
    const known = this.pending.get(topic);
    if (known) {
      known.offsets = merged(known.offsets, offsets);
      known.ends.push(ended);
      return;
    }
    this.pending.set(topic, { offsets, ends: [ended] });
    if (!this.underWay.has(topic)) this.sendSoon(topic);
  }

  private sendSoon(topic: string): void {
    this.underWay.add(topic);
    this.world.after(this.prng.int(0, JOIN_MS), "hint", () => this.send(topic));
  }

  private send(topic: string): void {
    const next = this.pending.get(topic);
    this.pending.delete(topic);
    if (!next) {
      this.underWay.delete(topic);
      return;
    }
    const done = (delivered: boolean) => {
      for (const ended of next.ends) ended(delivered);
      this.sendSoon(topic);
    };
    if (this.isLost()) done(false);
    else this.notify({ topic, offsets: next.offsets }, done);
  }
}

/** What is not known of one is not known of both. */
function merged(a: Offsets, b: Offsets): Offsets {
  if (a === null || b === null) return null;
  return { lowest: Math.min(a.lowest, b.lowest), highest: Math.max(a.highest, b.highest) };
}
