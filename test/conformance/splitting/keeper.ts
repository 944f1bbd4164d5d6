import { Fenced } from "../../../src/splitting/engine-failures.ts";
import type { Witness } from "../../../src/splitting/filter/witness.ts";
import type { Refused } from "../../../src/splitting/state/change.ts";
import { invariantProblem } from "../../../src/splitting/state/invariants.ts";
import { newSplit } from "../../../src/splitting/state/new-split.ts";
import { step } from "../../../src/splitting/state/phase-machine.ts";
import type { AgentReport, PersonEvent, SplitEvent } from "../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../src/splitting/state/split-state.ts";
import type { AgentHost, Probe } from "./probe.ts";

export const TENANT = "acme";
export const WORKLOAD = "shop";
export const QUEUE = "orders";
export const PREFIX = "fl";

/** With which route a new one would take the same message, and that message. */
export interface Overlap {
  route: string;
  witness: Witness;
}

/** A no to a report or to a person. */
export class EventRefused extends Error {
  readonly overlap: Overlap | null;

  constructor(event: string, reason: string, overlap: Overlap | null = null) {
    super(`${event}: ${reason}`);
    this.overlap = overlap;
  }
}

/** What an agent knows of the document. */
export type Seen = Pick<SplitState, "phase" | "enteredGeneration" | "sources" | "routes" | "resources">;

/** One agent's way to the document. */
export interface AgentDesk {
  epoch: number;
  seen(): Seen;
  /** Stored when it returns. Throws `Fenced` where a newer agent is there, and `EventRefused`. */
  report(report: AgentReport, enteredGeneration: number): void;
}

/** Who keeps the durable document of a scenario. It outlives every agent. */
export interface Keeper {
  /** As it is stored. Not to be changed: the next write replaces it. */
  read(): SplitState;
  /** What people want. Throws where it is refused. */
  ask(event: PersonEvent): void;
  /** A new agent, which gets the next epoch. */
  join(host: AgentHost): AgentDesk;
}

/** Makes the keeper of a probe's workload, with nothing declared yet. */
export type MakeKeeper = (probe: Probe) => Keeper;

/** The product's own phase machine, and nothing of its storage or protocol. */
class MachineKeeper implements Keeper {
  private state = newSplit({ tenant: TENANT, workload: WORKLOAD }, { generation: 0, agentEpoch: 0 }, PREFIX);
  private readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  read(): SplitState {
    return this.state;
  }

  ask(event: PersonEvent): void {
    const refused = this.take(event);
    if (!refused) return;
    const { reason, route, witness } = refused;
    throw new EventRefused(event.kind, reason, route && witness ? { route, witness } : null);
  }

  join(): AgentDesk {
    this.take({ kind: "agentJoined" });
    const epoch = this.state.agentEpoch;
    return {
      epoch,
      seen: () => this.state,
      report: (report, enteredGeneration) => {
        const refused = this.take({ ...report, epoch, enteredGeneration });
        if (refused?.because === "fenced") throw new Fenced(QUEUE, refused.reason);
        if (refused) throw new EventRefused(report.kind, refused.reason);
      },
    };
  }

  private take(event: SplitEvent): Refused | null {
    const outcome = step(this.state, event, this.nowMs());
    if (outcome.kind !== "next") return outcome.kind === "refused" ? outcome : null;
    const entered = outcome.state.enteredGeneration !== this.state.enteredGeneration;
    const problem = entered ? invariantProblem(outcome.state) : null;
    if (problem !== null) throw new Error(`the document is not valid: ${problem}`);
    this.state = outcome.state;
    return null;
  }
}

export const machineKeeper: MakeKeeper = (probe) => new MachineKeeper(() => probe.nowMs());
