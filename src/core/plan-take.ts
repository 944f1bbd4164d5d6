import {
  LANES_PER_MESSAGE,
  MAX_GROUP_EXCEPTIONS,
  MAX_LANE_READS,
  MAX_ROUTE_EXCEPTIONS,
} from "./dispatch-limits.ts";
import { APPLICATION, type Lane } from "./lane.ts";
import type { LaneIndex } from "./lane-index.ts";
import { mayTake, type ShareInput, shares } from "./share.ts";
import { type WalkRules, walk } from "./walk.ts";

/**
 * Who gets what of a receive. Lanes are taken round-robin, the one that waited longest first, a message
 * each in turn. Own lanes first come in the same order as free ones; how many free ones, the share says.
 */
export interface Asker {
  subscriber: string;
  maxMessages: number;
  maxBytes: number;
}

export interface Take {
  lane: Lane;
  count: number;
}

export interface TakePlan {
  takes: Take[];
  total: number;
  /** Lanes that would be served but whose next entries must be read from the log first. */
  unread: Lane[];
  /** Cut by `maxBytes`: asking the log for more would not help. */
  full: boolean;
  /** Lanes that were looked at and hold only what must be settled or placed anew (spent, expired, stale). */
  stale: Lane[];
}

/** Owners' busy lanes that must be given up now: without deliveries in flight, newest leases first. */
export interface GiveUps {
  free: Lane[];
  /** Still delivering: no new work for their owner. */
  draining: Set<Lane>;
}

export function planGiveUps(index: LaneIndex, input: ShareInput, rules: WalkRules): GiveUps {
  const result: GiveUps = { free: [], draining: new Set() };
  const { giveUp } = shares(input);
  for (const [owner, count] of giveUp) {
    const newestFirst = [...index.busyOf(owner)].sort(
      (a, b) => (b.lease?.epoch ?? 0) - (a.lease?.epoch ?? 0),
    );
    const quiet = newestFirst.filter((lane) => !isDelivering(lane, rules.nowMs));
    const freed = quiet.slice(0, count);
    result.free.push(...freed);
    if (freed.length === count || !input.counted.has(owner)) continue;
    const delivering = newestFirst.filter((lane) => !freed.includes(lane));
    for (const lane of delivering.slice(0, count - freed.length)) result.draining.add(lane);
  }
  return result;
}

/** What must happen to lanes before anybody who asks is served. */
export interface HandOvers {
  /** They lose their owner now. */
  freed: Lane[];
  /** Those among them that still deliver, and the others of which their owner gets no new work. */
  draining: Set<Lane>;
}

export function planHandOvers(
  index: LaneIndex,
  input: ShareInput,
  rules: WalkRules,
  drain: { sinceMs: ReadonlyMap<Lane, number>; leaseDurationMs: number },
): HandOvers {
  const { free, draining } = planGiveUps(index, input, rules);
  const freed = [...free];
  for (const lane of draining) {
    const atMs = drainEndAtMs(drain.sinceMs.get(lane), drain.leaseDurationMs, rules);
    if (atMs !== null && atMs <= rules.nowMs) freed.push(lane);
  }
  return { freed, draining };
}

/**
 * When a lane that has drained since then changes hands: the deliveries under way stay their holder's, another goes
 * on with the lane. null: not by time. A strict lane waits, and after a step back of the clock it begins anew.
 */
export function drainEndAtMs(
  sinceMs: number | undefined,
  leaseDurationMs: number,
  rules: WalkRules,
): number | null {
  if (rules.maxInFlight === 1 || sinceMs === undefined || sinceMs > rules.nowMs) return null;
  return sinceMs + leaseDurationMs;
}

/** With as many failed messages waiting as the party may have, only those are delivered. */
export function dispatchRules(
  index: { exceptionCount: number },
  routeId: number,
  rules: WalkRules,
): WalkRules {
  return { ...rules, freshAllowed: index.exceptionCount < maxExceptions(routeId) };
}

export function maxExceptions(routeId: number): number {
  return routeId === APPLICATION ? MAX_GROUP_EXCEPTIONS : MAX_ROUTE_EXCEPTIONS;
}

function isDelivering(lane: Lane, nowMs: number): boolean {
  return (
    lane.runs.some((run) => run.visibleUntilMs > nowMs) ||
    lane.exceptions.some((e) => e.state === "inFlight" && e.atMs > nowMs)
  );
}

export function planTake(
  index: LaneIndex,
  asker: Asker,
  input: ShareInput,
  draining: ReadonlySet<Lane>,
  rules: WalkRules,
): TakePlan {
  const plan: TakePlan = { takes: [], total: 0, unread: [], full: false, stale: [] };
  let freeLeft = mayTake(input, asker.subscriber);
  const candidates: { lane: Lane; sizes: number[] }[] = [];
  let looked = 0;
  for (const lane of inTurn(index.readyOf(asker.subscriber), index.readyFree)) {
    if (looked >= asker.maxMessages * LANES_PER_MESSAGE) break;
    const owned = lane.lease !== null;
    if (owned ? draining.has(lane) : freeLeft <= 0) continue;
    looked += 1;
    const outcome = walk(lane, rules, asker.maxMessages);
    if (outcome.grants.length === 0) {
      if (outcome.stop !== "unread") plan.stale.push(lane);
      else if (plan.unread.length < MAX_LANE_READS) plan.unread.push(lane);
      if (outcome.stop === "unread" && !owned) freeLeft -= 1;
      continue;
    }
    if (!owned) freeLeft -= 1;
    if (outcome.stop === "unread" && plan.unread.length < MAX_LANE_READS) plan.unread.push(lane);
    candidates.push({ lane, sizes: outcome.grants.map((grant) => grant.bodyBytes) });
    if (candidates.length >= asker.maxMessages) break;
  }
  deal(plan, candidates, asker);
  return plan;
}

/** One message a lane in turn, until the asker's messages or bytes are used up. The first always fits. */
function deal(plan: TakePlan, candidates: { lane: Lane; sizes: number[] }[], asker: Asker): void {
  const counts = candidates.map(() => 0);
  let bytesLeft = asker.maxBytes;
  for (let dealt = true; dealt && !plan.full; ) {
    dealt = false;
    for (const [at, { sizes }] of candidates.entries()) {
      const size = sizes[counts[at] as number];
      if (size === undefined || plan.total >= asker.maxMessages) continue;
      if (size > bytesLeft && plan.total > 0) {
        plan.full = true;
        break;
      }
      bytesLeft -= size;
      counts[at] = (counts[at] as number) + 1;
      plan.total += 1;
      dealt = true;
    }
  }
  for (const [at, { lane }] of candidates.entries()) {
    const count = counts[at] as number;
    if (count > 0) plan.takes.push({ lane, count });
  }
}

/** Two ordered maps of lanes as one, by turn. */
function* inTurn(a: ReadonlyMap<Lane, number>, b: ReadonlyMap<Lane, number>): Generator<Lane> {
  const left = a.entries();
  const right = b.entries();
  let x = left.next();
  let y = right.next();
  while (!x.done || !y.done) {
    if (y.done || (!x.done && x.value[1] < y.value[1])) {
      if (!x.done) yield x.value[0];
      x = left.next();
    } else {
      yield y.value[0];
      y = right.next();
    }
  }
}
