import type { EngineRoute, EngineTable } from "../../src/splitting/engine.ts";
import {
  EngineFailure,
  OwnershipViolated,
  SourceChanged,
  Unprovable,
} from "../../src/splitting/engine-failures.ts";
import type { SplitMessage } from "../conformance/splitting/split-message.ts";
import type { EngineSite } from "./engine-site.ts";
import type { Consumer, Delivery } from "./queue.ts";

const PREFETCH = 4;
const POLL_MS = 50;
const LOOK_EVERY_MS = 1000;
const REFRESH_EVERY_MS = 24 * 3600 * 1000;

interface Change {
  table: EngineTable;
  done: () => void;
  failed: (failure: unknown) => void;
}

/**
 * Moves messages from the source into shadows.
 *
 * States: idle → running → stopping → stopped; running → failed. Invariants: a delivery is settled at the source after
 * its copy is confirmed, never before; while a table is changed nothing is in flight; what an earlier life may have
 * published (deliveries marked as repeated) goes by the table that was in force then.
 */
export class Pump {
  state: "idle" | "running" | "stopping" | "stopped" | "failed" = "idle";
  failure: EngineFailure | null = null;
  private readonly site: EngineSite;
  private consumer: Consumer | null = null;
  private inFlight = 0;
  private inForce: readonly EngineRoute[] = [];
  private routeOf: (message: SplitMessage) => string | null = () => null;
  private change: Change | null = null;
  /** What the source repeats may have been published by an earlier life. */
  private repeating = true;
  private lookedAtMs = 0;
  private refreshedAtMs = 0;
  private idle: (() => void)[] = [];
  private readonly onFailure: (failure: EngineFailure) => void;

  constructor(site: EngineSite, onFailure: (failure: EngineFailure) => void) {
    this.site = site;
    this.onFailure = onFailure;
  }

  /** `older`: the table that was in force. */
  async start(older: readonly EngineRoute[]): Promise<void> {
    const { site } = this;
    this.use(older);
    this.consumer = await site.run(() => site.connection.consume(site.source, site.ownCursor, PREFETCH));
    this.state = "running";
    this.lookedAtMs = this.refreshedAtMs = site.ports.clock.nowMs();
    void this.go();
  }

  reconcile(table: EngineTable): Promise<void> {
    if (this.state !== "running") return Promise.reject(this.failure ?? this.notRunning());
    return new Promise((done, failed) => {
      this.change = { table, done, failed };
    });
  }

  /** Resolves when nothing is in flight and the source has no consumer of this engine. */
  async stop(): Promise<void> {
    if (this.state === "running") this.state = "stopping";
    await this.settled();
    if (this.state === "stopping") this.state = "stopped";
    const { consumer, site } = this;
    this.consumer = null;
    if (consumer) await site.run(() => site.connection.cancel(consumer));
    this.change?.failed(this.notRunning());
    this.change = null;
  }

  /** Stands where it is; what is in flight is not settled. */
  fail(failure: EngineFailure): void {
    if (this.state === "failed") return;
    this.state = "failed";
    this.failure = failure;
    this.change?.failed(failure);
    this.change = null;
    this.onFailure(failure);
  }

  private async go(): Promise<void> {
    try {
      while (this.state === "running") await this.turn();
    } catch (error) {
      this.endWith(error);
    }
    for (const hear of this.idle.splice(0)) hear();
  }

  private async turn(): Promise<void> {
    const { site, consumer } = this;
    if (!consumer) return;
    await this.lookAround();
    if (this.state !== "running") return;
    const delivery = await site.run(() => site.connection.take(consumer), SourceChanged);
    if (this.repeating && !delivery?.redelivered && !(delivery === null && this.inFlight > 0))
      this.repeating = false;
    if (this.change && (!this.repeating || site.faults.switchesAtOnce)) await this.switchTable();
    // The pump's end does not wait for this one: it goes back with the consumer.
    if (this.state !== "running") return;
    if (delivery) void this.move(delivery);
    else await site.ports.clock.wait(POLL_MS);
  }

