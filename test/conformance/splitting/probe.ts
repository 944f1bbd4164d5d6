import type { EngineClock, EnginePorts, SplitEngine } from "../../../src/splitting/engine.ts";
import type { Provider, ResourceKind } from "../../../src/splitting/state/split-state.ts";
import type { Journal, Place } from "./journal.ts";
import type { SplitMessage } from "./split-message.ts";

/** Places at which an engine can be made to crash; a provider maps them to what it does there. */
export type StepName =
  | "persist"
  | "take-fence"
  | "create-shadow"
  | "seed-position"
  | "publish"
  | "settle-source"
  | "move"
  | "settle-shadow"
  | "commit-handback"
  | "delete-shadow"
  | "delete-fence";

/** A consumer that is no part of the split's own machinery: the application, a developer, or a stranger. */
export interface Party {
  /** IDs that it was given and has not settled. */
  held(): string[];
  /** Handles what it holds and all that comes from now on. */
  goOn(): Promise<void>;
  /** Goes in good order, or with its connection cut: what it holds goes back. */
  detach(): Promise<void>;
}

/** One process of the queue agent. */
export interface AgentHost {
  makeEngine(ports: EnginePorts): SplitEngine;
  readonly clock: EngineClock;
  readonly alive: boolean;
  /** Resolves when the process is dead. */
  readonly crashed: Promise<void>;
  /** One write of the state document: a place to crash at, before it or after it and before its answer. */
  persist<T>(write: () => T): Promise<T>;
  crashAt(step: StepName, when: "before" | "after", nth?: number): void;
  crash(): void;
  pause(): void;
  resume(): void;
  /** Cuts every connection of the process; it lives on. */
  cutConnections(): void;
}

/** The names that a scenario's resources have. */
export interface ScenarioNames {
  source: string;
  nameOf(kind: ResourceKind, slot: number | null): string;
}

export interface AttachOptions {
  /** Settles nothing and holds so many at most. */
  hold?: number;
}

/** What a provider's test file gives the suite: all the broker work, and eyes that do not belong to the engine. */
export interface Probe {
  readonly provider: Provider;
  readonly journal: Journal;
  readonly names: ScenarioNames;
  newAgent(): AgentHost;
  seed(messages: readonly SplitMessage[]): Promise<void>;
  /** As one transaction that is then aborted. */
  seedAborted(messages: readonly SplitMessage[]): Promise<void>;
  /** As one transaction that stays open until the function that it returns is called. */
  seedOpen(messages: readonly SplitMessage[]): Promise<() => Promise<void>>;
  /**
   * Messages that stand in a place and that nobody has settled, oldest first. At the source: neither the
   * application nor the split. Disturbs nothing.
   */
  waiting(place: Place): Promise<SplitMessage[]>;
  /** As `waiting`, with all that were ever there. */
  everIn(place: Place): Promise<SplitMessage[]>;
  /** How many messages were ever in a queue of a user's. */
  countIn(usersQueue: string): Promise<number>;
  /** Publishes past the source, as somebody by hand. */
  publishInto(place: Place, message: SplitMessage): Promise<void>;
  /**
   * Where the application stands at the source: what it settled, in words that can be compared. Null: none is kept.
   */
  applicationPosition(): Promise<string | null>;
  attach(by: string, place: Place, options?: AttachOptions): Promise<Party>;
  /** A policy or retention that takes messages out of what is named so, until the function is called. */
  addPolicy(name: string): Promise<() => Promise<void>>;
  /** A queue of a user's with one message in it. */
  makeUsersQueue(name: string): Promise<void>;
  deleteByHand(name: string): Promise<void>;
  refuseDeletes(name: string): Promise<() => Promise<void>>;
  recreateSource(): Promise<void>;
  retypeSource(): Promise<void>;
  /** The broker stops giving counts of it, until the function is called. */
  hideCounts(name: string): Promise<() => Promise<void>>;
  /** The clock of broker and engines. */
  nowMs(): number;
  /** Lets time pass on the broker and for the engines. */
  passTime(ms: number): Promise<void>;
  positionRetentionMs: number;
  /** Names of everything on the broker. */
  exists(): Promise<string[]>;
  /** Waits until a condition holds, by the provider's own pace; throws where it does not come to be. */
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<void>;
  /** Waits until everybody has had the time to do what they would do. */
  settleDown(): Promise<void>;
  close(): Promise<void>;
}
