import { type ResourceIdentity, resourceName } from "../../src/splitting/state/names.ts";
import type { Provider } from "../../src/splitting/state/split-state.ts";
import { Journal, type Place } from "../conformance/splitting/journal.ts";
import { PREFIX, QUEUE, TENANT, WORKLOAD } from "../conformance/splitting/keeper.ts";
import type {
  AgentHost,
  AttachOptions,
  Party,
  Probe,
  ScenarioNames,
} from "../conformance/splitting/probe.ts";
import type { SplitMessage } from "../conformance/splitting/split-message.ts";
import { Broker, POSITION_RETENTION_MS, USERS } from "./broker.ts";
import { type EngineFaults, NO_FAULTS } from "./engine-faults.ts";
import { APPLICATION, NO_LIMIT } from "./engine-site.ts";
import { ModelAgent } from "./model-agent.ts";
import { ModelParty } from "./model-party.ts";
import { type Queue, type QueueKind, SHARED } from "./queue.ts";
import { ModelProcess, Scheduler } from "./scheduler.ts";

const MAX_LOOKS = 5_000;
const SLOTS = 20;
const SOURCE = "orders";

export interface ModelOptions {
  kind: QueueKind;
  seed?: number;
  faults?: Partial<EngineFaults>;
}

/** The suite's eyes and hands on the model broker: they need no step, nothing that they do can crash. */
export class ModelProbe implements Probe {
  readonly provider: Provider;
  readonly journal = new Journal();
  readonly names: ScenarioNames;
  readonly positionRetentionMs = POSITION_RETENTION_MS;
  readonly scheduler: Scheduler;
  readonly broker: Broker;
  /** Called with each new agent before it does anything. */
  onAgent: (agent: ModelAgent) => void = () => {};
  private readonly kind: QueueKind;
  private readonly faults: EngineFaults;
  private readonly placeOf = new Map<string, Place>([[SOURCE, "source"]]);
  private processes = 0;

  constructor({ kind, seed = 1, faults }: ModelOptions) {
    this.kind = kind;
    this.provider = kind === "queue" ? "rabbitmq" : "kafka";
    this.faults = { ...NO_FAULTS, ...faults };
    this.scheduler = new Scheduler(seed);
    const identity = { prefix: PREFIX, tenant: TENANT, workload: WORKLOAD, queue: QUEUE };
    this.names = { source: SOURCE, nameOf: (kind, slot) => nameOnce({ ...identity, kind, slot }) };
    this.placeOf.set(this.names.nameOf("app-shadow", null), "application");
    for (let slot = 0; slot < SLOTS; slot++) this.placeOf.set(this.names.nameOf("route-shadow", slot), slot);
    this.broker = new Broker(this.scheduler, {
      created: (name) => this.tellName("created", name),
      deleted: (name) => this.tellName("deleted", name),
      stored: (queue, { id }) => this.tell(queue, (place) => this.journal.add({ kind: "stored", place, id })),
      settled: ({ name: by }, queue, id) => {
        if (by.startsWith(AGENT)) return;
        this.tell(queue, (place) => this.journal.add({ kind: "handled", by, place, id }));
      },
      interrupted: ({ name }, underWay) => {
        if (name.startsWith(AGENT)) this.journal.add({ kind: "crash", underWay });
      },
    });
    this.makeSource(kind);
  }

  newAgent(): AgentHost {
    const agent = new ModelAgent(this.broker, new ModelProcess(`${AGENT} ${++this.processes}`), this.faults);
    this.onAgent(agent);
    return agent;
  }

  async seed(messages: readonly SplitMessage[]): Promise<void> {
    for (const message of messages) this.broker.publish(SOURCE, message);
  }

  async seedAborted(messages: readonly SplitMessage[]): Promise<void> {
    for (const { id } of messages) this.journal.add({ kind: "void", id });
    this.broker.publishInTransaction(SOURCE, messages)("aborted");
  }

  async seedOpen(messages: readonly SplitMessage[]): Promise<() => Promise<void>> {
    const end = this.broker.publishInTransaction(SOURCE, messages);
    return async () => end("committed");
  }

  async waiting(place: Place): Promise<SplitMessage[]> {
    const positions =
      place === "source" ? [this.cursor, this.names.nameOf("checkpoint", null)] : [this.cursor];
    return this.queueOf(place)?.waiting(positions) ?? [];
  }

  async everIn(place: Place): Promise<SplitMessage[]> {
    return this.queueOf(place)?.entries.map(({ message }) => message) ?? [];
  }

  async countIn(usersQueue: string): Promise<number> {
    return this.broker.queue(usersQueue)?.entries.length ?? 0;
  }