  private async move(delivery: Delivery): Promise<void> {
    const { site } = this;
    this.inFlight++;
    try {
      const route = this.routeOf(delivery.message);
      const slot = this.inForce.find((each) => each.route === route)?.slot ?? null;
      const target = slot === null ? site.applicationShadow : site.name("route-shadow", slot);
      if (site.faults.settlesBeforePublish) await site.settle("settle-source", delivery);
      await site.put("publish", target, delivery.message);
      if (!site.faults.settlesBeforePublish) await site.settle("settle-source", delivery);
    } catch (error) {
      this.endWith(error);
    } finally {
      this.inFlight--;
      if (this.inFlight === 0) for (const hear of this.idle.splice(0)) hear();
    }
  }

  private async switchTable(): Promise<void> {
    const { change, site } = this;
    if (!change) return;
    if (!site.faults.switchesAtOnce) await this.settled();
    if (this.change !== change) return;
    await site.keep({ ...site.kept, inForce: change.table.routes.map(({ route }) => route) });
    if (this.change !== change) return;
    this.use(change.table.routes);
    this.change = null;
    change.done();
  }

  private use(routes: readonly EngineRoute[]): void {
    this.inForce = routes;
    this.routeOf = this.site.parts.tableOf(routes);
  }

  private settled(): Promise<void> {
    return this.inFlight === 0 ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve));
  }

  /** A foreign consumer, another source, a shadow that is not safe any more. */
  private async lookAround(): Promise<void> {
    const { site } = this;
    const nowMs = site.ports.clock.nowMs();
    if (nowMs - this.lookedAtMs < LOOK_EVERY_MS) return;
    this.lookedAtMs = nowMs;
    await this.check();
    if (nowMs - this.refreshedAtMs < REFRESH_EVERY_MS || site.faults.leavesPositions) return;
    this.refreshedAtMs = nowMs;
    await this.refreshPositions();
  }

  async check(): Promise<void> {
    const { site } = this;
    const strangers = site.strangers(await site.sameSource());
    if (strangers === null) throw new Unprovable(site.queue, "the broker does not say who is on the source");
    if (strangers.length > 0)
      throw new OwnershipViolated(site.queue, `the source has ${strangers.join(", ")}`);
    for (const { name, state } of site.shadows()) if (state === "created") await site.checkShadow(name);
  }

  /** Commits again what stands: a broker forgets the positions that nobody reads by. */
  private async refreshPositions(): Promise<void> {
    const { site } = this;
    const { kind, applicationAt } = site.kept;
    if (kind === "queue" || !applicationAt) return;
    await site.run(() =>
      site.connection.commit("refresh-position", site.source, site.cursor(), applicationAt),
    );
    for (const { name } of site.shadows()) {
      const view = await site.look.describe(name, site.cursor());
      const position = await site.look.position(name, site.cursor());
      if (!position || view?.consumers?.length !== 0) continue;
      await site.run(() => site.connection.commit("refresh-position", name, site.cursor(), position));
    }
  }

  private endWith(error: unknown): void {
    if (!(error instanceof EngineFailure)) throw error;
    const { consumer, site } = this;
    this.fail(error);
    this.consumer = null;
    if (consumer && site.holdsFence) void this.letGo(consumer);
  }

  /**
   * The position is kept: what could not be published waits at the source for whoever pumps next. What was published
   * is settled first, or it would come twice without a crash.
   */
  private async letGo(consumer: Consumer): Promise<void> {
    const { site } = this;
    await this.settled();
    try {
      await site.run(() => site.connection.cancel(consumer));
    } catch (error) {
      // The fence was lost meanwhile, and the consumer with it.
      if (!(error instanceof EngineFailure)) throw error;
    }
  }

  private notRunning(): Unprovable {
    return new Unprovable(this.site.queue, "the pump does not run");
  }
}
