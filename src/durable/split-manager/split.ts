import { type Failure, FairlaneError, fail } from "../../core/failure.ts";
import { AGENT_CLOSE, type ManagerMessage } from "../../protocol/split-agent.ts";
import type { Refused, Unchanged } from "../../splitting/state/change.ts";
import { newSplit, type SplitIdentity } from "../../splitting/state/new-split.ts";
import { type Action, step } from "../../splitting/state/phase-machine.ts";
import { type AgentCommand, commandOf } from "../../splitting/state/recovery.ts";
import type { PersonEvent, SplitEvent } from "../../splitting/state/split-event.ts";
import type { SplitState } from "../../splitting/state/split-state.ts";
import { AGENT_CHECK_MS, AGENT_SILENCE_MS } from "./agent-timing.ts";
import { type AgentSocket, lastHeardMs, type SplitPorts } from "./ports.ts";
import { type Loaded, SplitStore } from "./split-store.ts";

/** A writer that meets another each time has met a defect: only one object writes. */
const MAX_RACES = 3;

export type Applied = { kind: "applied"; state: SplitState } | Unchanged | Refused;

/**
 * One workload's split in its object: load, decide, store, and only then act, without an await in between. It has no memory
 * of its own but the last document that was read.
 */
export class Split {
  readonly ports: SplitPorts;
  readonly store: SplitStore;

  constructor(ports: SplitPorts, identity: SplitIdentity) {
    this.ports = ports;
    this.store = new SplitStore(ports.sql, identity);
  }

  nowMs(): number {
    return this.ports.clock.nowMs();
  }

  /** Throws `not-found` where nothing is declared, and `conflict` where the document is held. */
  state(): SplitState {
    return this.stateOf(this.store.load());
  }

  private stateOf(loaded: Loaded): SplitState {
    switch (loaded.kind) {
      case "absent":
        return fail("not-found", `no split of workload ${this.store.identity.workload} is declared`);
      case "held":
        return fail("conflict", `the split is held: ${loaded.reason}`);
      case "ok":
        return loaded.state;
    }
  }

  /** Does what the event says, or throws why it cannot be: for what people ask for. */
  change(event: PersonEvent): SplitState {
    const applied = this.apply(event);
    if (applied.kind === "applied") return applied.state;
    if (applied.kind === "unchanged") return this.state();
    throw new FairlaneError(failureOf(applied));
  }

  /** A declaration makes the document where there is none. */
  apply(event: SplitEvent): Applied {
    for (let race = 0; race < MAX_RACES; race++) {
      const loaded = this.store.load();
      const before =
        loaded.kind === "absent" && event.kind === "declare"
          ? newSplit(this.store.identity, loaded.floors, event.prefix)
          : this.stateOf(loaded);
      const result = step(before, event, this.nowMs());
      if (result.kind !== "next") return result;
      const saved = this.store.save(loaded, result.state);
      if (saved === "too-large") {
        return { kind: "refused", because: "limit", reason: "the split's document would be too large" };
      }
      if (saved === "saved") {
        this.act(result.actions);
        this.arm();
        return { kind: "applied", state: result.state };
      }
    }
    return {
      kind: "refused",
      because: "conflict",
      reason: "others change the split at the same time: try again",
    };
  }

  /** The agent that may act, if it is there and was heard of lately. */
  agent(agentEpoch: number): AgentSocket | null {
    const sinceMs = this.nowMs() - AGENT_SILENCE_MS;
    const own = this.ports.agents.open().filter(({ memory }) => memory.epoch === agentEpoch);
    return own.findLast((socket) => lastHeardMs(socket) > sinceMs) ?? null;
  }

  /** What the agent is to do now, whether it knows already or not. */
  sendCommand(state: SplitState): void {
    this.act([{ kind: "command", command: commandOf(state) }]);
  }

  private act(actions: readonly Action[]): void {
    for (const action of actions) {
      switch (action.kind) {
        case "displaceAgents":
          this.displace(action.belowEpoch);
          break;
        case "command":
          this.command(action.command);
          break;
      }
    }
  }

  private displace(belowEpoch: number): void {
    for (const socket of this.ports.agents.open()) {
      const { epoch } = socket.memory;
      if (epoch === null || epoch >= belowEpoch) continue;
      tell(socket, { type: "fenced", epoch: belowEpoch });
      socket.close(AGENT_CLOSE.displaced, "a newer queue agent is there");
    }
  }

  private command(command: AgentCommand): void {
    for (const socket of this.ports.agents.open()) {
      if (socket.memory.epoch === command.agentEpoch) tell(socket, { type: "command", ...command });
    }
  }

  /** One alarm for the next thing that time does. Called after each change, and by every request. */
  arm(): void {
    const atMs = this.nextDueMs();
    const { alarm } = this.ports;
    const setMs = alarm.get();
    if (atMs !== null && (setMs === null || setMs > atMs)) alarm.set(atMs);
  }

  private nextDueMs(): number | null {
    const loaded = this.store.load();
    const checkMs = this.nowMs() + AGENT_CHECK_MS;
    const due = this.ports.agents.open().length > 0 ? [checkMs] : [];
    if (loaded.kind === "ok") {
      const { phase, deadlineAtMs, routes } = loaded.state;
      if (deadlineAtMs !== null) due.push(deadlineAtMs);
      // An active split whose agent is gone with the object's connections is noticed by nobody else.
      if (phase.name === "Active") due.push(checkMs);
      if (phase.name !== "Degraded") {
        for (const { state, expiresAtMs } of routes) if (state === "active") due.push(expiresAtMs);
      }
    }
    return due.length === 0 ? null : Math.min(...due);
  }
}

export function tell(socket: AgentSocket, message: ManagerMessage): void {
  socket.send(JSON.stringify(message));
}

/** The one map from a refusal to a failure of the API. */
function failureOf({ because, reason, route, witness }: Refused): Failure {
  switch (because) {
    case "overlap":
    case "undecided":
      return {
        code: because === "overlap" ? "route-overlap" : "route-undecided",
        detail: reason,
        ...(route === undefined ? {} : { route }),
        ...(witness === undefined ? {} : { witness }),
      };
    case "not-found":
      return { code: "not-found", detail: reason };
    case "limit":
      return { code: "rate-limited", detail: reason };
    case "phase":
    case "fenced":
    case "stale":
    case "incomplete":
    case "conflict":
      return { code: "conflict", detail: reason };
  }
}
