import { MAX_RECEIVE_MESSAGES } from "../core/limits.ts";
import { askedWaitMs, backoffMs, mayPass, mayPassOnceServed } from "./backoff.ts";
import { type ConsumePhase, type ConsumePlan, giveBack, type SettlementStatus } from "./consume-options.ts";
import type { Delivery } from "./delivery.ts";
import { depart } from "./departure.ts";
import { DrainTimeoutError, RouteGoneError, StaleDeliveryError } from "./errors.ts";
import { type GroupCalls, isNotFound } from "./group-calls.ts";
import { type Decision, HeldDelivery, type Holder, keptReason } from "./held-delivery.ts";
import { Keeper } from "./keeper.ts";
import { PartitionTurns } from "./partition-turns.ts";
import { PostponedPartitions } from "./postponed-partitions.ts";
import { RouteKeeper } from "./route-keeper.ts";
import { Settler } from "./settler.ts";
import { onAbort, pause, type Surroundings } from "./surroundings.ts";

const BACKOFF = { initialMs: 100, maxMs: 10_000 };
/** While handlers run, a receive for few more messages waits so long for more of them to end. */
const LINGER_MS = 5;
/** Asking is worth a request of its own from this part of the concurrency on. */
const WORTH_ASKING_PART = 4;
/** A receive that comes back empty at once, though it may wait, is not repeated at once. */
const EMPTY_TOO_SOON_MS = 50;
/** Handlers that were told that their time is over may still decide. */
const GRACE_MS = 100;
/** Final settlements have so long before the group is left. */
const FLUSH_MS = 10_000;
/** Leaving ends an open receive most surely; where handlers go on for longer than this it is called off before. */
const CALL_OFF_AFTER_MS = 100;

/**
 * Consumes a topic as one subscriber of a group.
 *
 *   pulling    one receive is open while there is room; held deliveries wait, run, are decided, are settled
 *   draining   the signal aborted, or a call failed for good: nothing is asked for, what waits stays waiting, what runs
 *              may end, and is told to when `drainMs` are over
 *   flushing   decisions that have no answer yet get one, or are given up
 *   leaving    the subscriber leaves: that ends what it holds, and what a receive that was called off may have been
 *              granted; those messages come again with the same attempt. Then its own route ends
 *   left       nothing is sent any more; what a handler decides now comes too late
 *
 * Nothing is held beyond `concurrency`: a message that waited here for a free handler would wait where another
 * subscriber cannot have it, and would need extending. A settlement's answer is not waited for before more is asked
 * for, so that the way to the server is no bound; but those without an answer are bounded.
 *
 * If the process dies: while pulling or draining, what it holds lapses with its visibility and comes again as the next
 * attempt; before a decision's request arrived, the same, though the handler was done (at least once); after it,
 * nothing. A reply that is lost on its way lapses as well.
 */
export class Consumer implements Holder {
  private readonly plan: ConsumePlan;
  private readonly calls: GroupCalls;
  private readonly surroundings: Surroundings;
  private readonly held = new Set<HeldDelivery>();
  private readonly turns: PartitionTurns<HeldDelivery>;
  private readonly postponed = new PostponedPartitions();
  private readonly keeper: Keeper;
  private readonly settler: Settler;
  private readonly ownRoute: RouteKeeper | null;
  private readonly stopping = new AbortController();
  private readonly receiving = new AbortController();
  private running = 0;
  private hasJoined = false;
  private isReceiving = false;
  private calledOffAtMs: number | null = null;
  private hasLateDeliveries = false;
  private isDrainOver = false;
  private hasLeft = false;
  private fatal: { error: unknown } | null = null;
  private wake: () => void = () => {};

