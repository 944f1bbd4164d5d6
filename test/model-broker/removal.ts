import type { CleanupReadiness, CleanupReport } from "../../src/splitting/engine.ts";
import { EngineFailure, NeedsDrain, ShadowUnsafe, Unprovable } from "../../src/splitting/engine-failures.ts";
import { AbsenceProof, QuiescenceProof } from "../../src/splitting/quiescence-proof.ts";
import type { ResourceKind, SplitResource } from "../../src/splitting/state/split-state.ts";
import type { EngineSite } from "./engine-site.ts";
import { SHARED } from "./queue.ts";

/** The fence goes last: until then nobody else acts. */
const ORDER: readonly ResourceKind[] = ["route-shadow", "app-shadow", "checkpoint", "fence"];
const NOTHING_LEFT = { ready: 0, unsettled: 0, consumers: 0 };

/** Deletes what the inventory names, each with a proof that is looked at again. */
export class Removal {
  private readonly site: EngineSite;

  constructor(site: EngineSite) {
    this.site = site;
  }

  async readiness(): Promise<CleanupReadiness> {
    const proofs: QuiescenceProof[] = [];
    const failures: EngineFailure[] = [];
    for (const resource of this.ordered()) {
      const proof = await this.prove(resource);
      if (proof instanceof QuiescenceProof) proofs.push(proof);
      else failures.push(proof);
    }
    return failures.length === 0 ? { kind: "ready", proofs } : { kind: "blocked", failures };
  }

  async removeAll(proofs: readonly QuiescenceProof[]): Promise<CleanupReport> {
    const deleted: string[] = [];
    const left: { name: string; failure: EngineFailure }[] = [];
    for (const resource of this.ordered()) {
      try {
        if (resource.kind === "fence" && left.length > 0) {
          throw new NeedsDrain(this.site.queue, "the fence stays while anything else does");
        }
        await this.remove(resource, proofs);
        deleted.push(resource.name);
      } catch (failure) {
        if (!(failure instanceof EngineFailure) || failure.kind === "Fenced") throw failure;
        left.push({ name: resource.name, failure });
      }
    }
    return { deleted, left };
  }

  /** Of a shadow that may be on the inventory and is not on the broker. */
  async proveAbsent(name: string): Promise<QuiescenceProof> {
    const { site } = this;
    const read = async () => NOTHING_LEFT;
    const proof = await QuiescenceProof.check(site.queue, name, read, site.ports.clock.nowMs());
    if (!(proof instanceof QuiescenceProof)) throw proof;
    return proof;
  }

  private ordered(): SplitResource[] {
    const list = this.site.ports.inventory.list();
    return ORDER.flatMap((kind) => list.filter((resource) => resource.kind === kind));
  }

  private async remove(resource: SplitResource, proofs: readonly QuiescenceProof[]): Promise<void> {
    const { site } = this;
    const { name } = resource;
    const { inventory } = site.ports;
    const proof = proofs.find((each) => each.subject === name);
    if (!proof) throw new Unprovable(site.queue, `no proof was given for ${name}`);
    await site.persisted(() => inventory.markDeleting(name, proof));
    if (!site.faults.deletesWithoutLooking) {
      const again = await this.prove(resource);
      if (!(again instanceof QuiescenceProof)) throw again;
    }
    if (site.faults.forgetsBeforeDelete) {
      const claimed = await AbsenceProof.check(name, async () => false);
      if (claimed) await site.persisted(() => inventory.forget(name, claimed));
    }
    await this.delete(resource);
    const gone = await AbsenceProof.check(name, () => this.exists(resource));
    if (!gone) throw new Unprovable(site.queue, `${name} is still there`);
    if (!site.faults.forgetsBeforeDelete) await site.persisted(() => inventory.forget(name, gone));
  }

  private async prove(resource: SplitResource): Promise<QuiescenceProof | EngineFailure> {
    const { site } = this;
    const { kind, name } = resource;
    const check = (reading: typeof NOTHING_LEFT) =>
      QuiescenceProof.check(site.queue, name, async () => reading, site.ports.clock.nowMs());
    if (kind === "fence" || !(await this.exists(resource))) return check(NOTHING_LEFT);
    if (kind === "checkpoint") {
      const view = await site.look.describe(site.source, name);
      const readers = view?.consumers?.filter(({ cursor }) => cursor === name).length ?? 0;
      return check({ ...NOTHING_LEFT, consumers: readers });
    }
    const view = await site.look.describe(name, SHARED);
    if (view && view.spec.owner !== site.ownerMark) {
      return new ShadowUnsafe(site.queue, `${name} is not the one that was made`);
    }
    return site.prove(name);
  }

  private async exists({ kind, name }: SplitResource): Promise<boolean> {
    const { site } = this;
    if (kind === "fence") return (await site.look.holderOf(name)) !== null;
    if (kind !== "checkpoint") return (await site.look.describe(name, SHARED)) !== null;
    const source = await site.look.describe(site.source, SHARED);
    return source !== null && (await site.look.position(site.source, name)) !== null;
  }

  private async delete(resource: SplitResource): Promise<void> {
    const { site } = this;
    const { kind, name } = resource;
    if (!(await this.exists(resource))) return;
    if (kind === "fence") await site.run(() => site.connection.unlock(name));
    else if (kind === "checkpoint") {
      await site.run(() => site.connection.forgetPosition("delete-position", site.source, name));
    } else await site.run(() => site.connection.delete("delete-shadow", name));
  }
}
