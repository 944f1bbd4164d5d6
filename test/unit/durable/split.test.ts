import { describe, expect, test } from "vitest";
import { SplitStore } from "../../../src/durable/split-manager/split-store.ts";
import { type ManagerMessage, managerMessage } from "../../../src/protocol/split-agent.ts";
import { AGENT_AWAY_MS } from "../../../src/splitting/state/deadlines.ts";
import { step } from "../../../src/splitting/state/phase-machine.ts";
import type { AgentReport, SplitEvent } from "../../../src/splitting/state/split-event.ts";
import { MAX_DOCUMENT_BYTES, MAX_POSITION_BYTES } from "../../../src/splitting/state/split-limits.ts";
import { InProcessManager, type ManagerSocket } from "../../conformance/splitting/in-process-manager.ts";

const IDENTITY = { tenant: "demo", workload: "checkout" };
const SOURCES = [{ queue: "orders", provider: "rabbitmq", sourceName: "shop.orders" }] as const;
const START_MS = Date.UTC(2026, 0, 1);
const proofs = [{ queue: "orders", evidence: "seen" }];
const TO_ACTIVE: AgentReport[] = [
  { kind: "prepared", checkpoints: [{ queue: "orders", checkpoint: "{}" }] },
  { kind: "appGone", proofs },
  { kind: "pumpStarted", proofs },
  { kind: "appRedirected", proofs },
];

function putAlice(ttlMs: number): SplitEvent {
  return { kind: "putRoute", route: "alice", queue: "orders", filter: { header: "x", equals: "a" }, ttlMs };
}

type Of<Type extends ManagerMessage["type"]> = Extract<ManagerMessage, { type: Type }>;

class TestAgent {
  readonly messages: ManagerMessage[] = [];
  readonly closes: number[] = [];
  readonly socket: ManagerSocket;
  private readonly place: Place;

  /** `onMessage` is called while the manager sends. */
  constructor(place: Place, onMessage: (message: ManagerMessage) => void = () => {}) {
    this.place = place;
    this.socket = place.manager.connect({
      message: (text) => {
        const message = managerMessage.parse(JSON.parse(text));
        this.messages.push(message);
        onMessage(message);
      },
      closed: (code) => void this.closes.push(code),
    });
  }

  say(message: object): void {
    this.place.manager.hear(this.socket, JSON.stringify(message));
  }

  hello(): this {
    this.say({ type: "hello", version: 1, previousEpoch: null });
    return this;
  }

  report(report: AgentReport, more: object = {}): ManagerMessage | undefined {
    const { epoch } = this.last("welcome");
    const { enteredGeneration } = this.last("command");
    this.say({ type: "report", id: 1, epoch, enteredGeneration, report, ...more });
    return this.messages.findLast(({ type }) => type === "accepted" || type === "refused");
  }

  last<Type extends ManagerMessage["type"]>(type: Type): Of<Type> {
    const found = this.messages.findLast((message): message is Of<Type> => message.type === type);
    return found ?? expect.fail(`no ${type}`);
  }
}

/** A manager on a SQLite in memory and a clock that only the test moves. */
class Place {
  nowMs = START_MS;
  readonly manager = new InProcessManager(IDENTITY, () => this.nowMs);

  do(event: SplitEvent): void {
    expect(this.manager.split.apply(event).kind, event.kind).toBe("applied");
  }

  start(): void {
    this.do({ kind: "declare", prefix: "fairlane", sources: SOURCES });
    this.do({ kind: "start", splitId: "split-1" });
  }

  active(): TestAgent {
    this.start();
    const agent = new TestAgent(this).hello();
    for (const report of TO_ACTIVE) expect(agent.report(report)).toMatchObject({ type: "accepted" });
    return agent;
  }

  get generation(): number {
    return Number(this.manager.sql.all("SELECT generation FROM split_documents")[0]?.generation);
  }

  /** As another life of the object would write it, that this one knows nothing of. */
  writeBeside(event: SplitEvent): void {
    const store = new SplitStore(this.manager.sql, IDENTITY);
    const loaded = store.load();
    const result = step(loaded.kind === "ok" ? loaded.state : expect.fail("a document"), event, this.nowMs);
    expect(store.save(loaded, result.kind === "next" ? result.state : expect.fail("a step"))).toBe("saved");
  }
}

