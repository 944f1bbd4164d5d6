import { FairlaneError } from "../../../src/core/failure.ts";
import { deleteSplitRoute } from "../../../src/durable/split-manager/commands/delete-split-route.ts";
import { putSplit } from "../../../src/durable/split-manager/commands/put-split.ts";
import { putSplitRoute } from "../../../src/durable/split-manager/commands/put-split-route.ts";
import { resumeSplit } from "../../../src/durable/split-manager/commands/resume-split.ts";
import { startSplit } from "../../../src/durable/split-manager/commands/start-split.ts";
import { stopSplit } from "../../../src/durable/split-manager/commands/stop-split.ts";
import { type AgentMessage, agentMessage, managerMessage } from "../../../src/protocol/split-agent.ts";
import { Fenced } from "../../../src/splitting/engine-failures.ts";
import type { AgentCommand } from "../../../src/splitting/state/recovery.ts";
import type { AgentReport, PersonEvent } from "../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../src/splitting/state/split-state.ts";
import { InProcessManager, type ManagerSocket } from "./in-process-manager.ts";
import {
  type AgentDesk,
  EventRefused,
  type Keeper,
  type MakeKeeper,
  QUEUE,
  TENANT,
  WORKLOAD,
} from "./keeper.ts";
import type { AgentHost } from "./probe.ts";

/**
 * The manager as the product has it: people call its commands, agents send it the messages of the protocol, and what an agent
 * knows is what it was sent. It forgets all that it may before everything that it is asked.
 */
export class ManagerKeeper implements Keeper {
  readonly manager: InProcessManager;

  constructor(nowMs: () => number) {
    this.manager = new InProcessManager({ tenant: TENANT, workload: WORKLOAD }, nowMs);
  }

  read(): SplitState {
    return this.manager.split.state();
  }

  ask(event: PersonEvent): void {
    this.begin();
    try {
      this.command(event);
    } catch (error) {
      if (!(error instanceof FairlaneError)) throw error;
      const { code, detail, route, witness } = error.failure;
      const overlap = code === "route-overlap" && route && witness ? { route, witness } : null;
      throw new EventRefused(event.kind, detail, overlap);
    }
  }

  join(host: AgentHost): AgentDesk {
    this.begin();
    const link = new AgentLink(this.manager);
    host.crashed.then(() => link.hangUp());
    return {
      epoch: link.epoch,
      seen: () => link.command,
      report: (report, enteredGeneration) => {
        this.begin();
        link.report(report, enteredGeneration);
      },
    };
  }

  private begin(): void {
    this.manager.passTime();
    this.manager.evict();
  }

  private command(event: PersonEvent): void {
    const { split } = this.manager;
    switch (event.kind) {
      case "declare":
        putSplit(split, { prefix: event.prefix, sources: [...event.sources] });
        break;
      case "start":
        startSplit(split);
        break;
      case "stop":
        stopSplit(split);
        break;
      case "resume":
        resumeSplit(split, event.makeAgain === undefined ? {} : { makeAgain: [...event.makeAgain] });
        break;
      case "putRoute": {
        const { kind: _, ...input } = event;
        putSplitRoute(split, input);
        break;
      }
      case "deleteRoute":
        deleteSplitRoute(split, event);
        break;
    }
  }
}

export const managerKeeper: MakeKeeper = (probe) => new ManagerKeeper(() => probe.nowMs());

type Answer = { type: "accepted"; generation: number } | { type: "refused"; because: string; reason: string };

/** The agent's end of its connection: it takes and says nothing that is not a message of the protocol. */
class AgentLink {
  epoch = 0;
  private newest: AgentCommand | null = null;
  private isFenced = false;
  private readonly answers = new Map<number, Answer>();
  private reports = 0;
  private readonly manager: InProcessManager;
  private readonly socket: ManagerSocket;

  constructor(manager: InProcessManager) {
    this.manager = manager;
    this.socket = manager.connect({ message: (text) => this.hear(text), closed: () => undefined });
    this.say({ type: "hello", version: 1, previousEpoch: null });
    if (this.epoch === 0) throw new Error("an agent was not welcome");
  }

  get command(): AgentCommand {
    if (this.newest === null) throw new Error("an agent was given no command");
    return this.newest;
  }

  hangUp(): void {
    this.manager.hangUp(this.socket);
  }

  report(report: AgentReport, enteredGeneration: number): void {
    const id = ++this.reports;
    const { epoch } = this;
    this.say({ type: "report", id, epoch, enteredGeneration, report: structuredClone(report) as never });
    if (this.isFenced) throw new Fenced(QUEUE, "the manager says that a newer agent is there");
    const answer = this.answers.get(id);
    if (!answer) throw new Error(`${report.kind} was not answered`);
    if (answer.type === "refused") throw new EventRefused(report.kind, answer.reason);
    // What was accepted is in the command that the agent has: whoever is answered knows what is stored.
    if (answer.generation !== this.command.generation) throw new Error("an answer came before its command");
  }

  private say(message: AgentMessage): void {
    const text = JSON.stringify(message);
    agentMessage.parse(JSON.parse(text));
    this.manager.hear(this.socket, text);
  }

  private hear(text: string): void {
    const message = managerMessage.parse(JSON.parse(text));
    switch (message.type) {
      case "welcome":
        this.epoch = message.epoch;
        break;
      case "fenced":
        this.isFenced = true;
        break;
      case "command":
        if (message.generation >= (this.newest?.generation ?? 0)) this.newest = message;
        break;
      case "accepted":
        this.answers.set(message.id, message);
        break;
      case "refused":
        if (message.id === null) throw new Error(`not understood: ${message.reason}`);
        this.answers.set(message.id, message);
        break;
    }
  }
}
