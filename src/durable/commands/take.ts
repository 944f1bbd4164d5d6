import {
  HINT_LINGER_MS,
  LOOK_AHEAD_NOW_ENTRIES,
  LOOK_AHEAD_PAUSE_MS,
  MAX_READ_ROUNDS,
} from "../../core/dispatch-limits.ts";
import { FairlaneError, fail } from "../../core/failure.ts";
import { APPLICATION } from "../../core/lane.ts";
import {
  ASKING_GRACE_MS,
  MAX_REPLY_BYTES,
  MAX_SUBSCRIBERS_PER_GROUP,
  MAX_WAITING_RECEIVES,
} from "../../core/limits.ts";
import {
  dispatchRules,
  type HandOvers,
  planHandOvers,
  planTake,
  type TakePlan,
} from "../../core/plan-take.ts";
import type { TakeInput, TakeReply } from "../../protocol/tenant-calls.ts";
import { askingSubscribers } from "../asking.ts";
import { beat } from "../care.ts";
import { deliver } from "../deliver.ts";
import { type Granted, grant } from "../grant.ts";
import { isReadDue, type ReadRequest } from "../group-reader.ts";
import type { GroupState } from "../group-state.ts";
import { heldPartitions } from "../held-partitions.ts";
import { attach } from "../route-life.ts";
import type { Tenant } from "../tenant.ts";
import { hasEnded, NOTHING } from "../waiters.ts";
import { giveBack } from "./subscribers.ts";

/**
 * Receive: decides who gets which offsets, stores that as deliveries, then reads the bodies.
 *
 * A take that would return fewer than it asked for first waits for one tail read begun after it came, so it
 * sees every publish answered before. With nothing to give it waits, if it may, in `Waiters`.
 * Crash points: before the grant's transaction nothing happened; after it the messages are in flight and
 * come again when their visibility ends.
 */
export async function take(tenant: Tenant, input: TakeInput): Promise<TakeReply> {
  const group = await tenant.ensureGroup(input.topic, input.group);
  if (!group.subscribers.has(input.subscriber) && group.subscribers.size >= MAX_SUBSCRIBERS_PER_GROUP) {
    fail("rate-limited", `a group has at most ${MAX_SUBSCRIBERS_PER_GROUP} live subscribers`, {
      retryAfterMs: 1000,
    });
  }
  const newsBefore = tenant.wake.news;
  const begun = tenant.waiters.beginTry(input);
  const wanted = () => !begun.isCalledOff;
  const first = await tryTake(tenant, input, { readBefore: false, wanted }).finally(() =>
    tenant.waiters.endTry(begun),
  );
  if (begun.isCalledOff) {
    if (first.reply) await returnReply(tenant, input, first.reply);
    return NOTHING;
  }
  if (first.reply) return first.reply;
  if (input.waitMs === 0) {
    if (first.error) throw first.error;
    return emptyReply(tenant, input);
  }
  if (tenant.waiters.count >= MAX_WAITING_RECEIVES) {
    fail("rate-limited", `a tenant has at most ${MAX_WAITING_RECEIVES} waiting receives`, {
      retryAfterMs: 1000,
    });
  }
  return new Promise((resolve, reject) => {
    tenant.waiters.add({
      input,
      deadlineAtMs: tenant.nowMs() + input.waitMs,
      lastError: first.error,
      settle: (outcome) => ("reply" in outcome ? resolve(outcome.reply) : reject(outcome.error)),
    });
    // Something may have come between the try's last look and now.
    if (tenant.wake.news !== newsBefore) tenant.wake.pump(input);
    tenant.wake.arm();
  });
}

/** Tries every waiting receive of a group, first come first served, on one shared read of the log. */
export async function pumpGroup(tenant: Tenant, ref: { topic: string; group: string }): Promise<void> {
  let readBefore = await hasReadBefore(tenant, ref);
  for (const waiter of tenant.waiters.of(ref)) {
    const wanted = () => tenant.waiters.find(waiter.input.takeId) === waiter;
    if (!wanted()) continue;
    if (readBefore && !hasEnded(waiter, tenant.nowMs()) && !(await mayGetSomething(tenant, waiter.input)))
      continue;
    try {
      const { reply, error } = await tryTake(tenant, waiter.input, { readBefore, wanted });
      readBefore = true;
      waiter.lastError = error;
      if (!wanted()) {
        // It was called off while its bodies were read: nobody will get this reply.
        if (reply) await returnReply(tenant, waiter.input, reply);
        continue;
      }
      const ended = hasEnded(waiter, tenant.nowMs());
      if (!reply && !ended) continue;
      tenant.waiters.remove(waiter);
      if (reply) waiter.settle({ reply });
      else if (error) waiter.settle({ error });
      else waiter.settle({ reply: await emptyReply(tenant, waiter.input) });
    } catch (error) {
      tenant.waiters.remove(waiter);
      waiter.settle({ error });
    }
  }
}

