import { AGENT_CLOSE, AGENT_PING, AGENT_PONG } from "../../protocol/split-agent.ts";
import { MAX_BURST, MAX_CONNECTIONS } from "./agent-timing.ts";
import type { AgentMemory, AgentSocket, AgentSockets } from "./ports.ts";

/** The agents' connections as the platform keeps them while the object sleeps. */
export class PlatformAgents implements AgentSockets {
  private readonly state: DurableObjectState;

  constructor(state: DurableObjectState) {
    this.state = state;
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(AGENT_PING, AGENT_PONG));
  }

  open(): AgentSocket[] {
    return this.state
      .getWebSockets()
      .filter((socket) => socket.readyState === WebSocket.OPEN)
      .map((socket) => this.of(socket))
      .sort((one, other) => one.memory.connectedAtMs - other.memory.connectedAtMs);
  }

  of(socket: WebSocket): AgentSocket {
    return new PlatformAgent(this.state, socket);
  }

  /** Takes a connection in, and sends the oldest of too many away that have not said hello. */
  accept(nowMs: number): Response {
    const { 0: outside, 1: inside } = new WebSocketPair();
    this.state.acceptWebSocket(inside);
    this.of(inside).remember({ epoch: null, connectedAtMs: nowMs, heardAtMs: nowMs, tokens: MAX_BURST });
    const open = this.open();
    const strangers = open.filter(({ memory }) => memory.epoch === null);
    for (const socket of strangers.slice(0, Math.max(0, open.length - MAX_CONNECTIONS))) {
      socket.close(AGENT_CLOSE.crowded, "too many connections");
    }
    return new Response(null, { status: 101, webSocket: outside });
  }
}

class PlatformAgent implements AgentSocket {
  private readonly state: DurableObjectState;
  private readonly socket: WebSocket;

  constructor(state: DurableObjectState, socket: WebSocket) {
    this.state = state;
    this.socket = socket;
  }

  get memory(): AgentMemory {
    return this.socket.deserializeAttachment() as AgentMemory;
  }

  remember(memory: AgentMemory): void {
    this.socket.serializeAttachment(memory);
  }

  pingedAtMs(): number | null {
    return this.state.getWebSocketAutoResponseTimestamp(this.socket)?.getTime() ?? null;
  }

  send(text: string): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
  }

  close(code: number, reason: string): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.close(code, reason);
  }
}
