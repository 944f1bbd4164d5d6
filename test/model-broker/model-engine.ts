import type {
  Checkpoint,
  CleanupReadiness,
  CleanupReport,
  EngineHealth,
  EngineRoute,
  EngineTable,
  Frontier,
  HandedBack,
  PersistedState,
  Preflight,
  Recovered,
  RouteDrained,
  SplitEngine,
} from "../../src/splitting/engine.ts";
import {
  EngineFailure,
  OwnershipViolated,
  ShadowUnsafe,
  SourceChanged,
  Unprovable,
} from "../../src/splitting/engine-failures.ts";
import type { QuiescenceProof, QuiescenceReading } from "../../src/splitting/quiescence-proof.ts";
import { EngineSite, type SiteParts } from "./engine-site.ts";
import { Handback, refuseReaders } from "./handback.ts";
import { Pump } from "./pump.ts";
import { SHARED } from "./queue.ts";
import { Removal } from "./removal.ts";

/** The contract of `engine.ts` on the model broker: a queue or a log of it is the source. */
export class ModelEngine implements SplitEngine {
  private readonly site: EngineSite;
  private readonly pump: Pump;
  private readonly handback: Handback;
  private readonly removal: Removal;
  private told = false;
  private closed = false;

  constructor(parts: SiteParts) {
    this.site = new EngineSite(parts);
    this.pump = new Pump(this.site, (failure) => this.tell(failure));
    this.handback = new Handback(this.site);
    this.removal = new Removal(this.site);
    this.site.onFenceLost = (failure) => {
      this.pump.fail(failure);
      this.tell(failure);
    };
  }

  async preflight(): Promise<Preflight> {
    const { site } = this;
    const failures: EngineFailure[] = [];
    const view = await site.look.describe(site.source, SHARED);
    if (!view) failures.push(new SourceChanged(site.queue, `there is no ${site.source}`));
    else if (view.ready === null || view.consumers === null) {
      failures.push(new Unprovable(site.queue, "the broker gives no counts"));
    }
    const kinds = new Set(view?.consumers?.map(({ process }) => process));
    if (kinds.size > 1)
      failures.push(new OwnershipViolated(site.queue, `${kinds.size} parties are on the source`));
    for (const name of [site.applicationShadow, site.name("route-shadow", 0)]) {
      const policies = await site.look.policiesOf(name);
      if (policies.length > 0) {
        failures.push(new ShadowUnsafe(site.queue, `${name} would be hit by ${policies.join(", ")}`));
      }
      if (!site.resource(name) && (await site.look.describe(name, SHARED))) {
        failures.push(new ShadowUnsafe(site.queue, `${name} exists and is not this split's`));
      }
    }
    return failures.length === 0 ? { kind: "ready" } : { kind: "refused", failures };
  }

  async prepare(): Promise<Checkpoint> {
    const { site } = this;
    await site.takeFence();
    const before = site.ports.checkpoints.read();
    const view = before === null ? await site.sourceView(SHARED) : await site.sameSource();
    const { kind } = view.spec;
    await site.ensureShadow(kind, site.applicationShadow, null);
    return site.keep({
      sourceId: view.id,
      kind,
      applicationAt: kind === "log" ? await site.look.position(site.source, site.cursor(kind)) : null,
      inForce: null,
      givingBack: "nothing decided",
      handedBack: false,
    });
  }

  async start(table: EngineTable): Promise<void> {
    if (this.pump.state === "running") return this.reconcileRoutes(table);
    await this.begin(table, table.routes);
  }

  async reconcileRoutes(table: EngineTable): Promise<void> {
    const { kind } = this.site.kept;
    for (const { slot } of table.routes) {
      await this.site.ensureShadow(kind, this.site.name("route-shadow", slot), slot);
    }
    await this.pump.reconcile(table);
  }

