import type { EngineFailure } from "./engine-failures.ts";
import type { Filter } from "./filter/filter.ts";
import type { AbsenceProof, QuiescenceProof, QuiescenceReading } from "./quiescence-proof.ts";
import { MAX_POSITION_BYTES } from "./state/split-limits.ts";
import type { ResourceKind, SplitResource, SplitState } from "./state/split-state.ts";

declare const CHECKPOINT: unique symbol;
declare const FRONTIER: unique symbol;

/**
 * What an engine wants to know of after a restart, in its provider's own words: JSON text of at most
 * `MAX_POSITION_BYTES`, no secrets. It says which source was prepared (so that another of the same name is told from
 * it), where the application stood, and which routes' table is in force. Nobody else reads it.
 */
export type Checkpoint = string & { readonly [CHECKPOINT]: never };

/**
 * Where an engine stopped for good: everything before it is in a shadow, nothing after it is. In the provider's own
 * words, as a checkpoint. Offsets for Kafka; of a RabbitMQ queue, which has no positions, what identifies it.
 */
export type Frontier = string & { readonly [FRONTIER]: never };

/** What a route asks of the engine. Its filter does not change while its name lives: another one is another route. */
export interface EngineRoute {
  route: string;
  filter: Filter;
  /** Of the bounded pool of route shadows. */
  slot: number;
}

/** The routes that shall be in force: pairwise disjoint, at most 20. What matches none goes to the application. */
export interface EngineTable {
  routes: readonly EngineRoute[];
}

export interface EngineIdentity {
  tenant: string;
  workload: string;
  queue: string;
  splitId: string;
  /** The higher one wins the fence. */
  agentEpoch: number;
  /** The broker's name of the source. */
  sourceName: string;
  /** The one name that a resource may have, recomputed from identity. Nothing else is created, used or deleted. */
  nameOf(kind: ResourceKind, slot: number | null): string;
}

/**
 * The list of what may exist on the broker because of this queue's split, kept in the state document. Each call is
 * persisted when it resolves, may be made twice, and throws `Fenced` where a newer agent was given an epoch.
 */
export interface InventoryPort {
  /** As it is persisted now, of this queue only. */
  list(): readonly SplitResource[];
  /**
   * Before the resource is created: state `recorded`. Allowed in every phase for what is on the list already; the
   * answer then says no more than that no newer agent is there, which an engine wants to know once it has taken the
   * fence.
   */
  record(kind: ResourceKind, slot: number | null): Promise<void>;
  /**
   * After the broker said that it exists: `created`. From now on its absence is somebody else's doing, and it is
   * not made again until somebody who looked has set it back to `recorded`. Not for the fence, which goes with its
   * connection.
   */
  markCreated(name: string): Promise<void>;
  /** Before it is deleted: `deleting`. Uses the proof up, and throws `Unprovable` where it does not hold. */
  markDeleting(name: string, proof: QuiescenceProof): Promise<void>;
  /** After the broker was asked and had it no more. A name of which that is not known stays on the list. */
  forget(name: string, proof: AbsenceProof): Promise<void>;
}

/**
 * The engine's own memory, kept in the state document. `save` is persisted when it resolves; as for `Fenced`,
 * above.
 */
export interface CheckpointPort {
  /** As it is persisted now; null before `prepare`. */
  read(): Checkpoint | null;
  save(checkpoint: Checkpoint): Promise<void>;
}

export interface EnginePorts {
  identity: EngineIdentity;
  inventory: InventoryPort;
  checkpoints: CheckpointPort;
  /** Called once at most, by an engine that stopped its pump of its own accord or was fenced. Must not throw. */
  stopped(failure: EngineFailure): void;
  clock: EngineClock;
}

export interface EngineClock {
  nowMs(): number;
  /**
   * Resolves after so many milliseconds. Everything that an engine waits for between two looks, it waits for here.
   */
  wait(ms: number): Promise<void>;
}

/** A provider is this function. It does no I/O: the first call of a method connects. */
export type MakeEngine = (ports: EnginePorts) => SplitEngine;

export type Preflight =
  | { kind: "ready" }
  /** All that is wrong, at once. */
  | { kind: "refused"; failures: readonly EngineFailure[] };

/** What of the document a recovery goes by, as the newest command says it. */
export type PersistedState = Pick<SplitState, "phase" | "routes">;

export type Recovered =
  /** Nothing is done or held; the phase's own step is to be called. */
  | { kind: "idle" }
  /** The fence is held and nothing is pumped; the phase's own step is to be called. */
  | { kind: "fenced-off" }
  /** The fence is held and the pump runs. */
  | { kind: "pumping" }
  /** Nothing is done, held or asked of the broker until a person says so. */
  | { kind: "held"; reason: string };

export type CleanupReadiness =
  | { kind: "ready"; proofs: readonly QuiescenceProof[] }
  /** Every resource that is in the way, with what is. */
  | { kind: "blocked"; failures: readonly EngineFailure[] };