/**
 * Each of them waited for a read of its own when it came, unless that failed. A log outside the object is read again
 * only when there is news, since each read is a round trip.
 */
async function hasReadBefore(tenant: Tenant, ref: { topic: string; group: string }): Promise<boolean> {
  if (tenant.embedded || tenant.waiters.of(ref).some(({ lastError }) => lastError !== null)) return false;
  const group = await tenant.group(ref.topic, ref.group);
  return group !== null && !isReadDue(group, tenant.nowMs());
}

/** After the first try, which read the log and freed what others must give up: is a lane ready for this one? */
async function mayGetSomething(tenant: Tenant, input: TakeInput): Promise<boolean> {
  const group = await tenant.group(input.topic, input.group);
  if (!group || group.lookAheadPauseMs !== null) return true;
  const routeId = routeOf(group, input);
  // One whose route has ended is told by its try.
  if (routeId === null || group.lanes.application.unsorted.size > 0) return true;
  const index = group.lanes.of(routeId);
  return index.readyFree.size > 0 || index.readyOf(input.subscriber).size > 0;
}

async function returnReply(tenant: Tenant, input: TakeInput, reply: TakeReply): Promise<void> {
  const { topic, group, takeId } = input;
  await giveBack(tenant, { topic, group, takeId, receipts: receiptsOf(reply) });
}

function receiptsOf({ deliveries, grants }: TakeReply): string[] {
  return [...deliveries, ...grants].map(({ receipt }) => receipt);
}

interface Try {
  /** A read that began after this receive came has already been applied. */
  readBefore: boolean;
  /** Is somebody still waiting for the reply? */
  wanted: () => boolean;
}

/** null: there is no such route, or no more. */
function routeOf(group: GroupState, { route }: TakeInput): number | null {
  if (route === undefined) return APPLICATION;
  return group.routes.byName(route)?.routeId ?? null;
}

type Step =
  | { kind: "noRoute" }
  | { kind: "done"; granted: Granted[] }
  /** `isEmptyHanded`: nothing could be granted without the read. */
  | { kind: "read"; request: ReadRequest; isEmptyHanded: boolean };

/** One try. `error` is set when the log could not be read and there is nothing to give. */
async function tryTake(
  tenant: Tenant,
  input: TakeInput,
  { readBefore, wanted }: Try,
): Promise<{ reply: TakeReply | null; error: unknown }> {
  let haveRead = readBefore;
  for (let round = 0; ; round += 1) {
    if (!wanted()) return { reply: null, error: null };
    const group = await tenant.groupOrFail(input.topic, input.group);
    const step = tenant.change(group, (nowMs) => takeStep(tenant, group, input, nowMs, haveRead, round));
    if (step.kind === "noRoute") failWithoutRoute(input);
    if (step.kind === "done") {
      tenant.wake.lookAhead(group);
      if (round >= MAX_READ_ROUNDS) tryAgainSoon(tenant, input);
      if (step.granted.length === 0) return { reply: null, error: null };
    }
    try {
      if (step.kind === "read") {
        if (round === 0 && step.isEmptyHanded) await lingerForHint(tenant, group, input);
        await tenant.reader(input).read(step.request);
        haveRead = true;
        continue;
      }
      const handed = await deliver(tenant, group, input, step.granted);
      // Everything granted may have been gone from the log: then look again.
      if (handed.deliveries.length + handed.grants.length > 0)
        return { reply: { ...handed, ...(await held(tenant, input)) }, error: null };
      if (round >= MAX_READ_ROUNDS) return { reply: null, error: null };
    } catch (error) {
      if (error instanceof FairlaneError && error.failure.code === "store-unavailable")
        return { reply: null, error };
      throw error;
    }
  }
}

/**
 * A receive that may wait does not read a log outside the object at once: the hint of the next publish often comes
 * in a moment, and one read then serves both.
 */
async function lingerForHint(tenant: Tenant, group: GroupState, input: TakeInput): Promise<void> {
  if (tenant.embedded || input.waitMs === 0 || isReadDue(group, tenant.nowMs())) return;
  await tenant.wake.nextGrowth(input.topic, HINT_LINGER_MS);
}