describe("what is told was stored before", () => {
  test("each command, each welcome and each fence of a whole way to Active", () => {
    const place = new Place();
    place.start();
    const told: [number, number][] = [];
    const look = (message: ManagerMessage) => {
      const { agentEpoch } = place.manager.split.state();
      if (message.type === "command") told.push([message.generation, place.generation]);
      if (message.type === "accepted") told.push([message.generation, place.generation]);
      if (message.type === "welcome" || message.type === "fenced") told.push([message.epoch, agentEpoch]);
    };
    const one = new TestAgent(place, look).hello();
    for (const report of TO_ACTIVE) one.report(report);
    place.do({ kind: "stop" });
    new TestAgent(place, look).hello();
    expect(one.last("fenced")).toEqual({ type: "fenced", epoch: 2 });
    expect(told.length).toBeGreaterThan(12);
    expect(told.filter(([said, stored]) => said !== stored)).toEqual([]);
  });

  test("nothing is told where nothing could be stored", () => {
    const place = new Place();
    const sources = Array.from({ length: 16 }, (_, n) => ({
      queue: `q${n}`,
      provider: "kafka" as const,
      sourceName: `s${n}`,
    }));
    place.do({ kind: "declare", prefix: "fairlane", sources });
    place.do({ kind: "start", splitId: "split-1" });
    const agent = new TestAgent(place).hello();
    // What JSON has to escape takes six bytes for one.
    const checkpoint = "\u0001".repeat(MAX_POSITION_BYTES);
    let full: string | undefined;
    for (const { queue } of sources) {
      const before = [place.generation, agent.last("command").generation];
      if (agent.report({ kind: "checkpointed", queue, checkpoint })?.type === "accepted") continue;
      full = queue;
      expect(agent.messages.findLast(({ type }) => type === "refused")).toMatchObject({ because: "limit" });
      expect([place.generation, agent.last("command").generation]).toEqual(before);
      break;
    }
    expect(full).toBeDefined();
    const [row] = place.manager.sql.all("SELECT length(document) AS bytes FROM split_documents");
    expect(Number(row?.bytes)).toBeLessThanOrEqual(MAX_DOCUMENT_BYTES);
  });
});

describe("a document that changes under the manager", () => {
  /** Before the first so many writes of the manager another one writes. */
  function raced(place: Place, event: SplitEvent, times: number): { writes: number } {
    const seen = { writes: 0 };
    place.manager.beforeWrite = () => {
      if (seen.writes++ < times) place.writeBeside(event);
    };
    return seen;
  }

  test("between its reading and its writing: it decides anew by what is there then", () => {
    const place = new Place();
    place.start();
    const seen = raced(place, { kind: "stop" }, 1);
    // A route is refused in the phase that the other writer brought it to: the first decision was never stored.
    expect(place.manager.split.apply(putAlice(1000))).toMatchObject({ kind: "refused", because: "phase" });
    expect(seen.writes).toBe(1);
    expect(place.manager.split.state()).toMatchObject({ phase: { name: "AbortingActivation" }, routes: [] });
  });

  test("and is still wanted then: it is carried out on top", () => {
    const place = new Place();
    place.start();
    const seen = raced(place, { kind: "agentJoined" }, 1);
    expect(place.manager.split.apply({ kind: "stop" })).toMatchObject({
      kind: "applied",
      state: { agentEpoch: 1, phase: { name: "AbortingActivation" } },
    });
    expect(seen.writes).toBe(2);
  });

  test("each time: it gives up, has told nobody anything, and says so", () => {
    const place = new Place();
    const agent = place.active();
    const heard = agent.messages.length;
    const seen = raced(place, { kind: "agentJoined" }, 100);
    expect(place.manager.split.apply({ kind: "stop" })).toMatchObject({ because: "conflict" });
    expect(seen.writes).toBe(3);
    expect(agent.messages).toHaveLength(heard);
    expect(place.manager.split.state().phase).toEqual({ name: "Active" });
  });
});

