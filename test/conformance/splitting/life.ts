import type { EngineTable, Frontier, SplitEngine } from "../../../src/splitting/engine.ts";
import { EngineFailure } from "../../../src/splitting/engine-failures.ts";
import type { Filter } from "../../../src/splitting/filter/filter.ts";
import type { QuiescenceProof } from "../../../src/splitting/quiescence-proof.ts";
import type { FailureKind } from "../../../src/splitting/state/failure-kind.ts";
import type { Phase } from "../../../src/splitting/state/phase.ts";
import type { AgentReport } from "../../../src/splitting/state/split-event.ts";
import type { SplitRoute, SplitState } from "../../../src/splitting/state/split-state.ts";
import { type DocumentOfAgent, SplitDocument } from "./document.ts";
import { type MakeKeeper, machineKeeper, QUEUE, TENANT, WORKLOAD } from "./keeper.ts";
import type { AgentHost, Party, Probe } from "./probe.ts";
import { APPLICATION, Workload } from "./workload.ts";

/** Crashes that one life survives at most: more would be an engine that cannot start. */
const MAX_RESTARTS = 40;
const MAX_ABORTS = 5;
/** Routes of a scenario end when it says so, and not by time. */
const ROUTE_TTL_MS = 24 * 3600 * 1000;

export interface RouteWish {
  route: string;
  filter: Filter;
  /** The scenario's own idea of what the filter means. */
  wants: (id: string) => boolean;
}

export interface Agent {
  host: AgentHost;
  document: DocumentOfAgent;
  engine: SplitEngine;
  stoppedBy: EngineFailure | null;
  /** Resolves when the engine is out for good. */
  fenced: Promise<void>;
}

/** What an agent's own program begins anew after. */
const LET_A_NEW_ONE_TRY: readonly FailureKind[] = ["Fenced", "BrokerUnavailable"];

const never = () => new AbortController().signal;

/**
 * One split from preparation to cleanup: has each phase persisted before it acts, starts a new agent where one
 * died, and goes on by the persisted phase. It stands for the agent's own program and for the operator who moves
 * the workload; it decides nothing about messages.
 */
export class Life {
  readonly probe: Probe;
  readonly document: SplitDocument;
  readonly workload: Workload;
  agent: Agent;
  restarts = 0;

  constructor(probe: Probe, keep: MakeKeeper = machineKeeper) {
    this.probe = probe;
    this.document = new SplitDocument(keep(probe), probe);
    this.workload = new Workload(probe);
    this.agent = this.newAgent();
  }

  get engine(): SplitEngine {
    return this.agent.engine;
  }

  get state(): SplitState {
    return this.document.read();
  }

  get phase(): SplitState["phase"]["name"] {
    return this.state.phase.name;
  }

  /** A newer agent, beside the old one where that lives; nothing is done by it yet. */
  newAgent(): Agent {
    const host = this.probe.newAgent();
    const document = this.document.join(host);
    const { source: sourceName, nameOf } = this.probe.names;
    const { splitId } = this.state;
    let stoppedBy: EngineFailure | null = null;
    let isFenced = () => {};
    const fenced = new Promise<void>((resolve) => {
      isFenced = resolve;
    });
    const engine = host.makeEngine({
      identity: {
        tenant: TENANT,
        workload: WORKLOAD,
        queue: QUEUE,
        splitId,
        agentEpoch: document.epoch,
        sourceName,
        nameOf,
      },
      inventory: document.inventory,
      checkpoints: document.checkpoints,
      stopped: (failure) => {
        if (stoppedBy) throw new Error("an engine is stopped once");
        stoppedBy = failure;
        if (failure.kind === "Fenced") isFenced();
      },
      clock: host.clock,
    });
    return {
      host,
      document,
      engine,
      fenced,
      get stoppedBy() {
        return stoppedBy;
      },
    };
  }

  /** A new agent that recovers by the document. */
  async restart(): Promise<void> {
    if (++this.restarts > MAX_RESTARTS) throw new Error(`more than ${MAX_RESTARTS} restarts`);
    this.agent = this.newAgent();
    await this.attempt(async (agent) => {
      const recovered = await this.of(agent, agent.engine.recover(agent.document.seen()));
      if (recovered.kind === "pumping") this.tellInForce();
    });
  }

  /** Does `work`, again after each crash in it. */
  async surviving(work: (agent: Agent) => Promise<void>): Promise<void> {
    while (!(await this.attempt(work))) await this.restart();
  }

  /** As the probe's, over crashes. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    await this.surviving((agent) => this.of(agent, this.probe.until(what, condition)));
  }

  /** Goes on, phase by phase, until `goal` is persisted. */
  async to(goal: Phase): Promise<void> {
    await this.surviving(async (agent) => {
      while (this.phase !== goal) await this.pass(agent);
    });
  }

