import {
  type Checkpoint,
  checkpointOf,
  type EnginePorts,
  type EngineRoute,
} from "../../src/splitting/engine.ts";
import {
  BrokerUnavailable,
  type EngineFailure,
  Fenced,
  ShadowUnsafe,
  SourceChanged,
  Unprovable,
} from "../../src/splitting/engine-failures.ts";
import { QuiescenceProof, type QuiescenceReading } from "../../src/splitting/quiescence-proof.ts";
import type { ResourceKind, SplitResource } from "../../src/splitting/state/split-state.ts";
import type { SplitMessage } from "../conformance/splitting/split-message.ts";
import type { Broker, QueueView } from "./broker.ts";
import { type Connection, ConnectionClosed, Refused } from "./connection.ts";
import type { EngineFaults } from "./engine-faults.ts";
import { type Delivery, type Position, type QueueKind, type QueueSpec, SHARED } from "./queue.ts";
import type { ModelProcess } from "./scheduler.ts";

/** By whose position the application reads a log. */
export const APPLICATION = "application";
export const NO_LIMIT = 2 ** 31 - 1;
const DEFAULT_LIMIT = 20;

/** What the model engine keeps in its checkpoint. */
export interface Kept {
  sourceId: number;
  kind: QueueKind;
  /** Where the application stood at the source; null: a queue has no positions. */
  applicationAt: Position | null;
  /** Names of the routes by which the pump decides; null: nothing was ever pumped. */
  inForce: string[] | null;
  /** How an abort gives back what was pumped, once it is decided. */
  givingBack: "nothing decided" | "void the copies" | "into the source" | "wait for the application";
  handedBack: boolean;
}

export interface SiteParts {
  broker: Broker;
  process: ModelProcess;
  ports: EnginePorts;
  faults: EngineFaults;
  tableOf: (routes: readonly EngineRoute[]) => (message: SplitMessage) => string | null;
}

/**
 * What every part of a model engine stands on: its one fenced connection, names, checkpoint, live readings, and the
 * translation of the broker's answers into failures of the contract.
 */
export class EngineSite {
  readonly parts: SiteParts;
  readonly ports: EnginePorts;
  readonly faults: EngineFaults;
  /** Carries the fence, the source's consumer and every publish: whoever loses one loses all. */
  private fenced: Connection | null = null;
  private reading: Connection | null = null;
  /** What ended this engine for good. */
  over: Fenced | null = null;
  onFenceLost: (failure: Fenced) => void = () => {};

  constructor(parts: SiteParts) {
    this.parts = parts;
    this.ports = parts.ports;
    this.faults = parts.faults;
  }

  get queue(): string {
    return this.ports.identity.queue;
  }

  get source(): string {
    return this.ports.identity.sourceName;
  }

  name(kind: ResourceKind, slot: number | null = null): string {
    return this.ports.identity.nameOf(kind, slot);
  }

  get applicationShadow(): string {
    return this.name("app-shadow");
  }

  resource(name: string): SplitResource | undefined {
    return this.ports.inventory.list().find((resource) => resource.name === name);
  }

  shadows(): SplitResource[] {
    const routes = this.ports.inventory.list().filter(({ kind }) => kind === "route-shadow");
    return [...routes, ...this.ports.inventory.list().filter(({ kind }) => kind === "app-shadow")];
  }

  get kept(): Kept {
    const text = this.ports.checkpoints.read();
    if (text === null) throw new Unprovable(this.queue, "there is no checkpoint");
    return JSON.parse(text) as Kept;
  }

  async keep(kept: Kept): Promise<Checkpoint> {
    const checkpoint = checkpointOf(kept);
    await this.persisted(() => this.ports.checkpoints.save(checkpoint));
    return checkpoint;
  }

  /** Every call to the state document comes through here: one that says that a newer agent is there ends this one. */
  async persisted(work: () => Promise<void>): Promise<void> {
    if (this.over) throw this.over;
    try {
      await work();
    } catch (error) {
      if (error instanceof Fenced) this.end(error);
      throw error;
    }
  }

