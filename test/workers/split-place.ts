import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { AgentMessage, ManagerMessage } from "../../src/protocol/split-agent.ts";
import type { SplitCalls, SplitRef } from "../../src/protocol/split-calls.ts";
import type { Outcome } from "../../src/protocol/tenant-calls.ts";
import type { AgentReport } from "../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../src/splitting/state/split-state.ts";
import { env, send } from "./worker.ts";

export const SOURCES = [{ queue: "orders", provider: "rabbitmq" as const, sourceName: "shop.orders" }];
const proofs = [{ queue: "orders", evidence: "seen" }];
export const PREPARED: AgentReport = {
  kind: "prepared",
  checkpoints: [{ queue: "orders", checkpoint: '{"at":1}' }],
};
export const TO_ACTIVE: AgentReport[] = [
  PREPARED,
  { kind: "appGone", proofs },
  { kind: "pumpStarted", proofs },
  { kind: "appRedirected", proofs },
];
export const TO_CLEANUP: AgentReport[] = [
  { kind: "pumpStopped", frontiers: [{ queue: "orders", frontier: '{"at":2}' }] },
  { kind: "drained", proofs },
  { kind: "quiesced", proofs },
  { kind: "handedBack", frontiers: [{ queue: "orders", frontier: '{"at":2}' }] },
  { kind: "appRestored", proofs },
];

type Value<N extends keyof SplitCalls> =
  Awaited<ReturnType<SplitCalls[N]>> extends Outcome<infer V> ? V : never;

/** The manager of one workload in its real runtime, and queue agents that connect as they would. */
export function setup(workload: string) {
  const of: SplitRef = { tenant: "demo", workload };
  const stub = () => env.SPLIT_MANAGER.getByName(`demo\n${workload}`) as unknown as DurableObjectStub;
  const call = async <N extends keyof SplitCalls>(
    name: N,
    input: Parameters<SplitCalls[N]>[1],
  ): Promise<Outcome<Value<N>>> => {
    const callers = stub() as unknown as Record<
      N,
      (of: SplitRef, input: unknown) => Promise<Outcome<Value<N>>>
    >;
    return callers[name](of, input);
  };
  const ok = async <N extends keyof SplitCalls>(
    name: N,
    input: Parameters<SplitCalls[N]>[1],
  ): Promise<Value<N>> => {
    const outcome = await call(name, input);
    return outcome.ok
      ? outcome.value
      : expect.fail(`${name}: ${outcome.error.code}: ${outcome.error.detail}`);
  };
  const inStorage = <T>(use: (sql: SqlStorage) => T): Promise<T> =>
    runInDurableObject(stub(), (_, state) => use(state.storage.sql));
  const stored = () =>
    inStorage((sql) => JSON.parse(String(sql.exec("SELECT document FROM split_documents").one().document)));
  return {
    of,
    stub,
    call,
    ok,
    inStorage,
    /** The document in storage, as text has it. */
    stored: stored as () => Promise<SplitState>,
    /** Writes another document in its place, as some other version might have. */
    overwrite: async (change: (document: Record<string, unknown>) => object) => {
      const text = JSON.stringify(change((await stored()) as Record<string, unknown>));
      await inStorage((sql) => void sql.exec("UPDATE split_documents SET document = ?", text));
      return text;
    },
    declare: () => ok("putSplit", { prefix: "fairlane", sources: SOURCES }),
    evict: () => evictDurableObject(stub()),
    /** As when its machine is lost. */
    lose: () => evictDurableObject(stub(), { webSockets: "close" }),
    alarm: () => runDurableObjectAlarm(stub()),
    alarmAtMs: () => runInDurableObject(stub(), (_, state) => state.storage.getAlarm()),
    connect: (scope = "admin") => connect(workload, scope),
    agent: async (previousEpoch: number | null = null) => {
      const agent = await connect(workload);
      await agent.hello(previousEpoch);
      return agent;
    },
  };
}

export async function connectRaw(workload: string, scope = "admin", headers: Record<string, string> = {}) {
  const path = `/v1/tenants/demo/splits/${workload}/agent`;
  return send("GET", path, { scope, headers: { upgrade: "websocket", ...headers } });
}

async function connect(workload: string, scope = "admin"): Promise<TestAgent> {
  const response = await connectRaw(workload, scope);
  if (!response.webSocket) return expect.fail(`${response.status}: ${await response.text()}`);
  return new TestAgent(response.webSocket);
}

type Command = Extract<ManagerMessage, { type: "command" }>;

/** The agent's end of a connection. It does nothing by itself. */
export class TestAgent {
  readonly messages: ManagerMessage[] = [];
  closed: { code: number; reason: string } | null = null;
  epoch = 0;
  private readonly socket: WebSocket;
  private reports = 0;
  private changed = () => {};

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.accept();
    socket.addEventListener("message", ({ data }) => {
      this.messages.push(data === "pong" ? data : JSON.parse(String(data)));
      this.changed();
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
      this.changed();
    });
  }

  send(message: unknown): void {
    this.socket.send(
      typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message),
    );
  }

  close(): void {
    this.socket.close(1000, "done");
  }

  /** Until `found` gives something of what came; woken by each message, it never polls. */
  async until<T>(found: () => T | undefined | null | false): Promise<T> {
    for (;;) {
      const value = found();
      if (value) return value;
      await new Promise<void>((resolve) => {
        this.changed = resolve;
      });
    }
  }

  async hello(previousEpoch: number | null = null): Promise<void> {
    this.send({ type: "hello", version: 1, previousEpoch } satisfies AgentMessage);
    const welcome = await this.until(() => this.messages.find(({ type }) => type === "welcome"));
    if (welcome.type === "welcome") this.epoch = welcome.epoch;
    await this.until(() => this.last("command"));
  }

  last<Type extends ManagerMessage["type"]>(type: Type) {
    const found = this.messages.findLast((message) => message.type === type);
    return found as Extract<ManagerMessage, { type: Type }> | undefined;
  }

  get command(): Command {
    return this.last("command") ?? expect.fail("a command");
  }

  /** Sends a report about its newest command, and waits for the answer. */
  async report(report: AgentReport, more: Partial<Extract<AgentMessage, { type: "report" }>> = {}) {
    this.reports += 1;
    const id = this.reports;
    const { enteredGeneration } = this.command;
    this.send({ type: "report", id, epoch: this.epoch, enteredGeneration, report, ...more });
    return this.until(() => this.messages.find((message) => "id" in message && message.id === id));
  }

  /** Expects each to be accepted. */
  async reportAll(reports: readonly AgentReport[]): Promise<void> {
    for (const report of reports) expect(await this.report(report)).toMatchObject({ type: "accepted" });
  }

  /** Until the manager wants this of it. */
  task(task: Command["task"]): Promise<Command> {
    return this.until(() => {
      const command = this.last("command");
      return command?.task === task ? command : null;
    });
  }
}
