/** Why an engine could not go on, as it reports it. */
export const FAILURE_KINDS = [
  /** Another instance took the fence on the broker: this one has stopped for good. */
  "Fenced",
  /** Somebody who is neither the application nor the agent consumes what is split. */
  "OwnershipViolated",
  /** A shadow still holds something that must reach the application first. */
  "NeedsDrain",
  /** A consumer is there where none may be. */
  "ConsumerAttached",
  /** The broker refused the position that was to be handed back. */
  "HandoffRefused",
  /** What must be proved could not be: nothing was deleted and nothing went on. */
  "Unprovable",
  /** The source was recreated, retyped or moved ahead. */
  "SourceChanged",
  /** A policy or a limit of the broker could drop what a shadow holds, or a shadow is not what it was made as. */
  "ShadowUnsafe",
  /** The broker cannot be reached, or refuses the agent. */
  "BrokerUnavailable",
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** Why a split is held: what an engine reported, or what the manager saw by itself. */
export const DEGRADED_KINDS = [...FAILURE_KINDS, "Overdue", "AgentAway"] as const;
export type DegradedKind = (typeof DEGRADED_KINDS)[number];
