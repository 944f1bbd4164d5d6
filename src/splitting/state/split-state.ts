import type { Filter } from "../filter/filter.ts";
import type { SplitPhase } from "./phase.ts";

/**
 * The durable state of one workload's brokered split: one document for each (tenant, workload), written by
 * compare-and-swap on `generation` before anything is done by it. No secret is ever in it.
 */
export interface SplitState {
  /** Of this shape. A document of an older shape is migrated, of an unknown one held. */
  schemaVersion: 1;
  tenant: string;
  workload: string;
  /** Of every resource's name: at most 16 of [a-z0-9-]. */
  prefix: string;
  /** Tells this activation from those before; "" while Inactive and nothing was ever prepared. */
  splitId: string;
  /** Grows by one with each write. */
  generation: number;
  /** Epoch of the queue agent that may act: the highest ever given. An agent with a lower one is fenced for good. */
  agentEpoch: number;
  phase: SplitPhase;
  /** The generation that entered the present phase: a report that belongs to an earlier stay in it is refused. */
  enteredGeneration: number;
  /** When the present phase is overdue, milliseconds since the epoch; null: it has no deadline. */
  deadlineAtMs: number | null;
  sources: SplitSource[];
  routes: SplitRoute[];
  /** Every broker resource that may exist: recorded before it is created, forgotten after a proved delete. */
  resources: SplitResource[];
  /** Left behind on purpose after a cleanup that could not prove something, with the reason. */
  retained: RetainedResource[];
}

export type Provider = "rabbitmq" | "kafka";

/** A queue or topic of the workload that is split. */
export interface SplitSource {
  /** The name that the configuration gives it: unique within the workload, an RFC 1123 label. */
  queue: string;
  provider: Provider;
  /** The broker's own name of it. */
  sourceName: string;
  /** What the engine persisted, opaque to the manager: JSON text of at most 16 KiB; null before `prepare`. */
  checkpoint: string | null;
  /** Where the engine stopped for good, opaque: JSON text; null before `stop`. */
  frontier: string | null;
}

export interface SplitRoute {
  /** Unique within the workload. */
  route: string;
  queue: string;
  filter: Filter;
  ttlMs: number;
  expiresAtMs: number;
  /** Of the bounded pool of shadows of its queue: 0 to 19. */
  slot: number;
  /** draining: ended or expired; its shadow is being emptied and moved to the application's. */
  state: "active" | "draining";
}

export type ResourceKind = "app-shadow" | "route-shadow" | "fence" | "checkpoint";

export interface SplitResource {
  kind: ResourceKind;
  queue: string;
  /** Recomputable from identity by `resourceName`: a name that is not is never touched. */
  name: string;
  /** Of route shadows; null for the others. */
  slot: number | null;
  /** recorded: it may exist. created: the engine saw it. deleting: a proved delete was begun. */
  state: "recorded" | "created" | "deleting";
}

export interface RetainedResource {
  kind: ResourceKind;
  queue: string;
  name: string;
  slot: number | null;
  reason: string;
}
