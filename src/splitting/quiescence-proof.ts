import { ConsumerAttached, type EngineFailure, NeedsDrain, Unprovable } from "./engine-failures.ts";

/**
 * What a broker says of a queue, topic or position this moment; null where it does not say. Null is never read as
 * 0.
 */
export interface QuiescenceReading {
  /** Messages that wait for a consumer. */
  ready: number | null;
  /** Delivered and not settled. */
  unsettled: number | null;
  /** Attached consumers or group members, the engine's own left out. */
  consumers: number | null;
}

/** How long a proof may be used. It tells of one moment: what is done by it is done at once. */
export const PROOF_LIFETIME_MS = 30_000;

/**
 * That nothing is left in one resource and nobody is attached to it. A live check makes it, and nothing else can: it
 * is not data, so it survives neither a restart nor a message to another process, and it is used once, for the
 * resource that it names. Deletion and handback take one as an argument.
 */
export class QuiescenceProof {
  readonly subject: string;
  readonly takenAtMs: number;
  readonly #useUntilMs: number;
  #used = false;

  private constructor(subject: string, takenAtMs: number) {
    this.subject = subject;
    this.takenAtMs = takenAtMs;
    this.#useUntilMs = takenAtMs + PROOF_LIFETIME_MS;
  }

  /**
   * Reads `subject` on the broker and tells what is in the way: `Unprovable`, `ConsumerAttached` or `NeedsDrain`.
   * `nowMs` is a moment before the reading, so that the proof is never younger than what it tells.
   */
  static async check(
    queue: string,
    subject: string,
    read: () => Promise<QuiescenceReading>,
    nowMs: number,
  ): Promise<QuiescenceProof | EngineFailure> {
    const { ready, unsettled, consumers } = await read();
    if (ready === null || unsettled === null || consumers === null) {
      return new Unprovable(queue, `the broker does not say what is left in ${subject}`);
    }
    // A consumer without a delivery may be given one the next moment, so it is told before what is left.
    if (consumers > 0) return new ConsumerAttached(queue, `${subject} has ${consumers} attached consumer(s)`);
    if (ready > 0 || unsettled > 0) {
      return new NeedsDrain(queue, `${subject} holds ${ready} waiting and ${unsettled} unsettled message(s)`);
    }
    return new QuiescenceProof(subject, nowMs);
  }

  /**
   * Uses the proof up. Throws `Unprovable` where it is of another resource, was used before, or is too old; whoever
   * holds it then takes a new one.
   */
  use(queue: string, subject: string, nowMs: number): void {
    if (this.subject !== subject) {
      throw new Unprovable(queue, `a proof of ${this.subject} was given for ${subject}`);
    }
    if (this.#used) throw new Unprovable(queue, `the proof of ${subject} was used already`);
    if (nowMs > this.#useUntilMs) throw new Unprovable(queue, `the proof of ${subject} is too old`);
    this.#used = true;
  }
}

/** That the broker, asked by name just now, has no such resource. Only with one does the inventory forget a name. */
export class AbsenceProof {
  readonly subject: string;
  readonly #made = true;

  private constructor(subject: string) {
    this.subject = subject;
  }

  /** Null while `subject` exists. `exists` asks the broker itself, never a cache or a statistic. */
  static async check(subject: string, exists: () => Promise<boolean>): Promise<AbsenceProof | null> {
    return (await exists()) ? null : new AbsenceProof(subject);
  }

  /** False for anything that merely looks like one. */
  covers(subject: string): boolean {
    return this.#made && this.subject === subject;
  }
}
