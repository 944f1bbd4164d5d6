import type { Filter } from "../filter/filter.ts";
import type { FailureKind } from "./failure-kind.ts";
import type { ResourceKind, SplitSource } from "./split-state.ts";

/** Whatever may change a split's state: what people ask for, what the agent saw, and time. */
export type SplitEvent = PersonEvent | AgentEvent | ConnectionEvent | TimeEvent;

export type DeclaredSource = Pick<SplitSource, "queue" | "provider" | "sourceName">;

export type PersonEvent =
  /** Names what is to be split; only while nothing is. */
  | { kind: "declare"; prefix: string; sources: readonly DeclaredSource[] }
  /** `splitId` is new with each call. */
  | { kind: "start"; splitId: string }
  | { kind: "stop" }
  /**
   * Goes on where it is held. `makeAgain`: names of shadows that were made and are missing, which somebody looked for; what
   * was in them is lost.
   */
  | { kind: "resume"; makeAgain?: readonly string[] }
  /** Makes a route or renews it. Once messages may be in its shadow its filter is what it was. */
  | { kind: "putRoute"; route: string; queue: string; filter: Filter; ttlMs: number }
  | { kind: "deleteRoute"; route: string };

/** What a live check saw at one source, in the engine's words: the manager can only insist that it is there. */
export interface Proof {
  queue: string;
  evidence: string;
}

export interface ResourceRef {
  kind: ResourceKind;
  queue: string;
  slot: number | null;
}

/**
 * Of the agent that may act. Each that ends a phase speaks for every source, once it is true of all of them; it can be sent
 * again, and is then refused as late. Proofs and evidence are not stored.
 */
export type AgentReport =
  /** Before the broker is asked to make them. The manager gives the names. */
  | { kind: "record"; resources: readonly ResourceRef[] }
  | { kind: "created"; names: readonly string[] }
  /** What the engine wants to know of after a restart, in place of what it told before. */
  | { kind: "checkpointed"; queue: string; checkpoint: string }
  | { kind: "prepared"; checkpoints: readonly { queue: string; checkpoint: string }[] }
  | { kind: "appGone"; proofs: readonly Proof[] }
  /** Fence, ownership and position were taken in that order, and messages move. */
  | { kind: "pumpStarted"; proofs: readonly Proof[] }
  /** Every consumer carries the override's generation. */
  | { kind: "appRedirected"; proofs: readonly Proof[] }
  /** Nothing of the route is left in its shadow, and nobody attends it. */
  | { kind: "routeDrained"; route: string; proof: Proof }
  /** After this no source position moves. */
  | { kind: "pumpStopped"; frontiers: readonly { queue: string; frontier: string }[] }
  /** The application's shadow is empty and settled. */
  | { kind: "drained"; proofs: readonly Proof[] }
  | { kind: "consumerReturned"; queue: string }
  | { kind: "quiesced"; proofs: readonly Proof[] }
  /** Read back from the broker after the commit: must be what was recorded. */
  | { kind: "handedBack"; frontiers: readonly { queue: string; frontier: string }[] }
  /** No consumer carries the override. */
  | { kind: "appRestored"; proofs: readonly Proof[] }
  /** The activation is undone: everything is back where it was. */
  | { kind: "aborted"; proofs: readonly Proof[] }
  /** Before the delete: it is empty and unattended. */
  | { kind: "deleting"; name: string; evidence: string }
  /** After the delete: it is not there. */
  | { kind: "deleted"; name: string; evidence: string }
  /** Its delete cannot be proved to be safe: it stays, and somebody has to look. */
  | { kind: "retained"; name: string; reason: string }
  | { kind: "cleaned" }
  | { kind: "failed"; failure: FailureKind; detail: string };

/** A report as it comes in: by whom, and of which stay in its phase (`enteredGeneration` of the state that it answers). */
export type AgentEvent = AgentReport & { epoch: number; enteredGeneration: number };

export type ConnectionEvent =
  /** A new agent: it gets the next epoch, and every older one is fenced for good. */
  | { kind: "agentJoined" }
  /** The agent has not been heard of for too long. */
  | { kind: "agentLost" };

/** Time never makes anything true: it ends routes, and holds what is overdue. */
export type TimeEvent = { kind: "deadlinePassed" } | { kind: "routesExpired" };

export type EventKind = SplitEvent["kind"];

/** Every kind, in the order of their types. */
export const PERSON_EVENTS = ["declare", "start", "stop", "resume", "putRoute", "deleteRoute"] as const;
export const AGENT_REPORTS = [
  "record",
  "created",
  "checkpointed",
  "prepared",
  "appGone",
  "pumpStarted",
  "appRedirected",
  "routeDrained",
  "pumpStopped",
  "drained",
  "consumerReturned",
  "quiesced",
  "handedBack",
  "appRestored",
  "aborted",
  "deleting",
  "deleted",
  "retained",
  "cleaned",
  "failed",
] as const;
export const EVENT_KINDS = [
  ...PERSON_EVENTS,
  ...AGENT_REPORTS,
  "agentJoined",
  "agentLost",
  "deadlinePassed",
  "routesExpired",
] as const satisfies readonly EventKind[];