export interface CleanupReport {
  deleted: readonly string[];
  /** Still on the inventory, each with what was in the way: `cleanup` may be called again with new proofs. */
  left: readonly { name: string; failure: EngineFailure }[];
}

export interface RouteDrained {
  /** Messages that were moved into the application's shadow by this call. */
  moved: number;
  proof: QuiescenceProof;
}

export interface HandedBack {
  outcome: "committed" | "was committed";
  /** What the broker says after it: the frontier that was asked for. */
  readBack: Frontier;
}

export interface EngineHealth {
  /** stopped: by `stop`, `abort` or `close`. failed: by itself, the fence is held. fenced: for good. */
  pump: "never started" | "running" | "stopped" | "failed" | "fenced";
  /** What stopped it, or what a look at the broker just now found wrong; null while all is well. */
  failure: EngineFailure | null;
  /** Null where the broker has no such thing, or does not say. */
  source: QuiescenceReading | null;
  applicationShadow: QuiescenceReading | null;
  /** By slot, of the shadows on the inventory. */
  routeShadows: ReadonlyMap<number, QuiescenceReading | null>;
}

/**
 * What every provider of brokered splits does: one engine for each source and instance of the queue agent. It acts,
 * the manager decides: the phase is persisted before the method that belongs to it is called, and what a method
 * returns is persisted before the next phase.
 *
 * Promise: every message taken from the source is durably in exactly one shadow before its position at the source
 * is moved. A crash may repeat a message, into the same shadow. Nothing is deleted or handed back without a live proof.
 *
 * For every method: a failure of `engine-failures.ts` is thrown (or returned, where the type says so), anything else
 * is a programmer's error. `Fenced` may come from every method but `preflight`, `health` and `close`, and is final.
 * `BrokerUnavailable` may come before the fence is held. Methods are called one at a time, but for `health`, `close`
 * and, while the pump runs, `reconcileRoutes` beside `drainRoute`. One that waits for people (`signal`) ends with the
 * signal's reason when it is aborted, without having done anything by halves that a second call does not finish.
 */
export interface SplitEngine {
  /**
   * Reads only: is there such a source, of a type that can be split; can every resource be made; would a policy or
   * a retention hit a shadow's name; is somebody but the application on the source. Tells everything wrong at once.
   * Must not declare, create, consume, fence or persist. Any number of times. A count that the broker does not give
   * yet is `Unprovable`, not 0.
   */
  preflight(): Promise<Preflight>;

  /**
   * Records and takes the fence, so that no older instance creates anything later; records and creates the
   * application's shadow; saves a first checkpoint: which source this is and where the application stands. What holds
   * the engine's own position is made by `start`, when the application is gone. A shadow keeps what it gets:
   * durable, no expiry, no length or delivery limit, and a consumer that comes late begins at its first message. Must
   * not consume the source or move any position of it. Twice: a resource that is recorded and exists is verified and
   * taken over, one that exists and is not recorded is somebody else's (`ShadowUnsafe`). Failures: `SourceChanged`,
   * `ShadowUnsafe`, `Unprovable`.
   */
  prepare(): Promise<Checkpoint>;

  /**
   * In this order: takes the fence (which ends every older instance's), proves that nobody consumes the source
   * (`OwnershipViolated`), finds its position, pumps. The position is the engine's own where it has one; it is seeded
   * with the application's present one only where none was made yet, and one that was made and is gone is
   * `Unprovable`. Must not consume before the fence is held. Resolves when the pump runs by `table`, as
   * `reconcileRoutes` says. Twice: the second call on a running pump only reconciles. Failures too: `SourceChanged`,
   * `ShadowUnsafe`.
   */
  start(table: EngineTable): Promise<void>;

  /**
   * Puts another table in force while the pump runs. First makes the shadows of new routes; then takes nothing more
   * until every message taken under the older table, in an earlier life too, is settled at the source; then persists
   * which table is in force, in the checkpoint; then goes on under the new one. Resolves after that: no publish of an
   * older table is in flight, and a crash from here on repeats messages by the new table. Must not drop or move what
   * already stands in a shadow. Twice: the second call with the same table changes nothing. Failures: `ShadowUnsafe`,
   * and what stopped the pump.
   */
  reconcileRoutes(table: EngineTable): Promise<void>;

  /**
   * Moves what is left of an ended route into the application's shadow, each message confirmed there before it is
   * settled in the route's, and resolves with the live proof that the route's shadow is empty and unattended. Waits
   * for a consumer that is still attached or holds a delivery; takes nothing from it. Only for a route that is in
   * no table in force (`Unprovable` otherwise): while the pump runs, when it is stopped, and after `abort`. Pumps
   * nothing from the source and deletes nothing: the slot's shadow serves the next route. A shadow that was never
   * made is empty. Twice: the second call moves nothing and proves again. Failures: `ShadowUnsafe`.
   */
  drainRoute(route: EngineRoute, signal: AbortSignal): Promise<RouteDrained>;