  async publishInto(place: Place, message: SplitMessage): Promise<void> {
    const queue = this.queueOf(place);
    if (!queue || !this.broker.publish(queue.name, message)) throw new Error(`nothing took it at ${place}`);
  }

  async applicationPosition(): Promise<string | null> {
    const position = this.broker.queue(SOURCE)?.position(this.cursor, this.scheduler.nowMs);
    return position ? JSON.stringify(position) : null;
  }

  async attach(by: string, place: Place, options: AttachOptions = {}): Promise<Party> {
    const queue = this.queueOf(place);
    if (!queue) throw new Error(`there is nothing to attach to at ${place}`);
    return ModelParty.attach(
      this.broker,
      new ModelProcess(by),
      queue.name,
      this.cursor,
      options.hold ?? null,
    );
  }

  async addPolicy(name: string): Promise<() => Promise<void>> {
    const policy = { name: "expire-all", pattern: new RegExp(`^${name}$`), ttlMs: 60_000 };
    this.broker.policies.push(policy);
    return async () => {
      this.broker.policies.splice(this.broker.policies.indexOf(policy), 1);
    };
  }

  async makeUsersQueue(name: string): Promise<void> {
    this.broker.create(name, { kind: this.kind, durable: true, deliveryLimit: NO_LIMIT, owner: USERS });
    this.broker.publish(name, { id: `of ${name}`, headers: [], key: null, body: null, properties: {} });
  }

  async deleteByHand(name: string): Promise<void> {
    this.broker.delete(name);
  }

  async refuseDeletes(name: string): Promise<() => Promise<void>> {
    this.broker.undeletable.add(name);
    return async () => {
      this.broker.undeletable.delete(name);
    };
  }

  async recreateSource(): Promise<void> {
    this.broker.delete(SOURCE);
    this.makeSource(this.kind);
  }

  async retypeSource(): Promise<void> {
    this.broker.delete(SOURCE);
    this.makeSource(this.kind === "queue" ? "log" : "queue");
  }

  async hideCounts(name: string): Promise<() => Promise<void>> {
    this.broker.silent.add(name);
    return async () => {
      this.broker.silent.delete(name);
    };
  }

  nowMs(): number {
    return this.scheduler.nowMs;
  }

  async passTime(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += LEAP_MS) {
      this.scheduler.leap(Math.min(LEAP_MS, ms - passed));
      await this.scheduler.quietly(ROUNDS_AFTER_LEAP);
    }
  }

  async exists(): Promise<string[]> {
    const positions = this.broker
      .queue(SOURCE)
      ?.positions.filter((name) => ![SHARED, APPLICATION].includes(name));
    return [...this.broker.names, ...(positions ?? [])];
  }

  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    for (let look = 0; look < MAX_LOOKS; look++) {
      if (await condition()) return;
      await this.scheduler.nextRound();
    }
    throw new Error(`it did not come to be that ${what}`);
  }

  async settleDown(): Promise<void> {
    await this.scheduler.quietly(ROUNDS_TO_SETTLE);
  }

  async close(): Promise<void> {
    this.scheduler.close();
  }

  private makeSource(kind: QueueKind): void {
    this.broker.create(SOURCE, { kind, durable: true, deliveryLimit: NO_LIMIT, owner: USERS });
    if (kind === "log") this.broker.commit(SOURCE, APPLICATION, { below: 0, above: [] });
  }

  private get cursor(): string {
    return this.kind === "queue" ? SHARED : APPLICATION;
  }

  private queueOf(place: Place): Queue | undefined {
    const name = [...this.placeOf].find(([, at]) => at === place)?.[0];
    return name === undefined ? undefined : this.broker.queue(name);
  }

  private tellName(kind: "created" | "deleted", name: string): void {
    if (name !== APPLICATION) this.journal.add({ kind, name });
  }

  private tell(queue: Queue, add: (place: Place) => void): void {
    const place = this.placeOf.get(queue.name);
    const lookAlike = place !== "source" && queue.spec.owner === USERS;
    if (place !== undefined && !lookAlike) add(place);
  }
}

/** Names are asked for at every turn, and a digest takes longer than all else there. */
const namesMade = new Map<string, string>();
function nameOnce(identity: ResourceIdentity): string {
  const key = `${identity.kind} ${identity.slot}`;
  const name = namesMade.get(key) ?? resourceName(identity);
  namesMade.set(key, name);
  return name;
}

const AGENT = "agent";
/** Far shorter than anything that a broker forgets by. */
const LEAP_MS = 6 * 3600 * 1000;
const ROUNDS_AFTER_LEAP = 12;
/** Timers that go off, one after the other: several rounds of everybody who polls. */
const ROUNDS_TO_SETTLE = 120;
