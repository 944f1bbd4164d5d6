import { type Frontier, frontierOf, type HandedBack } from "../../src/splitting/engine.ts";
import { ConsumerAttached, type EngineFailure, HandoffRefused } from "../../src/splitting/engine-failures.ts";
import { QuiescenceProof } from "../../src/splitting/quiescence-proof.ts";
import type { EngineSite, Kept } from "./engine-site.ts";
import type { Position } from "./queue.ts";

const POLL_MS = 200;
const PREFETCH = 8;

/** What the model engine's frontier says. */
interface Stopped {
  sourceId: number;
  /** Null: a queue has no positions, what is not settled is its rest. */
  at: Position | null;
}

/** Empties shadows and gives the source back. It takes nothing from the source. */
export class Handback {
  private readonly site: EngineSite;

  constructor(site: EngineSite) {
    this.site = site;
  }

  /** Where the pump stopped, read from the broker: it is nobody else's position. */
  async frontier(): Promise<Frontier> {
    const { site } = this;
    const { sourceId, kind, applicationAt } = site.kept;
    await site.sameSource();
    const at = kind === "queue" ? null : await site.look.position(site.source, site.ownCursor);
    return frontierOf({ sourceId, at: at ?? applicationAt } satisfies Stopped);
  }

  /** Moves what a shadow holds, in order, until it is empty and unattended. `target` null: the copies are void. */
  async empty(
    name: string,
    target: string | null,
    signal: AbortSignal,
  ): Promise<{ moved: number; proof: QuiescenceProof }> {
    const { site } = this;
    let moved = 0;
    const reader = await site.run(() => site.connection.consume(name, site.cursor(), PREFETCH));
    try {
      for (;;) {
        signal.throwIfAborted();
        const delivery = await site.run(() => site.connection.take(reader));
        if (delivery) {
          if (target !== null) await site.put("move", target, delivery.message);
          await site.settle("settle-shadow", delivery);
          moved++;
          continue;
        }
        const proof = await site.prove(name);
        if (proof instanceof QuiescenceProof) return { moved, proof };
        this.giveUpOn(proof);
        await site.ports.clock.wait(POLL_MS);
      }
    } finally {
      // Where the fence is lost the consumer went with it.
      if (site.holdsFence) await site.run(() => site.connection.cancel(reader));
    }
  }

  /** Waits until each is empty and unattended, whoever empties it; the proof is of the last. */
  async quiet(
    names: readonly [...string[], string],
    signal: AbortSignal,
    unattended: "wait" | "refuse" = "wait",
  ): Promise<QuiescenceProof> {
    const { site } = this;
    for (;;) {
      signal.throwIfAborted();
      let proof: QuiescenceProof | EngineFailure | undefined;
      for (const name of names) {
        if ((await site.look.describe(name, site.cursor())) === null) await site.checkShadow(name);
        proof = await site.prove(name);
        if (!(proof instanceof QuiescenceProof)) break;
      }
      if (proof instanceof QuiescenceProof) return proof;
      if (proof) this.giveUpOn(proof);
      // Unattended, and something is left.
      if (proof?.kind === "NeedsDrain" && unattended === "refuse") throw proof;
      await site.ports.clock.wait(POLL_MS);
    }
  }

  async commit(frontier: Frontier): Promise<HandedBack> {
    const { site } = this;
    const kept = site.kept;
    const { sourceId, at } = JSON.parse(frontier) as Stopped;
    const view = await site.sameSource();
    if (view.id !== sourceId) throw new HandoffRefused(site.queue, "the frontier is of another source");
    if (kept.handedBack) return { outcome: "was committed", readBack: await this.readBack() };
    const strangers = site.strangers(view);
    if (strangers === null || strangers.length > 0) {
      throw new HandoffRefused(
        site.queue,
        `somebody is on the source: ${strangers?.join(", ") ?? "not known"}`,
      );
    }
    const again = await site.prove(site.applicationShadow);
    if (!(again instanceof QuiescenceProof)) throw again;
    if (at) await this.setApplication(at);
    await site.keep({ ...kept, handedBack: true });
    return { outcome: "committed", readBack: await this.readBack() };
  }

  private async readBack(): Promise<Frontier> {
    const { site } = this;
    const { sourceId, kind } = site.kept;
    const at = kind === "queue" ? null : await site.look.position(site.source, site.cursor());
    return frontierOf({ sourceId, at } satisfies Stopped);
  }

  /** How an abort gives back; once it is decided it stays so. */
  async decide(): Promise<Kept["givingBack"]> {
    const { site } = this;
    const kept = site.kept;
    if (kept.givingBack !== "nothing decided") return kept.givingBack;
    const givingBack =
      kept.kind === "queue"
        ? "into the source"
        : (await this.untouched())
          ? "void the copies"
          : "wait for the application";
    await site.keep({ ...kept, givingBack });
    return givingBack;
  }

  /** The application reads the source from where it stood: its position was not moved, but may be forgotten by now. */
  async restoreApplication(): Promise<void> {
    const { site } = this;
    const { kind, applicationAt } = site.kept;
    if (kind === "queue" || (await site.look.position(site.source, site.cursor()))) return;
    if (applicationAt) await this.setApplication(applicationAt);
  }

  private async setApplication(at: Position): Promise<void> {
    const { site } = this;
    const now = await site.look.position(site.source, site.cursor());
    if (now && now.below > at.below) {
      throw new HandoffRefused(site.queue, "the application's position is ahead of the frontier");
    }
    await site.run(
      () => site.connection.commit("commit-handback", site.source, site.cursor(), at),
      HandoffRefused,
    );
    const readBack = await site.look.position(site.source, site.cursor());
    if (readBack?.below !== at.below) throw new HandoffRefused(site.queue, "the position was not taken");
  }

  /** Nobody has ever settled or held anything of a shadow. */
  private async untouched(): Promise<boolean> {
    const { site } = this;
    for (const { name, state } of site.shadows()) {
      const [view, position] = [
        await site.look.describe(name, site.cursor()),
        await site.look.position(name, site.cursor()).catch(() => null),
      ];
      if (!view && state === "recorded") continue;
      const fresh = position?.below === 0 && position.above.length === 0;
      if (!fresh || view?.unsettled !== 0 || view.consumers?.length !== 0) return false;
    }
    return true;
  }

  /** What waiting does not mend. */
  private giveUpOn(failure: EngineFailure): void {
    if (failure.kind !== "NeedsDrain" && failure.kind !== "ConsumerAttached") throw failure;
  }
}

/** For a log: somebody who reads a voided copy would handle it twice. */
export async function refuseReaders(site: EngineSite, name: string): Promise<void> {
  const reading = await site.read(name);
  if (reading?.consumers !== 0) throw new ConsumerAttached(site.queue, `${name} is read, or may be`);
}