  /** Somebody wants the split to end: an activation is called off, an active one drained. */
  stop(): void {
    for (const { route, state } of this.state.routes) {
      if (state === "active") this.probe.journal.add({ kind: "route ending", route });
    }
    this.document.ask({ kind: "stop" });
  }

  /** The developer attaches when the table is acknowledged. */
  async startRoute(wish: RouteWish, options: { attach?: boolean } = {}): Promise<void> {
    this.putRoute(wish);
    if (this.phase === "Active") {
      await this.surviving(async (agent) => {
        await this.of(agent, agent.engine.reconcileRoutes(this.table()));
        this.tellInForce();
      });
    }
    if (options.attach ?? true) await this.attachDeveloper(wish.route);
  }

  /** In the document, and nowhere else yet. */
  putRoute({ route, filter, wants }: RouteWish): void {
    this.document.ask({ kind: "putRoute", route, queue: QUEUE, filter, ttlMs: ROUTE_TTL_MS });
    const slot = this.route(route)?.slot ?? 0;
    this.probe.journal.add({ kind: "route starting", route, slot, wants });
  }

  async attachDeveloper(route: string, options: { hold?: number } = {}): Promise<Party> {
    const row = this.route(route);
    if (!row) throw new Error(`there is no ${route}`);
    return this.workload.attachDeveloper(route, row.slot, options);
  }

  /** The developer goes, and what is left goes to the application. */
  async endRoute(route: string): Promise<void> {
    this.probe.journal.add({ kind: "route ending", route });
    this.document.ask({ kind: "deleteRoute", route });
    await this.surviving(async (agent) => {
      if (!this.route(route)) return;
      await this.of(agent, agent.engine.reconcileRoutes(this.table()));
      await this.drainRoutes(agent);
    });
  }

  /** Draining, the pump stopped and the frontier persisted; the application is where it was. */
  async stopPump(agent: Agent = this.agent): Promise<void> {
    if (this.phase === "Active") this.stop();
    if (this.state.sources[0]?.frontier) return;
    const frontier = await this.of(agent, agent.engine.stop());
    await this.report(agent, { kind: "pumpStopped", frontiers: [{ queue: QUEUE, frontier }] });
  }

  /** The agent tells what it cannot go on by; somebody looked, and wants the shadow made again. */
  async makeAgain(name: string): Promise<void> {
    await this.report(this.agent, {
      kind: "failed",
      failure: "ShadowUnsafe",
      detail: `${name} is missing`,
    });
    this.document.ask({ kind: "resume", makeAgain: [name] });
  }

  table(): EngineTable {
    return { routes: this.state.routes.filter(({ state }) => state === "active") };
  }

  route(name: string): SplitRoute | undefined {
    return this.state.routes.find(({ route }) => route === name);
  }

  frontier(): Frontier {
    const text = this.state.sources[0]?.frontier;
    if (!text) throw new Error("there is no frontier");
    return text as Frontier;
  }

  async report(agent: Agent, report: AgentReport): Promise<void> {
    await this.of(agent, agent.document.report(report));
  }

  /** What was awaited counts only while the agent that awaited it lives and was not followed by another. */
  async of<T>(agent: Agent, work: Promise<T>): Promise<T> {
    const value = await work;
    if (!agent.host.alive || agent !== this.agent) await new Promise(() => undefined);
    return value;
  }

  /** Does what the present phase asks for, and has its end persisted. */
  private async pass(agent: Agent): Promise<void> {
    const { engine } = agent;
    const proofs = [{ queue: QUEUE, evidence: "seen" }];
    switch (this.phase) {
      case "Preparing": {
        const checkpoint = await this.of(agent, engine.prepare());
        return this.report(agent, { kind: "prepared", checkpoints: [{ queue: QUEUE, checkpoint }] });
      }
      case "QuiescingApp":
        await this.of(agent, this.workload.move("away"));
        await this.of(agent, this.gone(engine));
        return this.report(agent, { kind: "appGone", proofs });
      case "StartingPump":
        await this.of(agent, engine.start(this.table()));
        this.tellInForce();
        return this.report(agent, { kind: "pumpStarted", proofs });
      case "RedirectingApp":
        await this.of(agent, this.workload.move("application"));
        return this.report(agent, { kind: "appRedirected", proofs });
      case "Active":
        return this.stop();
      case "DrainingApp":
        return this.drain(agent);
      case "QuiescingHandback": {
        const proof = await this.of(agent, engine.drainApplication(never()));
        return this.report(agent, { kind: "quiesced", proofs: [told(proof)] });
      }
      case "HandingBack": {
        const proof = await this.of(agent, engine.drainApplication(never()));
        const { readBack: frontier } = await this.of(agent, engine.commitHandoff(this.frontier(), proof));
        return this.report(agent, { kind: "handedBack", frontiers: [{ queue: QUEUE, frontier }] });
      }
      case "AbortingActivation":
        return this.abort(agent);
      case "RestoringApp":
        await this.of(agent, this.workload.move("source"));
        return this.report(agent, { kind: "appRestored", proofs });
      case "CleaningUp":
        await this.of(agent, this.workload.move("source"));
        return this.cleanUp(agent);
      case "Inactive":
      case "Degraded":
        throw new Error(`nothing goes on in ${this.phase}`);
    }
  }

