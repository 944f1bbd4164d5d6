import type { FailureKind } from "./state/failure-kind.ts";

/**
 * Why an engine refuses or stops, for the manager and for people. `kind` is what code switches on, and what the agent
 * reports; `detail` names resources and counts, never a message's headers or body and never a credential.
 */
export abstract class EngineFailure extends Error {
  abstract readonly kind: FailureKind;
  /** Of the configuration's queue, not the broker's name of it. */
  readonly queue: string;
  readonly detail: string;

  constructor(queue: string, detail: string) {
    super(`${queue}: ${detail}`);
    this.name = new.target.name;
    this.queue = queue;
    this.detail = detail;
  }
}

/**
 * Another instance has the fence, or the connection that carried it is gone: any close that was not asked for
 * counts, because nobody can tell whether the fence outlived it. Final for this engine: it publishes, settles,
 * deletes and persists nothing more and never connects again. The queue agent may ask for a new epoch and begin
 * with a new engine.
 */
export class Fenced extends EngineFailure {
  readonly kind = "Fenced";
}

/** Somebody but this engine consumes the source. The pump stands; the position is kept. */
export class OwnershipViolated extends EngineFailure {
  readonly kind = "OwnershipViolated";
}

/** Messages, or deliveries that nobody has settled, are left in a shadow. Try again when they are handled. */
export class NeedsDrain extends EngineFailure {
  readonly kind = "NeedsDrain";
}

/** A shadow, or the source, has a consumer where there must be none. Try again when it has left. */
export class ConsumerAttached extends EngineFailure {
  readonly kind = "ConsumerAttached";
}

/** The source cannot be given back at the frontier: its position has moved past it, or a consumer is on it. */
export class HandoffRefused extends EngineFailure {
  readonly kind = "HandoffRefused";
}

/** The broker does not say what must be known, or what it says contradicts the document. Never taken for a yes. */
export class Unprovable extends EngineFailure {
  readonly kind = "Unprovable";
}

/**
 * The source is not the one that was prepared: deleted, made again, or of another type. No position of it is moved.
 */
export class SourceChanged extends EngineFailure {
  readonly kind = "SourceChanged";
}

/** A shadow is missing, is not as it was created, or a policy or retention would take messages out of it. */
export class ShadowUnsafe extends EngineFailure {
  readonly kind = "ShadowUnsafe";
}

/**
 * The broker cannot be asked at present, and nothing is known to be wrong. Only before the fence is held, and from
 * reads: whoever loses the fence's connection is `Fenced`.
 */
export class BrokerUnavailable extends EngineFailure {
  readonly kind = "BrokerUnavailable";
}