  constructor(plan: ConsumePlan, calls: GroupCalls, surroundings: Surroundings) {
    this.plan = plan;
    this.calls = calls;
    this.surroundings = surroundings;
    this.turns = new PartitionTurns(plan.ordered);
    const onFatal = (error: unknown) => this.fail(error);
    const onError = (error: unknown, phase: ConsumePhase) => this.report(error, phase);
    const keeperPorts = {
      onStale: (held: HeldDelivery, status: StaleStatus) => this.turnStale(held, status),
      onError,
      onFatal,
    };
    this.keeper = new Keeper(calls, this.held, keeperPorts, surroundings, plan.visibilityTimeoutMs);
    this.ownRoute =
      plan.ownRoute && new RouteKeeper(plan.ownRoute, calls, { onError, onFatal }, surroundings);
    this.settler = new Settler(
      {
        settle: async (settlements, signal) => {
          const sentAtMs = surroundings.nowMs();
          const results = await calls.settle(settlements, signal);
          this.keeper.beat(sentAtMs);
          return results;
        },
        onOutcome: (held, status) => this.settled(held, status),
        onError: (error) => onError(error, "settle"),
        onFatal,
      },
      surroundings,
    );
  }

  /** Resolves once the signal stopped it and it has left; rejects, then as well, with what no retry can mend. */
  async run(): Promise<void> {
    const { signal, drainMs } = this.plan;
    const unlisten = onAbort(signal, () => this.stop());
    const pulling = this.pull();
    await aborted(this.stopping.signal);
    unlisten();
    await this.handlersEnd(Math.min(drainMs, CALL_OFF_AFTER_MS));
    if (this.running > 0) {
      // What comes in the meantime would wait for the leaving.
      this.callOff();
      await this.handlersEnd(Math.max(0, drainMs - CALL_OFF_AFTER_MS));
    }
    if (this.running > 0) await this.endDrain();
    await this.settler.drain(FLUSH_MS);
    await this.leave(pulling);
    this.hasLeft = true;
    await this.ownRoute?.close();
    this.keeper.close();
    for (const held of this.held) if (held.isRunning) this.report(new DrainTimeoutError(), "drain", held);
    if (this.fatal !== null) throw this.fatal.error;
  }

  /** As its signal does. */
  stop(): void {
    this.stopping.abort();
    this.wake();
  }

  decide(held: HeldDelivery, decision: Decision): Promise<SettlementStatus> {
    held.action = decision.action;
    if (held.staleAs !== null) return Promise.resolve(held.staleAs);
    if (this.hasLeft) {
      this.tellStale(held, decision.action, "stale");
      return Promise.resolve("stale");
    }
    if (decision.action === "postpone") held.postponedUntilMs = this.surroundings.nowMs() + decision.delayMs;
    return this.settler.add(held, decision);
  }

  extend(held: HeldDelivery, visibilityTimeoutMs: number): Promise<SettlementStatus> {
    if (this.hasLeft) return Promise.resolve("stale");
    return this.keeper.extendNow(held, visibilityTimeoutMs);
  }

