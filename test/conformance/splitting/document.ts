import type { Checkpoint, CheckpointPort, InventoryPort } from "../../../src/splitting/engine.ts";
import { Fenced, Unprovable } from "../../../src/splitting/engine-failures.ts";
import { AbsenceProof } from "../../../src/splitting/quiescence-proof.ts";
import type { Refused } from "../../../src/splitting/state/change.ts";
import { invariantProblem } from "../../../src/splitting/state/invariants.ts";
import { newSplit } from "../../../src/splitting/state/new-split.ts";
import { step } from "../../../src/splitting/state/phase-machine.ts";
import type { AgentReport, ConnectionEvent, PersonEvent } from "../../../src/splitting/state/split-event.ts";
import type { Provider, SplitResource, SplitState } from "../../../src/splitting/state/split-state.ts";
import type { Journal } from "./journal.ts";
import type { AgentHost, ScenarioNames } from "./probe.ts";

export const TENANT = "acme";
export const WORKLOAD = "shop";
export const QUEUE = "orders";
export const PREFIX = "fl";

/** The phase machine's no. */
export class EventRefused extends Error {
  readonly refused: Refused;

  constructor(event: string, refused: Refused) {
    super(`${event}: ${refused.reason}`);
    this.refused = refused;
  }
}

/**
 * The durable state document of a scenario, moved by the product's own phase machine. It outlives every agent; each
 * report of an agent is one step of it, and refused where a newer agent was given an epoch.
 */
export class SplitDocument {
  private state: SplitState;
  private readonly journal: Journal;
  private readonly nowMs: () => number;

  constructor(
    provider: Provider,
    { source: sourceName }: ScenarioNames,
    journal: Journal,
    nowMs: () => number,
  ) {
    this.journal = journal;
    this.nowMs = nowMs;
    const identity = { tenant: TENANT, workload: WORKLOAD };
    this.state = newSplit(identity, { generation: 0, agentEpoch: 0 }, PREFIX);
    this.ask({ kind: "declare", prefix: PREFIX, sources: [{ queue: QUEUE, provider, sourceName }] });
    this.ask({ kind: "start", splitId: "split-1" });
  }

  /** Not to be changed: the next write replaces it. */
  read(): SplitState {
    return this.state;
  }

  /** What people want, and what the manager sees by itself: no agent has a part in it. */
  ask(event: PersonEvent | ConnectionEvent): void {
    const outcome = step(this.state, event, this.nowMs());
    if (outcome.kind === "refused") throw new EventRefused(event.kind, outcome);
    if (outcome.kind === "next") this.replace(outcome.state);
  }

  nextEpoch(): number {
    this.ask({ kind: "agentJoined" });
    return this.state.agentEpoch;
  }

  /** One step of the agent: persisted before it hears of it. */
  async report(agent: AgentHost, epoch: number, report: AgentReport): Promise<void> {
    const { enteredGeneration } = this.state;
    await agent.persist(() => {
      const outcome = step(this.state, { ...report, epoch, enteredGeneration }, this.nowMs());
      if (outcome.kind === "next") this.replace(outcome.state);
      if (outcome.kind !== "refused") return;
      if (outcome.because === "fenced") throw new Fenced(QUEUE, outcome.reason);
      throw new EventRefused(report.kind, outcome);
    });
  }

  /** A person looked at a shadow that is missing, and wants it made again. */
  letMakeAgain(name: string): void {
    const resources = this.state.resources.map((each) => (each.name === name ? recorded(each) : each));
    this.replace({ ...this.state, resources, generation: this.state.generation + 1 });
  }

  inventory(agent: AgentHost, epoch: number): InventoryPort {
    const report = (event: AgentReport) => this.report(agent, epoch, event);
    return {
      list: () => this.state.resources,
      record: (kind, slot) => report({ kind: "record", resources: [{ kind, queue: QUEUE, slot }] }),
      markCreated: (name) => report({ kind: "created", names: [name] }),
      markDeleting: async (name, proof) => {
        proof.use(QUEUE, name, agent.clock.nowMs());
        await report({ kind: "deleting", name, evidence: `empty and unattended at ${proof.takenAtMs}` });
      },
      forget: async (name, proof) => {
        if (!(proof instanceof AbsenceProof) || !proof.covers(name)) {
          throw new Unprovable(QUEUE, `there is no proof that ${name} is gone`);
        }
        await report({ kind: "deleted", name, evidence: "not there" });
      },
    };
  }

  checkpoints(agent: AgentHost, epoch: number): CheckpointPort {
    return {
      read: () => (this.state.sources[0]?.checkpoint ?? null) as Checkpoint | null,
      save: (checkpoint) =>
        agent.persist(() => {
          if (epoch < this.state.agentEpoch) throw new Fenced(QUEUE, "a newer agent is there");
          const sources = this.state.sources.map((source) => ({ ...source, checkpoint }));
          this.replace({ ...this.state, sources, generation: this.state.generation + 1 });
        }),
    };
  }

  private replace(next: SplitState): void {
    const before = this.state;
    if (before.phase !== next.phase) {
      const problem = invariantProblem(next);
      if (problem !== null) throw new Error(`the document is not valid: ${problem}`);
      this.journal.add({ kind: "phase", phase: next.phase.name });
    }
    this.tellNames(before.resources, next.resources);
    this.state = next;
  }

  private tellNames(before: readonly SplitResource[], after: readonly SplitResource[]): void {
    if (before === after) return;
    const had = new Set(before.map(({ name }) => name));
    const has = new Set(after.map(({ name }) => name));
    for (const name of has) if (!had.has(name)) this.journal.add({ kind: "recorded", name });
    for (const name of had) if (!has.has(name)) this.journal.add({ kind: "forgotten", name });
  }
}

function recorded(resource: SplitResource): SplitResource {
  return { ...resource, state: "recorded" };
}
