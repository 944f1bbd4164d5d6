import { migrate } from "../../../src/durable/migrate.ts";
import { onAgentGone, onAgentMessage } from "../../../src/durable/split-manager/agent-session.ts";
import { MAX_BURST } from "../../../src/durable/split-manager/agent-timing.ts";
import type { AgentMemory, AgentSocket, SplitPorts } from "../../../src/durable/split-manager/ports.ts";
import { Split } from "../../../src/durable/split-manager/split.ts";
import { alarmPass } from "../../../src/durable/split-manager/split-alarm.ts";
import { SPLIT_SCHEMA } from "../../../src/durable/split-manager/split-table.ts";
import type { SplitIdentity } from "../../../src/splitting/state/new-split.ts";
import { NodeSql } from "../../sim/node-sql.ts";

/** What an agent hears at its end of a connection. */
export interface AgentEnd {
  message(text: string): void;
  closed(code: number): void;
}

/**
 * The manager of one workload with all that it has on the platform, in this process: its storage and the connections outlive
 * its memory, and everything between it and an agent is a text.
 */
export class InProcessManager {
  readonly sql = new NodeSql();
  readonly sockets: ManagerSocket[] = [];
  split: Split;
  alarmAtMs: number | null = null;
  private readonly identity: SplitIdentity;
  private readonly nowMs: () => number;
  private nonces = 0;
  /** Called before each write of the manager's: another may come first. */
  beforeWrite: () => void = () => {};

  constructor(identity: SplitIdentity, nowMs: () => number) {
    this.identity = identity;
    this.nowMs = nowMs;
    migrate(this.sql, { nowMs }, SPLIT_SCHEMA);
    this.split = this.makeSplit();
  }

  /** Its memory is gone. */
  evict(): void {
    this.split = this.makeSplit();
  }

  connect(end: AgentEnd): ManagerSocket {
    const socket = new ManagerSocket(this.nowMs, end);
    this.sockets.push(socket);
    this.split.arm();
    return socket;
  }

  /** What an agent sends. What comes on a connection that is closed nobody hears. */
  hear(socket: ManagerSocket, text: string | ArrayBuffer): void {
    if (socket.open) onAgentMessage(this.split, socket, text);
  }

  /** The agent's end is gone. */
  hangUp(socket: ManagerSocket): void {
    if (!socket.open) return;
    socket.open = false;
    onAgentGone(this.split, socket.memory.epoch);
  }

  /** As the platform does once the alarm's time has come. */
  passTime(): void {
    if (this.alarmAtMs === null || this.alarmAtMs > this.nowMs()) return;
    this.alarmAtMs = null;
    alarmPass(this.split);
    this.split.arm();
  }

  private makeSplit(): Split {
    const { sql } = this;
    const ports: SplitPorts = {
      sql: {
        all: (query, ...params) => sql.all(query, ...params),
        run: (query, ...params) => {
          this.beforeWrite();
          return sql.run(query, ...params);
        },
        transaction: (run) => sql.transaction(run),
        sizeBytes: () => sql.sizeBytes(),
      },
      clock: { nowMs: this.nowMs },
      chance: { nonce: () => `nonce-${++this.nonces}` },
      alarm: {
        get: () => this.alarmAtMs,
        set: (atMs) => {
          this.alarmAtMs = atMs;
        },
      },
      report: (where, error) => {
        throw new Error(`${where} failed`, { cause: error });
      },
      agents: { open: () => this.sockets.filter(({ open }) => open) },
    };
    return new Split(ports, this.identity);
  }
}

export class ManagerSocket implements AgentSocket {
  open = true;
  private readonly end: AgentEnd;
  private readonly nowMs: () => number;
  /** As text: nothing of it is shared. */
  private attachment: string;

  constructor(nowMs: () => number, end: AgentEnd) {
    this.nowMs = nowMs;
    this.end = end;
    const atMs = nowMs();
    const fresh: AgentMemory = { epoch: null, connectedAtMs: atMs, heardAtMs: atMs, tokens: MAX_BURST };
    this.attachment = JSON.stringify(fresh);
  }

  get memory(): AgentMemory {
    return JSON.parse(this.attachment) as AgentMemory;
  }

  remember(memory: AgentMemory): void {
    this.attachment = JSON.stringify(memory);
  }

  /** An agent that lives pings all the while. */
  pingedAtMs(): number | null {
    return this.open ? this.nowMs() : null;
  }

  send(text: string): void {
    if (this.open) this.end.message(text);
  }

  close(code: number): void {
    if (!this.open) return;
    this.open = false;
    this.end.closed(code);
  }
}