  /** By whose position shadows and source are read. */
  cursor(kind: QueueKind = this.kept.kind): string {
    return kind === "queue" ? SHARED : APPLICATION;
  }

  /** By which position the pump reads the source. */
  get ownCursor(): string {
    return this.kept.kind === "queue" ? SHARED : this.name("checkpoint");
  }

  /** For reads only; it carries nothing. */
  get look(): Connection {
    if (this.over) throw this.over;
    const closed = () => this.over ?? new BrokerUnavailable(this.queue, "a connection for reading is gone");
    if (!this.reading?.open) this.reading = this.parts.broker.connect(this.parts.process, closed);
    return this.reading;
  }

  get connection(): Connection {
    if (this.over) throw this.over;
    if (!this.fenced) throw new Unprovable(this.queue, "the fence is not held");
    return this.fenced;
  }

  get holdsFence(): boolean {
    return this.fenced?.open === true;
  }

  /** Recorded, then taken; then it is asked whether this is still the newest agent. */
  async takeFence(): Promise<void> {
    if (this.over) throw this.over;
    if (this.holdsFence) return;
    const name = this.name("fence");
    const { inventory, identity } = this.ports;
    if (!this.resource(name)) await this.persisted(() => inventory.record("fence", null));
    const connection = this.parts.broker.connect(this.parts.process);
    connection.onClose(() => this.lost());
    this.fenced = connection;
    try {
      await this.run(() => connection.lock(name, identity.agentEpoch), Fenced);
    } catch (error) {
      if (error instanceof Fenced) this.end(error);
      throw error;
    }
    // An older agent that was paused until now would find the fence free.
    if (!this.faults.trustsTheFence) await this.persisted(() => inventory.record("fence", null));
  }

  leave(): void {
    const { fenced } = this;
    this.fenced = null;
    fenced?.close();
    this.reading?.close();
  }

  /** Every answer of the broker on the fenced connection comes through here; `Refuse` says what its no means. */
  async run<T>(
    work: () => Promise<T>,
    Refuse: new (queue: string, detail: string) => EngineFailure = Unprovable,
  ): Promise<T> {
    if (this.over) throw this.over;
    try {
      return await work();
    } catch (error) {
      if (error instanceof ConnectionClosed)
        throw this.over ?? new Fenced(this.queue, "the connection is gone");
      if (error instanceof Refused) throw new Refuse(this.queue, error.message);
      throw error;
    }
  }

  async sourceView(cursor: string): Promise<QueueView> {
    const view = await this.look.describe(this.source, cursor);
    if (!view) throw new SourceChanged(this.queue, `${this.source} is gone`);
    return view;
  }

  /** The source as it was prepared, or `SourceChanged`. */
  async sameSource(): Promise<QueueView> {
    const { sourceId, kind } = this.kept;
    const view = await this.sourceView(this.cursor(kind));
    if (view.id !== sourceId || view.spec.kind !== kind) {
      throw new SourceChanged(this.queue, `${this.source} is not the one that was prepared`);
    }
    return view;
  }

  /** Consumers of the source that are not this engine's. */
  strangers(view: QueueView): string[] | null {
    const own = this.parts.process;
    return (
      view.consumers?.filter(({ connection }) => connection.process !== own).map((each) => each.process) ??
      null
    );
  }

  shadowSpec(kind: QueueKind): QueueSpec {
    const deliveryLimit = this.faults.limitsDeliveries ? DEFAULT_LIMIT : NO_LIMIT;
    return { kind, durable: true, deliveryLimit, owner: this.ownerMark };
  }

  get ownerMark(): string {
    const { tenant, workload, queue } = this.ports.identity;
    return JSON.stringify([tenant, workload, queue]);
  }

