import type { EngineClock, EnginePorts, EngineRoute } from "../../src/splitting/engine.ts";
import { RouteTable } from "../../src/splitting/filter/route-table.ts";
import { pairsSubject } from "../../src/splitting/filter/subject.ts";
import type { AgentHost, StepName } from "../conformance/splitting/probe.ts";
import type { SplitMessage } from "../conformance/splitting/split-message.ts";
import type { Broker } from "./broker.ts";
import type { EngineFaults } from "./engine-faults.ts";
import { ModelEngine } from "./model-engine.ts";
import type { Crash, Lane, ModelProcess, Scheduler } from "./scheduler.ts";

/** Decides a message's route as an engine of a real broker does: by the filters' own table. */
export function routesByFilters(routes: readonly EngineRoute[]): (message: SplitMessage) => string | null {
  const table = new RouteTable(routes);
  return ({ headers, key }) => table.routeOf(pairsSubject(headers, key));
}

/** A process of the queue agent in the model. */
export class ModelAgent implements AgentHost {
  readonly process: ModelProcess;
  readonly clock: EngineClock;
  readonly crashed: Promise<void>;
  private readonly broker: Broker;
  private readonly scheduler: Scheduler;
  private readonly store: Lane;
  private readonly faults: EngineFaults;

  constructor(broker: Broker, process: ModelProcess, faults: EngineFaults) {
    const { scheduler } = broker;
    this.broker = broker;
    this.scheduler = scheduler;
    this.process = process;
    this.faults = faults;
    this.store = scheduler.lane(process);
    this.clock = { nowMs: () => scheduler.nowMs, wait: (ms) => scheduler.wait(process, ms) };
    process.cut = () => broker.cut(process);
    this.crashed = new Promise((resolve) => process.onDeath.push(resolve));
  }

  get alive(): boolean {
    return this.process.state !== "dead";
  }

  makeEngine(ports: EnginePorts): ModelEngine {
    const { broker, process, faults } = this;
    return new ModelEngine({ broker, process, ports, faults, tableOf: routesByFilters });
  }

  persist<T>(write: () => T): Promise<T> {
    return this.scheduler.perform(this.store, "persist", write);
  }

  crashAt(step: StepName, when: "before" | "after", nth = 1): void {
    this.scheduler.crashAt(this.process, { at: { label: step, nth }, when });
  }

  crashBy(plan: Crash): void {
    this.scheduler.crashAt(this.process, plan);
  }

  crash(): void {
    this.scheduler.kill(this.process);
  }

  pause(): void {
    this.process.state = "paused";
  }

  resume(): void {
    this.scheduler.resume(this.process);
  }

  cutConnections(): void {
    this.broker.cut(this.process);
  }
}