  async drainRoute(route: EngineRoute, signal: AbortSignal): Promise<RouteDrained> {
    const { site } = this;
    const pumping = this.pump.state === "running" && site.kept.inForce?.includes(route.route);
    if (pumping) throw new Unprovable(site.queue, `${route.route} is still in force`);
    const name = site.name("route-shadow", route.slot);
    if (site.resource(name)?.state !== "created" && !(await site.look.describe(name, SHARED))) {
      return { moved: 0, proof: await this.removal.proveAbsent(name) };
    }
    await site.checkShadow(name);
    await site.checkShadow(site.applicationShadow);
    return this.handback.empty(name, site.applicationShadow, signal);
  }

  async stop(): Promise<Frontier> {
    await this.site.takeFence();
    await this.pump.stop();
    return this.handback.frontier();
  }

  drainApplication(signal: AbortSignal): Promise<QuiescenceProof> {
    return this.handback.quiet(this.allShadows(), signal);
  }

  async commitHandoff(frontier: Frontier, proof: QuiescenceProof): Promise<HandedBack> {
    const { site } = this;
    proof.use(site.queue, site.applicationShadow, site.ports.clock.nowMs());
    return this.handback.commit(frontier);
  }

  async abort(signal: AbortSignal): Promise<void> {
    const { site } = this;
    await site.takeFence();
    // Nothing was pumped, and the shadow, if there is one, never got anything.
    if (site.ports.checkpoints.read() === null) return;
    const frontier = await this.stop();
    const way = await this.handback.decide();
    if (way === "wait for the application") {
      for (const { slot, name, state } of site.shadows()) {
        if (slot === null || state === "recorded") continue;
        await this.handback.empty(name, site.applicationShadow, signal);
      }
      await this.handback.quiet(this.allShadows(), signal, "refuse");
      await this.handback.commit(frontier);
      return;
    }
    for (const { name, state } of site.shadows()) {
      if (state === "recorded" && !(await site.look.describe(name, SHARED))) continue;
      if (way === "void the copies") await refuseReaders(site, name);
      await this.handback.empty(name, way === "void the copies" ? null : site.source, signal);
    }
    await this.handback.restoreApplication();
  }

  verifyCleanupReady(): Promise<CleanupReadiness> {
    return this.removal.readiness();
  }

  async cleanup(proofs: readonly QuiescenceProof[]): Promise<CleanupReport> {
    if (this.site.ports.inventory.list().length === 0) return { deleted: [], left: [] };
    await this.site.takeFence();
    return this.removal.removeAll(proofs);
  }

  async recover(state: PersistedState): Promise<Recovered> {
    const { site } = this;
    const { phase } = state;
    switch (phase.name) {
      case "Preparing":
      case "QuiescingApp":
      case "Inactive":
        return { kind: "idle" };
      case "DrainingApp":
        if (!site.faults.pumpsWhileDraining) return this.fenceOff("with the shadow");
        await this.resume(state);
        return { kind: "pumping" };
      case "StartingPump":
      case "RedirectingApp":
      case "Active":
        await this.resume(state);
        return { kind: "pumping" };
      case "QuiescingHandback":
      case "HandingBack":
        return this.fenceOff("with the shadow");
      case "AbortingActivation":
      case "RestoringApp":
        return this.fenceOff();
      case "CleaningUp":
        // It goes last: with it everything is gone, and it is not made anew for nothing.
        return site.resource(site.name("fence")) ? this.fenceOff() : { kind: "idle" };
      case "Degraded":
        return { kind: "held", reason: phase.reason };
      default:
        return { kind: "held", reason: "a phase that this version does not know" };
    }
  }