  /** Recorded, made or taken over, and known to be as it must be. */
  async ensureShadow(kind: QueueKind, name: string, slot: number | null): Promise<void> {
    const role: ResourceKind = slot === null ? "app-shadow" : "route-shadow";
    const { inventory } = this.ports;
    const { connection } = this;
    if (this.faults.createsBeforeRecord) {
      await this.run(() => connection.create("create-shadow", name, this.shadowSpec(kind)));
    }
    const known = this.resource(name);
    if (!known) {
      if (!this.faults.createsBeforeRecord && (await this.look.describe(name, SHARED))) {
        throw new ShadowUnsafe(this.queue, `${name} exists and is not this split's`);
      }
      await this.persisted(() => inventory.record(role, slot));
    }
    if (known?.state === "created") return this.checkShadow(name);
    await this.run(() => connection.create("create-shadow", name, this.shadowSpec(kind)), ShadowUnsafe);
    await this.seedShadow(kind, name);
    await this.checkShadow(name);
    await this.persisted(() => inventory.markCreated(name));
  }

  /** There, as it was made, and nothing takes messages out of it. */
  async checkShadow(name: string): Promise<void> {
    const view = await this.look.describe(name, SHARED);
    if (!view) throw new ShadowUnsafe(this.queue, `${name} is missing`);
    if (view.spec.owner !== this.ownerMark || !view.spec.durable) {
      throw new ShadowUnsafe(this.queue, `${name} is not as it was made`);
    }
    const policies = await this.look.policiesOf(name);
    if (policies.length > 0) throw new ShadowUnsafe(this.queue, `${name} is hit by ${policies.join(", ")}`);
    if (view.spec.kind === "log" && this.resource(name)?.state === "created") {
      const position = await this.look.position(name, APPLICATION);
      if (!position) throw new ShadowUnsafe(this.queue, `the application's position in ${name} is gone`);
    }
  }

  /** Of a shadow or the source, this process's own consumers left out. Null where it is missing. */
  async read(name: string): Promise<QuiescenceReading | null> {
    const view = await this.look.describe(name, this.cursor());
    if (!view) return null;
    return { ready: view.ready, unsettled: view.unsettled, consumers: this.strangers(view)?.length ?? null };
  }

  /** A live proof, or what is in the way. A shadow that is missing proves nothing. */
  prove(name: string): Promise<QuiescenceProof | EngineFailure> {
    const nothing = { ready: null, unsettled: null, consumers: null };
    const read = async () => (await this.read(name)) ?? nothing;
    return QuiescenceProof.check(this.queue, name, read, this.ports.clock.nowMs());
  }

  /** Publishes to exactly one place and has it confirmed, or throws and leaves the delivery unsettled. */
  async put(label: string, target: string, message: SplitMessage): Promise<void> {
    const copy = this.faults.keepsCopyHeaders
      ? message
      : { ...message, headers: message.headers.filter(([name]) => name !== "CC" && name !== "BCC") };
    const body = this.faults.emptiesNullBodies ? (copy.body ?? new Uint8Array()) : copy.body;
    const routed = await this.run(() => this.connection.publish(label, target, { ...copy, body }));
    if (!routed && !this.faults.trustsConfirms) throw new ShadowUnsafe(this.queue, `${target} is missing`);
  }

  async settle(label: string, delivery: Delivery): Promise<void> {
    await this.run(() => this.connection.settle(label, delivery));
  }

  /** A late reader begins at the first message, not at the end. */
  private async seedShadow(kind: QueueKind, name: string): Promise<void> {
    if (kind === "queue" || (await this.look.position(name, APPLICATION))) return;
    await this.run(() => this.connection.commit("seed-position", name, APPLICATION, { below: 0, above: [] }));
  }

  /** For good. Also where the manager says that a newer agent is there. */
  end(failure: Fenced): void {
    if (this.over) return;
    this.over = failure;
    this.leave();
    this.onFenceLost(failure);
  }

  private lost(): void {
    if (this.fenced) this.end(new Fenced(this.queue, "the connection that carried the fence is gone"));
  }
}
