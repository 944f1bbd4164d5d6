import type { CommandName, CommandValue } from "../../src/durable/engine.ts";
import type { Outcome } from "../../src/protocol/tenant-calls.ts";
import type { Prng } from "./prng.ts";
import type { Faults } from "./profile.ts";
import type { World } from "./world.ts";

/** What a caller gets: an answer, or nothing (then the outcome is unknown). */
export type Reply<N extends CommandName> = Outcome<CommandValue<N>> | null;
export type Answer<N extends CommandName> = (reply: Reply<N>) => void;

/** A caller gives up after this; the call itself may still be under way. */
const CALLER_PATIENCE_MS = 30_000;

/** The way of calls and their replies: they take time, get lost and come twice. */
export class CallWay {
  private readonly name: string;
  private readonly world: World;
  private readonly prng: Prng;
  private readonly faults: () => Faults;

  constructor(name: string, world: World, prng: Prng, faults: () => Faults) {
    this.name = name;
    this.world = world;
    this.prng = prng;
    this.faults = faults;
  }

  /** `onReply` is called once, with null when the outcome stays unknown; `arrive` once for each copy that arrives. */
  travel<N extends CommandName>(name: N, onReply: Answer<N>, arrive: (answer: Answer<N>) => void): void {
    const { world, prng } = this;
    const { lostRequest, duplicateCall, networkDelayMs } = this.faults();
    let replied = false;
    const reply = (value: Reply<N>) => {
      if (replied) return;
      replied = true;
      world.trace(`${this.name} ${name} -> ${value === null ? "?" : JSON.stringify(value)}`);
      onReply(value);
    };
    const cancel = world.after(CALLER_PATIENCE_MS, `${name} gives up`, () => reply(null));
    if (prng.chance(lostRequest)) return;
    // A receive is never sent twice by the way: each has a name of its own.
    const copies = name !== "take" && prng.chance(duplicateCall) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      world.after(prng.int(0, networkDelayMs), `${this.name} ${name}`, () =>
        arrive((value) => {
          const lost = prng.chance(this.faults().lostReply);
          const backMs = prng.int(0, this.faults().networkDelayMs);
          world.after(backMs, `${this.name} reply of ${name}`, () => {
            cancel();
            reply(lost ? null : value);
          });
        }),
      );
    }
  }
}