describe("an agent's messages", () => {
  test("are counted over time: a burst, and then fifty a second", () => {
    const place = new Place();
    place.start();
    const agent = new TestAgent(place);
    for (let n = 0; n < 200; n++) agent.say({});
    expect(agent.closes).toEqual([]);
    place.nowMs += 1000;
    for (let n = 0; n < 50; n++) agent.say({});
    expect(agent.closes).toEqual([]);
    agent.say({});
    expect(agent.closes).toEqual([1008]);
    expect(agent.messages).toHaveLength(250);
    // However long it was quiet, no more than a burst is saved up.
    const other = new TestAgent(place);
    place.nowMs += 3_600_000;
    for (let n = 0; n < 200; n++) other.say({});
    expect(other.closes).toEqual([]);
    other.say({});
    expect(other.closes).toEqual([1008]);
  });

  test("are of the epoch that their connection was given, though it is the right one", () => {
    const place = new Place();
    place.start();
    const agent = new TestAgent(place).hello();
    const stranger = new TestAgent(place);
    const { enteredGeneration } = agent.last("command");
    stranger.say({ type: "report", id: 9, epoch: 1, enteredGeneration, report: TO_ACTIVE[0] });
    expect(stranger.last("refused")).toMatchObject({ id: 9, because: "invalid" });
    expect(place.manager.split.state().phase).toEqual({ name: "Preparing" });
    expect(agent.report(TO_ACTIVE[0] ?? expect.fail())).toMatchObject({ type: "accepted" });
  });

  test("save a checkpoint, and the next command has it; one of an earlier stay is refused", () => {
    const place = new Place();
    const agent = place.active();
    const later: AgentReport = { kind: "checkpointed", queue: "orders", checkpoint: '{"n":2}' };
    const { enteredGeneration, generation } = agent.last("command");
    expect(agent.report(later)).toMatchObject({ type: "accepted", generation: generation + 1 });
    expect(agent.last("command").sources).toMatchObject([{ checkpoint: '{"n":2}' }]);
    // Told again it is answered, and nothing is written.
    expect(agent.report(later)).toMatchObject({ type: "accepted", generation: generation + 1 });
    place.do({ kind: "stop" });
    expect(agent.report({ ...later, checkpoint: "{}" }, { enteredGeneration })).toMatchObject({
      because: "stale",
    });
    expect(agent.report({ ...later, checkpoint: "{}" })).toMatchObject({ type: "accepted" });
    for (const checkpoint of ["", "x".repeat(MAX_POSITION_BYTES + 1), "é".repeat(MAX_POSITION_BYTES)]) {
      expect(agent.report({ ...later, checkpoint }), `${checkpoint.length}`).toMatchObject({
        id: null,
        because: "invalid",
        reason: expect.stringContaining("report.checkpoint"),
      });
    }
  });
});

describe("the alarm", () => {
  test("is armed again by each pass, with and without something to do", () => {
    const place = new Place();
    const agent = place.active();
    for (let round = 0; round < 3; round++) {
      const dueMs = place.manager.alarmAtMs ?? expect.fail(`no alarm in round ${round}`);
      expect(dueMs).toBeGreaterThan(place.nowMs);
      place.nowMs = dueMs;
      agent.report({ kind: "checkpointed", queue: "orders", checkpoint: `{"n":${round}}` });
      place.manager.passTime();
    }
    expect(place.manager.split.state()).toMatchObject({ phase: { name: "Active" }, deadlineAtMs: null });
  });

  test("sees that the agent is gone though nobody said so, and holds the split when it stays away", () => {
    const place = new Place();
    const agent = place.active();
    // As when the machine is lost, and the alarm with it: no close is heard, and the next call arms anew.
    agent.socket.open = false;
    place.manager.evict();
    place.manager.alarmAtMs = null;
    place.manager.split.arm();
    place.nowMs = place.manager.alarmAtMs ?? expect.fail("an alarm");
    const lostAtMs = place.nowMs;
    place.manager.passTime();
    expect(place.manager.split.state()).toMatchObject({ deadlineAtMs: lostAtMs + AGENT_AWAY_MS });
    for (let round = 0; round < 100 && place.manager.split.state().phase.name === "Active"; round++) {
      place.nowMs = place.manager.alarmAtMs ?? expect.fail("an alarm");
      place.manager.passTime();
    }
    expect(place.nowMs).toBe(lostAtMs + AGENT_AWAY_MS);
    expect(place.manager.split.state().phase).toMatchObject({ reason: expect.stringMatching(/^AgentAway/) });
    // Held, and nobody there: there is nothing more that time could do.
    expect(place.manager.alarmAtMs).toBeNull();
  });

  test("of a route that was renewed comes early and takes nothing", () => {
    const place = new Place();
    place.active();
    const put = putAlice(2000);
    place.do(put);
    place.nowMs += 1500;
    place.do(put);
    place.nowMs += 500;
    place.manager.passTime();
    expect(place.manager.split.state().routes).toMatchObject([{ state: "active" }]);
    expect(place.manager.alarmAtMs).toBe(place.nowMs + 1500);
    place.nowMs += 1500;
    place.manager.passTime();
    expect(place.manager.split.state().routes).toMatchObject([{ state: "draining" }]);
  });
});
