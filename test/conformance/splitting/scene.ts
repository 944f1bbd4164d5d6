import { expect } from "vitest";
import { EngineFailure } from "../../../src/splitting/engine-failures.ts";
import type { FailureKind } from "../../../src/splitting/state/failure-kind.ts";
import { audit } from "./auditor.ts";
import type { Place } from "./journal.ts";
import type { MakeKeeper } from "./keeper.ts";
import { Life } from "./life.ts";
import type { Party, Probe } from "./probe.ts";
import { Producer } from "./samples.ts";
import type { SplitMessage } from "./split-message.ts";

/** What a scenario has: a broker with an empty source, a life that has not begun, and nobody attached. */
export class Scene {
  readonly probe: Probe;
  readonly life: Life;
  readonly producer = new Producer();
  /** Names on the broker that no split may touch. */
  readonly users: string[];

  private constructor(probe: Probe, users: string[], keep?: MakeKeeper) {
    this.probe = probe;
    this.users = users;
    this.life = new Life(probe, keep);
  }

  static async open(probe: Probe, keep?: MakeKeeper): Promise<Scene> {
    return new Scene(probe, await probe.exists(), keep);
  }

  /** One message for each of these users, in this order; their IDs. */
  async publish(...users: string[]): Promise<string[]> {
    const messages = this.producer.next(users);
    await this.probe.seed(messages);
    return messages.map(({ id }) => id);
  }

  async publishMessages(messages: readonly SplitMessage[]): Promise<void> {
    await this.probe.seed(messages);
  }

  async idsEverIn(place: Place): Promise<string[]> {
    return (await this.probe.everIn(place)).map(({ id }) => id);
  }

  async idsWaiting(place: Place): Promise<string[]> {
    return (await this.probe.waiting(place)).map(({ id }) => id);
  }

  handledBy(by: string): string[] {
    return this.probe.journal.of("handled").flatMap((fact) => (fact.by === by ? [fact.id] : []));
  }

  /** Until each of these was handled by somebody. */
  async untilHandled(ids: readonly string[]): Promise<void> {
    await this.life.until(`${ids.join(", ")} are handled`, () => {
      const handled = new Set(this.probe.journal.of("handled").map(({ id }) => id));
      return ids.every((id) => handled.has(id));
    });
  }

  async untilIn(place: Place, count: number): Promise<void> {
    await this.life.until(
      `${place} has got ${count}`,
      async () => (await this.probe.everIn(place)).length >= count,
    );
  }

  async untilHeld(party: Party, count: number): Promise<void> {
    await this.life.until(`${count} are held`, () => party.held().length === count);
  }

  /** To the end of the split, and until the application has worked off the source. */
  async finish(): Promise<void> {
    await this.life.to("Inactive");
    await this.life.until(
      "the source is worked off",
      async () => (await this.idsWaiting("source")).length === 0,
    );
  }

  async audit(over: boolean): Promise<void> {
    expect(await audit(this.probe, this.users, { over })).toEqual([]);
  }
}

/** That a call fails in the contract's words, and with which. */
export async function expectFailure(work: Promise<unknown>, kind: FailureKind): Promise<void> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof EngineFailure)) throw error ?? new Error(`${kind} was to come, and nothing failed`);
  expect(error.kind).toBe(kind);
}

/** Whether a promise has come to an end yet. */
export function watch<T>(work: Promise<T>): { done: boolean; work: Promise<T> } {
  const watched = { done: false, work };
  const end = () => {
    watched.done = true;
  };
  work.then(end, end);
  return watched;
}