  private async drain(agent: Agent): Promise<void> {
    const { engine } = agent;
    await this.stopPump(agent);
    await this.drainRoutes(agent);
    await this.workOff(agent);
    const proof = await this.of(agent, engine.drainApplication(never()));
    await this.report(agent, { kind: "drained", proofs: [told(proof)] });
  }

  /** Those that ended; their developers go first. */
  private async drainRoutes(agent: Agent): Promise<void> {
    for (const row of this.state.routes.filter(({ state }) => state === "draining")) {
      const { route } = row;
      await this.of(agent, this.workload.detachDeveloper(route));
      const { proof } = await this.of(agent, agent.engine.drainRoute(row, never()));
      await this.report(agent, { kind: "routeDrained", route, proof: told(proof) });
      this.probe.journal.add({ kind: "route drained", route });
    }
  }

  private async abort(agent: Agent): Promise<void> {
    const { engine } = agent;
    for (const { route } of this.state.routes) await this.of(agent, this.workload.detachDeveloper(route));
    // An application that was redirected works off what is there, and goes.
    if (this.workload.place === "application") {
      await this.of(agent, engine.stop());
      await this.workOff(agent);
    }
    await this.tryAbort(agent);
    await this.drainRoutes(agent);
    await this.report(agent, {
      kind: "aborted",
      proofs: [{ queue: QUEUE, evidence: "empty and unattended" }],
    });
  }

  /** Where only the application can empty its shadow, it is sent there once more. */
  private async tryAbort(agent: Agent): Promise<void> {
    const { engine } = agent;
    for (let round = 0; round < MAX_ABORTS; round++) {
      try {
        return await this.of(agent, engine.abort(never()));
      } catch (error) {
        if (!(error instanceof EngineFailure) || error.kind !== "NeedsDrain") throw error;
        await this.workOff(agent);
      }
    }
    throw new Error(`an abort was not done after ${MAX_ABORTS} rounds`);
  }

  private async cleanUp(agent: Agent): Promise<void> {
    const { engine } = agent;
    const ready = await this.of(agent, engine.verifyCleanupReady());
    if (ready.kind === "blocked") throw ready.failures[0] ?? new Error("blocked by nothing");
    const { left } = await this.of(agent, engine.cleanup(ready.proofs));
    if (left[0]) throw left[0].failure;
    await this.report(agent, { kind: "cleaned" });
  }

  private gone(engine: SplitEngine): Promise<void> {
    return this.probe.until(`the ${APPLICATION} is gone from the source`, async () => {
      return (await engine.health()).source?.consumers === 0;
    });
  }

  /** The application has nothing left in its shadow, and goes. */
  private async workOff(agent: Agent): Promise<void> {
    await this.of(agent, this.workload.move("application"));
    const emptied = this.probe.until(`the ${APPLICATION} has emptied its shadow`, async () => {
      const shadow = (await agent.engine.health()).applicationShadow;
      return shadow?.ready === 0 && shadow.unsettled === 0;
    });
    await this.of(agent, emptied);
    await this.of(agent, this.workload.move("away"));
  }

  private tellInForce(): void {
    for (const { route } of this.table().routes) this.probe.journal.add({ kind: "route in force", route });
  }

  /** False: the agent died in it, or lost its fence. */
  private async attempt(work: (agent: Agent) => Promise<void>): Promise<boolean> {
    const { agent } = this;
    const done = work(agent).then(
      () => true,
      (error: unknown) => {
        if (error instanceof EngineFailure && LET_A_NEW_ONE_TRY.includes(error.kind)) return false;
        throw error;
      },
    );
    const gone = Promise.race([agent.host.crashed, agent.fenced]).then(() => false);
    return Promise.race([done, gone]);
  }
}

function told({ subject, takenAtMs }: QuiescenceProof): { queue: string; evidence: string } {
  return { queue: QUEUE, evidence: `${subject} was empty and unattended at ${takenAtMs}` };
}
