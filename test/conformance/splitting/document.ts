import type { Checkpoint, CheckpointPort, InventoryPort } from "../../../src/splitting/engine.ts";
import { Unprovable } from "../../../src/splitting/engine-failures.ts";
import { AbsenceProof } from "../../../src/splitting/quiescence-proof.ts";
import type { AgentReport, PersonEvent } from "../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../src/splitting/state/split-state.ts";
import type { Journal } from "./journal.ts";
import { type AgentDesk, type Keeper, PREFIX, QUEUE, type Seen } from "./keeper.ts";
import type { AgentHost, Probe } from "./probe.ts";

/**
 * The durable state document of a scenario: notes in the journal what comes of each change, and makes of an agent's reports
 * the ports of its engine. Each report is persisted before its answer, and is a place for the agent to die at.
 */
export class SplitDocument {
  private readonly keeper: Keeper;
  private readonly journal: Journal;
  private noted: SplitState;

  constructor(keeper: Keeper, { provider, names: { source: sourceName }, journal }: Probe) {
    this.keeper = keeper;
    this.journal = journal;
    keeper.ask({ kind: "declare", prefix: PREFIX, sources: [{ queue: QUEUE, provider, sourceName }] });
    this.noted = keeper.read();
    this.ask({ kind: "start", splitId: "split-1" });
  }

  read(): SplitState {
    return this.noted;
  }

  ask(event: PersonEvent): void {
    this.keeper.ask(event);
    this.note();
  }

  join(agent: AgentHost): DocumentOfAgent {
    const desk = this.keeper.join(agent);
    this.note();
    return new DocumentOfAgent(desk, agent, () => this.note());
  }

  /** What the journal's readers want to know of the change, if there was one. */
  private note(): void {
    const before = this.noted;
    const now = this.keeper.read();
    this.noted = now;
    if (before.enteredGeneration !== now.enteredGeneration) {
      this.journal.add({ kind: "phase", phase: now.phase.name });
    }
    if (before.resources === now.resources) return;
    const had = new Set(before.resources.map(({ name }) => name));
    const has = new Set(now.resources.map(({ name }) => name));
    for (const name of has) if (!had.has(name)) this.journal.add({ kind: "recorded", name });
    for (const name of had) if (!has.has(name)) this.journal.add({ kind: "forgotten", name });
  }
}

/** The document as one agent has it: what it was told, and what it tells. */
export class DocumentOfAgent {
  readonly inventory: InventoryPort;
  readonly checkpoints: CheckpointPort;
  private readonly desk: AgentDesk;
  private readonly agent: AgentHost;
  private readonly changed: () => void;

  constructor(desk: AgentDesk, agent: AgentHost, changed: () => void) {
    this.desk = desk;
    this.agent = agent;
    this.changed = changed;
    this.inventory = this.makeInventory();
    this.checkpoints = {
      read: () => (desk.seen().sources[0]?.checkpoint ?? null) as Checkpoint | null,
      save: (checkpoint) => this.report({ kind: "checkpointed", queue: QUEUE, checkpoint }),
    };
  }

  get epoch(): number {
    return this.desk.epoch;
  }

  seen(): Seen {
    return this.desk.seen();
  }

  async report(report: AgentReport): Promise<void> {
    const { enteredGeneration } = this.desk.seen();
    await this.agent.persist(() => {
      this.desk.report(report, enteredGeneration);
      this.changed();
    });
  }

  private makeInventory(): InventoryPort {
    return {
      list: () => this.desk.seen().resources,
      record: (kind, slot) => this.report({ kind: "record", resources: [{ kind, queue: QUEUE, slot }] }),
      markCreated: (name) => this.report({ kind: "created", names: [name] }),
      markDeleting: async (name, proof) => {
        proof.use(QUEUE, name, this.agent.clock.nowMs());
        await this.report({ kind: "deleting", name, evidence: `empty and unattended at ${proof.takenAtMs}` });
      },
      forget: async (name, proof) => {
        if (!(proof instanceof AbsenceProof) || !proof.covers(name)) {
          throw new Unprovable(QUEUE, `there is no proof that ${name} is gone`);
        }
        await this.report({ kind: "deleted", name, evidence: "not there" });
      },
    };
  }
}