  private async pull(): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const room = await this.roomFor();
        if (room === 0) return;
        const isTooSoon = await this.receiveOnce(room);
        failures = 0;
        if (isTooSoon) await pause(BACKOFF.initialMs, this.surroundings.after, signal);
      } catch (error) {
        if (signal.aborted) return;
        const mayGoOn = this.hasJoined ? mayPassOnceServed(error) : mayPass(error);
        // Its own one is started again.
        const isLostRoute = error instanceof RouteGoneError && this.ownRoute !== null;
        if (!mayGoOn && !isLostRoute) return this.fail(error);
        this.report(error, "receive");
        const waitMs = backoffMs(BACKOFF, failures++, this.surroundings.fraction(), askedWaitMs(error));
        await pause(waitMs, this.surroundings.after, signal).catch(() => {
          // Stopped: the loop ends.
        });
      }
    }
  }

  /** One receive. Answers whether it came back with nothing although it had not waited. */
  private async receiveOnce(room: number): Promise<boolean> {
    const { nowMs } = this.surroundings;
    await this.keeper.ready(this.receiving.signal);
    await this.ownRoute?.ready(this.receiving.signal);
    if (this.stopping.signal.aborted) return false;
    this.hasJoined = true;
    const { visibilityTimeoutMs } = this.keeper;
    const sentAtMs = nowMs();
    this.isReceiving = true;
    const { deliveries } = await this.calls
      .receive(room, visibilityTimeoutMs, this.receiving.signal)
      .catch((error: unknown) => this.refused(error))
      .finally(() => {
        this.isReceiving = false;
      });
    const receivedAtMs = nowMs();
    this.keeper.beat(sentAtMs);
    if (this.stopping.signal.aborted) {
      // Leaving gives them back.
      this.hasLateDeliveries = deliveries.length > 0;
      return false;
    }
    // When it was granted is not known to the client's clock: shortly before it came, unless the event loop was busy.
    const grantedAtMs = Math.max(sentAtMs, receivedAtMs - visibilityTimeoutMs / 10);
    for (const delivery of deliveries) this.accept(delivery, grantedAtMs, visibilityTimeoutMs);
    return deliveries.length === 0 && receivedAtMs - sentAtMs < EMPTY_TOO_SOON_MS;
  }

  /** What a receive was answered means, where it was for a route. */
  private refused(error: unknown): never {
    const { route } = this.plan;
    if (route === null || !isNotFound(error)) throw error;
    this.ownRoute?.lost();
    throw new RouteGoneError(route, error);
  }

  /** Waits until there is room, and answers for how many messages; 0 once it stops. */
  private async roomFor(): Promise<number> {
    const { concurrency } = this.plan;
    const roomNow = () => Math.min(MAX_RECEIVE_MESSAGES, concurrency - this.held.size);
    // Settlements that the server does not take must not pile up.
    const isBlocked = () => roomNow() <= 0 || this.settler.size > concurrency + MAX_RECEIVE_MESSAGES;
    while (isBlocked() && !this.stopping.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    const isFew = roomNow() < Math.min(concurrency, MAX_RECEIVE_MESSAGES) / WORTH_ASKING_PART;
    if (isFew && !this.stopping.signal.aborted)
      await pause(LINGER_MS, this.surroundings.after, this.stopping.signal);
    return this.stopping.signal.aborted ? 0 : roomNow();
  }

  private accept(delivery: Delivery, grantedAtMs: number, visibilityTimeoutMs: number): void {
    const { partitionKey, offset } = delivery;
    for (const older of this.held) {
      // Granted again: its visibility ended before an extension got through.
      if (older.delivery.offset === offset && older.partitionKey === partitionKey && older.isOpen) {
        this.turnStale(older, "stale");
      }
    }
    const held = new HeldDelivery(delivery, this, grantedAtMs, visibilityTimeoutMs);
    const waitMs = this.postponed.waitMs(partitionKey, offset, this.surroundings.nowMs());
    if (waitMs !== null) {
      void this.decide(held, { receipt: delivery.receipt, action: "postpone", delayMs: waitMs });
      return;
    }
    this.held.add(held);
    this.keeper.watch();
    if (this.turns.arrive(held)) void this.handle(held);
  }

  private async handle(held: HeldDelivery): Promise<void> {
    held.isRunning = true;
    this.running += 1;
    let isGivenBack = false;
    try {
      isGivenBack = (await this.plan.handler(held.message)) === giveBack;
      if (!isGivenBack && held.action === null)
        void this.decide(held, { receipt: held.delivery.receipt, action: "ack" });
    } catch (error) {
      // A handler that gave up when its time was over has not failed.
      isGivenBack = this.isDrainOver && held.action === null;
      if (!isGivenBack) this.handlerThrew(held, error);
    }
    held.isRunning = false;
    this.running -= 1;
    // Its turn does not end: nothing of its partition may overtake it.
    if (isGivenBack && held.isOpen) return this.wake();
    this.held.delete(held);
    if (held.postponedUntilMs !== null) this.postponeBehind(held, held.postponedUntilMs);
    const next = this.turns.end(held);
    if (next !== undefined && !this.stopping.signal.aborted) void this.handle(next);
    this.wake();
  }

  private handlerThrew(held: HeldDelivery, error: unknown): void {
    if (held.action === null) {
      const { receipt } = held.delivery;
      void this.decide(held, { receipt, action: "nack", reason: reasonOf(error) });
    }
    this.report(error, "handler", held);
  }

  /** The queue delivers nothing behind a postponed message: what is in hand already waits with it. */
  private postponeBehind(held: HeldDelivery, untilMs: number): void {
    if (!this.plan.ordered) return;
    this.postponed.postponed(held.partitionKey, held.delivery.offset, untilMs);
    const delayMs = Math.max(0, Math.ceil(untilMs - this.surroundings.nowMs()));
    for (const behind of this.turns.takeWaiting(held)) {
      this.held.delete(behind);
      const { receipt } = behind.delivery;
      if (behind.isOpen) void this.decide(behind, { receipt, action: "postpone", delayMs });
    }
  }

  private settled(held: HeldDelivery, status: SettlementStatus): void {
    if (status !== "ok" && held.action !== null) {
      // Of one whose answer got lost nobody knows: it may well be postponed.
      if (status !== "unknown") this.postponed.forget(held.partitionKey, held.delivery.offset);
      this.tellStale(held, held.action, status);
    }
    this.wake();
  }

  /** The delivery ended at the server before it was decided here. */
  private turnStale(held: HeldDelivery, status: StaleStatus): void {
    held.staleAs = status;
    held.abort(new StaleDeliveryError());
    if (!held.isRunning) {
      this.turns.drop(held);
      this.held.delete(held);
      this.wake();
    }
    this.tellStale(held, "extend", status);
  }

  private tellStale(
    held: HeldDelivery,
    action: Decision["action"] | "extend",
    status: Exclude<SettlementStatus, "ok">,
  ): void {
    this.tell(() => this.plan.onStale({ message: held.message, action, status }));
  }

  private report(error: unknown, phase: ConsumePhase, held?: HeldDelivery): void {
    this.tell(() => this.plan.onError(error, { phase, message: held?.message }));
  }

  /** A user's function that throws ends consuming: nobody would hear of anything any more. */
  private tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    this.fatal ??= { error };
    this.stop();
  }

  /** Resolves when no handler runs, after `withinMs` at the latest. */
  private async handlersEnd(withinMs: number): Promise<void> {
    let isOver = false;
    const cancel = this.surroundings.after(withinMs, () => {
      isOver = true;
      this.wake();
    });
    while (this.running > 0 && !isOver) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    cancel();
  }

  private async endDrain(): Promise<void> {
    this.isDrainOver = true;
    for (const held of this.held) if (held.isRunning) held.abort(new DrainTimeoutError());
    await this.handlersEnd(GRACE_MS);
  }

  /** Ends at the server what is held here. */
  private async leave(pulling: Promise<void>): Promise<void> {
    if (!this.hasJoined) {
      this.callOff();
      return pulling;
    }
    const receive = {
      ended: pulling,
      calledOffAtMs: () => this.calledOffAtMs,
      callOff: () => this.callOff(),
      hasDeliveries: () => this.hasLateDeliveries,
    };
    this.hasLateDeliveries = false;
    await depart(this.calls, receive, this.surroundings, (error) => this.report(error, "leave"));
  }

  /** Ends a receive that is open. */
  private callOff(): void {
    if (this.isReceiving) this.calledOffAtMs ??= this.surroundings.nowMs();
    this.receiving.abort();
  }
}

type StaleStatus = "stale" | "settled" | "invalid";

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/** What failed, in the words of the error. Anything can be thrown, also an error whose message is no text. */
function reasonOf(error: unknown): string {
  const words = error instanceof Error ? [error.message, error.name] : [error];
  const first = words.find((word): word is string => typeof word === "string" && word !== "");
  return keptReason(first) ?? "the handler failed";
}