  async health(): Promise<EngineHealth> {
    const { site, pump } = this;
    const nothing = { source: null, applicationShadow: null, routeShadows: new Map() };
    // A fenced one never asks the broker anything again.
    if (site.over) return { pump: "fenced", failure: site.over, ...nothing };
    try {
      const readings = await this.readings();
      if (!pump.failure && pump.state === "running") await pump.check();
      return { pump: this.pumpState(), failure: pump.failure, ...readings };
    } catch (failure) {
      if (!(failure instanceof EngineFailure)) throw failure;
      return { pump: this.pumpState(), failure, ...(await this.readings().catch(() => nothing)) };
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    try {
      if (this.site.holdsFence) await this.pump.stop();
    } finally {
      this.site.leave();
    }
  }

  /** Fence, ownership, position, pump. */
  private async begin(table: EngineTable, older: readonly EngineRoute[]): Promise<void> {
    const { site } = this;
    await site.takeFence();
    const { kind } = site.kept;
    await site.ensureShadow(kind, site.applicationShadow, null);
    for (const { slot } of [...older, ...table.routes]) {
      await site.ensureShadow(kind, site.name("route-shadow", slot), slot);
    }
    await this.pump.check();
    await this.findPosition();
    if (older === table.routes) {
      await site.keep({ ...site.kept, inForce: table.routes.map(({ route }) => route) });
    }
    await this.pump.start(older);
    await this.pump.reconcile(table);
  }

  /** Seeds the own position where none was made. */
  private async findPosition(): Promise<void> {
    const { site } = this;
    if (site.kept.kind === "queue") return;
    const name = site.ownCursor;
    const recorded = site.resource(name);
    const own = await site.look.position(site.source, name);
    const made = recorded?.state === "created";
    if (made && !own) throw new Unprovable(site.queue, "the pump's own position is gone");
    if (made && !site.faults.seedsAgain) return;
    if (!recorded) await site.persisted(() => site.ports.inventory.record("checkpoint", null));
    if (!own || site.faults.seedsAgain) {
      const at = (await site.look.position(site.source, site.cursor())) ?? site.kept.applicationAt;
      if (!at) throw new Unprovable(site.queue, "the application has no position at the source");
      await site.keep({ ...site.kept, applicationAt: at });
      await site.run(() => site.connection.commit("seed-position", site.source, name, at));
    }
    await site.persisted(() => site.ports.inventory.markCreated(name));
  }

  private async resume(state: PersistedState): Promise<void> {
    const routes = state.routes.filter(({ queue }) => queue === this.site.queue);
    const active = routes.filter((route) => route.state === "active");
    const older = this.site.kept.inForce?.map((name) => {
      const route = routes.find((each) => each.route === name);
      if (!route) throw new Unprovable(this.site.queue, `${name} was in force and is not in the document`);
      return route;
    });
    await this.begin({ routes: active }, older ?? active);
  }

  /** `with the shadow`: the application's is made where it is not said to be there. */
  private async fenceOff(shadow?: "with the shadow"): Promise<Recovered> {
    const { site } = this;
    await site.takeFence();
    const name = site.applicationShadow;
    if (shadow && site.resource(name)?.state === "recorded")
      await site.ensureShadow(site.kept.kind, name, null);
    return { kind: "fenced-off" };
  }

  /** Those of routes, then the application's. */
  private allShadows(): [...string[], string] {
    const routes = this.site
      .shadows()
      .filter(({ kind, state }) => kind === "route-shadow" && state !== "recorded");
    return [...routes.map(({ name }) => name), this.site.applicationShadow];
  }

  private async readings(): Promise<Pick<EngineHealth, "source" | "applicationShadow" | "routeShadows">> {
    const { site } = this;
    const cursor = site.ports.checkpoints.read() === null ? SHARED : site.cursor();
    const read = async (name: string) => {
      const view = await site.look.describe(name, cursor);
      if (!view) return null;
      return {
        ready: view.ready,
        unsettled: view.unsettled,
        consumers: site.strangers(view)?.length ?? null,
      };
    };
    const source = await read(site.source);
    const applicationShadow = await read(site.applicationShadow);
    const routeShadows = new Map<number, QuiescenceReading | null>();
    for (const { slot, name } of site.shadows()) if (slot !== null) routeShadows.set(slot, await read(name));
    return { source, applicationShadow, routeShadows };
  }

  private pumpState(): EngineHealth["pump"] {
    if (this.site.over) return "fenced";
    const { state } = this.pump;
    return state === "idle" ? "never started" : state === "stopping" ? "stopped" : state;
  }

  private tell(failure: EngineFailure): void {
    if (this.told) return;
    this.told = true;
    this.site.ports.stopped(failure);
  }
}