function takeStep(
  tenant: Tenant,
  group: GroupState,
  input: TakeInput,
  nowMs: number,
  haveRead: boolean,
  round: number,
): Step {
  const routeId = routeOf(group, input);
  if (routeId === null) return { kind: "noRoute" };
  beat(group, input.subscriber, nowMs);
  attach(group, input.subscriber, routeId, nowMs);
  const index = group.lanes.of(routeId);
  const subscriber = group.subscribers.get(input.subscriber);
  if (subscriber) {
    subscriber.askingUntilMs = nowMs + ASKING_GRACE_MS;
    group.askingEnds.set(input.subscriber, subscriber.askingUntilMs);
  }
  if (group.record.settings.paused) return { kind: "done", granted: [] };
  // Before anything is granted: the log's clock, by which messages are due.
  if (!group.log.clock.isKnown && round < MAX_READ_ROUNDS)
    return { kind: "read", request: { lanes: [], tailEntries: 0 }, isEmptyHanded: false };
  const plan = planFor(tenant, group, input, routeId, nowMs);
  const missing = input.maxMessages - plan.total;
  const isSorted = group.lanes.application.unsorted.size === 0;
  const nothingToRead = haveRead && group.atTail && plan.unread.length === 0 && isSorted;
  if (missing > 0 && !plan.full && !nothingToRead && round < MAX_READ_ROUNDS) {
    // Each further round reads more at once, so that a long backlog of stuck lanes is passed quickly.
    const tailEntries = Math.max(
      group.hasFewLanes(index) ? LOOK_AHEAD_NOW_ENTRIES : 0,
      missing * 2 ** Math.min(round, 6),
    );
    const isEmptyHanded = plan.total === 0 && plan.unread.length === 0;
    return { kind: "read", request: { lanes: plan.unread, tailEntries }, isEmptyHanded };
  }
  // Enough, but of few lanes: one look at what comes behind them before they get everything.
  if (missing === 0 && round === 0 && group.hasFewLanes(index) && plan.takes.length < input.maxMessages) {
    return {
      kind: "read",
      request: { lanes: [], tailEntries: LOOK_AHEAD_NOW_ENTRIES },
      isEmptyHanded: false,
    };
  }
  if (plan.takes.length === 0) return { kind: "done", granted: [] };
  const visibilityTimeoutMs = input.visibilityTimeoutMs ?? group.record.settings.visibilityTimeoutMs;
  const granted = grant(group, plan.takes, {
    subscriber: input.subscriber,
    nonce: tenant.ports.chance.nonce(),
    visibleUntilMs: nowMs + visibilityTimeoutMs,
    nowMs,
  });
  return { kind: "done", granted };
}

/** As much was read as one try may wait for, and a lane may have more to read: whoever waits is tried again. */
function tryAgainSoon(tenant: Tenant, input: TakeInput): void {
  tenant.ports.timers.after(LOOK_AHEAD_PAUSE_MS, () => tenant.wake.pump(input));
}

function failWithoutRoute({ topic, group, route }: TakeInput): never {
  fail(
    "not-found",
    `group ${group} of topic ${topic} has no route ${route}: it has ended, or was never started`,
  );
}

/** Remembers since when lanes drain. */
function noteDraining(
  group: GroupState,
  routeId: number,
  { freed, draining }: HandOvers,
  nowMs: number,
): void {
  const { drainingSince } = group;
  for (const lane of drainingSince.keys()) {
    if (lane.routeId === routeId && !draining.has(lane)) drainingSince.delete(lane);
  }
  if (group.record.settings.maxInFlightPerPartition === 1) return;
  for (const lane of draining) {
    const sinceMs = drainingSince.get(lane);
    // After a step back of the clock it begins anew.
    if (sinceMs === undefined || sinceMs > nowMs) drainingSince.set(lane, nowMs);
  }
  for (const lane of freed) drainingSince.delete(lane);
}

/** Frees what others must give up, then plans. */
function planFor(
  tenant: Tenant,
  group: GroupState,
  input: TakeInput,
  routeId: number,
  nowMs: number,
): TakePlan {
  const index = group.lanes.of(routeId);
  const rules = dispatchRules(group.lanes.of(routeId), routeId, group.activeRules(nowMs, routeId));
  const asking = askingSubscribers(tenant, group, nowMs, routeId);
  asking.add(input.subscriber);
  const { leaseDurationMs } = group.record.settings;
  const drain = { sinceMs: group.drainingSince, leaseDurationMs };
  const handOvers = planHandOvers(index, group.shareInput(asking, routeId), rules, drain);
  noteDraining(group, routeId, handOvers, nowMs);
  for (const lane of handOvers.freed) {
    lane.setLease(null);
    group.touch(lane, nowMs);
  }
  const asker = { subscriber: input.subscriber, maxMessages: input.maxMessages, maxBytes: MAX_REPLY_BYTES };
  return planTake(index, asker, group.shareInput(asking, routeId), handOvers.draining, rules);
}

async function held(
  tenant: Tenant,
  input: TakeInput,
): Promise<{ partitions: string[]; partitionsHeld: number }> {
  const group = await tenant.group(input.topic, input.group);
  return group ? heldPartitions(group, input.subscriber) : { partitions: [], partitionsHeld: 0 };
}

async function emptyReply(tenant: Tenant, input: TakeInput): Promise<TakeReply> {
  return { deliveries: [], grants: [], ...(await held(tenant, input)) };
}