  /**
   * Ends the pump for good: takes nothing more, waits until what is in flight is confirmed and settled, and leaves
   * the source without a consumer. Returns the frontier; no position at the source moves after it. Must not hand
   * anything back. Twice: the same frontier, and also after a restart in which nothing was pumped. It keeps the
   * fence. Failures: `ShadowUnsafe`, `SourceChanged`: then what was in flight is not settled and the frontier lies
   * before it.
   */
  stop(): Promise<Frontier>;

  /**
   * Waits until the application has emptied its shadow and left it, and every route's shadow is empty and unattended;
   * resolves with the live proof for the application's shadow. Must not take, settle, pump or delete anything, nor
   * conclude anything from time passing. Only after `stop`. Twice: proves again. Failures: `Unprovable` and
   * `ShadowUnsafe` at once; what is merely not yet so is waited for.
   */
  drainApplication(signal: AbortSignal): Promise<QuiescenceProof>;

  /**
   * Gives the source back: sets the application's position at the source to the frontier and reads it back. `proof`
   * is that of `drainApplication`, used up; what it says is looked at once more. Must not commit with any consumer
   * on the source or on the application's shadow (`HandoffRefused`, `ConsumerAttached`), with anything left in the
   * shadow (`NeedsDrain`), to a source that is not the one prepared (`SourceChanged`), or where the application's
   * position is ahead of the frontier (`HandoffRefused`). Twice: the second one is a no-op that reads back.
   */
  commitHandoff(frontier: Frontier, proof: QuiescenceProof): Promise<HandedBack>;

  /**
   * Undoes an activation that did not get to Active: takes the fence, pumps nothing, gives back what was pumped
   * (where the source still holds it, by leaving the application's position where it was and voiding the copies;
   * else by putting it back into the source; else, where a consumer of a shadow has already handled part of it, by
   * having the application work off the rest, and committing: `NeedsDrain` says that it must come to its shadow for
   * that, and that the call is to be made again). Resolves only when the application may start on the source: every
   * shadow proved empty and unattended. Deletes nothing. Twice, and after a crash in the middle: goes on where it
   * was. Failures: as `stop`, `drainApplication` and `commitHandoff`.
   */
  abort(signal: AbortSignal): Promise<void>;

  /** Reads only: a live proof for every resource on the inventory, or everything that is in the way. */
  verifyCleanupReady(): Promise<CleanupReadiness>;

  /**
   * Deletes what is on the inventory, each with its own proof, looked at once more just before; asks the broker
   * afterwards, and only then has the inventory forget it. The fence goes last. Must not delete a resource without a
   * proof, one that is not on the inventory, or one that is not as it was created. A failed deletion leaves the name
   * on the list and goes on with the next. Twice: what is gone already is proved absent and forgotten.
   */
  cleanup(proofs: readonly QuiescenceProof[]): Promise<CleanupReport>;

  /**
   * The first call of a new instance that finds a document. What to do is decided by the persisted phase alone,
   * never by what happens to exist on the broker: pump again in StartingPump, RedirectingApp and Active (under the
   * table in force until what was in flight is settled, then under the document's); fence without pumping from
   * AbortingActivation to CleaningUp (there only while the fence is on the inventory: it goes last); nothing in
   * Preparing, QuiescingApp and Inactive; hold in Degraded and in a phase that it does not know. Where it only fences
   * it makes nothing, but for the application's shadow that somebody set back to `recorded` in DrainingApp,
   * QuiescingHandback or HandingBack: what is left of routes goes there, and its emptiness has to be proved. Must not
   * seed a position that was made, nor pump "to help". Failures: as `start`.
   */
  recover(state: PersistedState): Promise<Recovered>;

  /** Reads only, and throws nothing: a live look at source and shadows, and how the pump is. At any time. */
  health(): Promise<EngineHealth>;

  /**
   * Leaves the broker: lets what is in flight be settled where the broker still answers, and disconnects. Deletes
   * nothing, hands nothing back; the split goes on with the next instance. Twice: nothing.
   */
  close(): Promise<void>;
}

const utf8 = new TextEncoder();

/** A provider makes its checkpoints by this and no other way. Throws RangeError where it is too large to be kept. */
export function checkpointOf(value: unknown): Checkpoint {
  return opaque(value, "checkpoint") as Checkpoint;
}

/** As `checkpointOf`. */
export function frontierOf(value: unknown): Frontier {
  return opaque(value, "frontier") as Frontier;
}

function opaque(value: unknown, what: string): string {
  const text = JSON.stringify(value);
  const bytes = utf8.encode(text).byteLength;
  if (bytes > MAX_POSITION_BYTES)
    throw new RangeError(`a ${what} of ${bytes} bytes is over ${MAX_POSITION_BYTES}`);
  return text;
}
