import type { Ports } from "../ports.ts";

/** What the manager of a split needs of the world: what a tenant object needs, and the agents' connections. */
export interface SplitPorts extends Pick<Ports, "sql" | "clock" | "chance" | "alarm" | "report"> {
  agents: AgentSockets;
}

export interface AgentSockets {
  /** The open ones, oldest first. They outlive the object's memory. */
  open(): AgentSocket[];
}

/** What is known of a connection for as long as it lives. */
export interface AgentMemory {
  /** null: it has not said hello. */
  epoch: number | null;
  connectedAtMs: number;
  /** When its last message came, pings apart. */
  heardAtMs: number;
  /** Messages that it may still send at `heardAtMs`. */
  tokens: number;
}

export interface AgentSocket {
  readonly memory: AgentMemory;
  remember(memory: AgentMemory): void;
  /** When its last ping came, which is answered without the object; null: none did. */
  pingedAtMs(): number | null;
  /** Does nothing on a connection that is gone. */
  send(text: string): void;
  close(code: number, reason: string): void;
}

/** When anything came from it. */
export function lastHeardMs(socket: AgentSocket): number {
  return Math.max(socket.memory.heardAtMs, socket.pingedAtMs() ?? 0);
}
