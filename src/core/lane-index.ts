import { DueQueue } from "./due-queue.ts";
import type { Lane } from "./lane.ts";
import { unsortedOffsets, type WalkRules, walk } from "./walk.ts";

/**
 * Which lanes of a group are ready, busy, and whose. Everything in it follows from the lanes by
 * `place`, which is called after each change of a lane; it keeps sets, no counters, so placing a lane twice
 * changes nothing. `advance` places the lanes whose outcome changed by time alone.
 */
interface Placement {
  owner: string | null;
  ready: boolean;
  busy: boolean;
  /** Subscribers with deliveries in flight in this lane. */
  deliveringTo: string[];
  /** A lapse spent the last attempt, or the window begins with what is too old. */
  needsCare: boolean;
  dying: boolean;
  unsorted: boolean;
  exceptions: number;
}

const NOWHERE: Placement = {
  owner: null,
  ready: false,
  busy: false,
  deliveringTo: [],
  needsCare: false,
  dying: false,
  unsorted: false,
  exceptions: 0,
};

export class LaneIndex {
  readonly lanes = new Map<string, Lane>();
  /** Lanes without an owner that a grant could start on, in the order in which they became so. */
  readonly readyFree = new Map<Lane, number>();
  private readonly readyOwned = new Map<string, Map<Lane, number>>();
  private readonly busyOwned = new Map<string, Set<Lane>>();
  private readonly leased = new Map<string, Set<Lane>>();
  private readonly delivering = new Map<string, Set<Lane>>();
  private readonly busy = new Set<Lane>();
  /** Lanes that must be settled in part before the next grant. */
  readonly needCare = new Set<Lane>();
  /** Lanes with a dead letter to copy. */
  readonly dying = new Set<Lane>();
  /** Lanes with messages that wait and were not asked of the newest route. */
  readonly unsorted = new Set<Lane>();
  /** Leased lanes with nothing unsettled, by when they became so. */
  readonly idleSince = new DueQueue<Lane>();
  private readonly placements = new Map<Lane, Placement>();
  private readonly changesAt = new DueQueue<Lane>();
  private turn = 0;
  private exceptions = 0;

  /** Unsettled messages with rows of their own, over all lanes. */
  get exceptionCount(): number {
    return this.exceptions;
  }

  get busyCount(): number {
    return this.busy.size;
  }

  get nextChangeAtMs(): number | null {
    return this.changesAt.peekAtMs();
  }

  readyOf(subscriber: string): ReadonlyMap<Lane, number> {
    return this.readyOwned.get(subscriber) ?? new Map();
  }

  /** Busy lanes leased by this subscriber. */
  busyOf(subscriber: string): ReadonlySet<Lane> {
    return this.busyOwned.get(subscriber) ?? new Set();
  }

  leasedBy(subscriber: string): ReadonlySet<Lane> {
    return this.leased.get(subscriber) ?? new Set();
  }

  lanesDeliveringTo(subscriber: string): ReadonlySet<Lane> {
    return this.delivering.get(subscriber) ?? new Set();
  }

  readyCount(): number {
    let count = this.readyFree.size;
    for (const lanes of this.readyOwned.values()) count += lanes.size;
    return count;
  }

  busyByOwner(): Map<string, number> {
    const held = new Map<string, number>();
    for (const [owner, lanes] of this.busyOwned) held.set(owner, lanes.size);
    return held;
  }

  deliveringTo(): Iterable<string> {
    return this.delivering.keys();
  }

  /** Puts a lane where it belongs; forgets it when nothing about it is worth keeping. */
  place(lane: Lane, rules: WalkRules | null, nowMs: number): void {
    const before = this.placements.get(lane) ?? NOWHERE;
    if (!lane.hasUnsettled && !lane.lease && !lane.hasUnsaved) {
      this.move(lane, before, NOWHERE);
      this.placements.delete(lane);
      this.changesAt.set(lane, null);
      this.idleSince.set(lane, null);
      if (this.lanes.get(lane.partitionKey) === lane) this.lanes.delete(lane.partitionKey);
      return;
    }
    this.lanes.set(lane.partitionKey, lane);
    const after = this.placementOf(lane, rules);
    this.move(lane, before, after);
    this.placements.set(lane, after);
    if (lane.hasUnsettled) lane.idleSinceMs = null;
    else if (lane.idleSinceMs === null) lane.idleSinceMs = nowMs;
    this.idleSince.set(lane, lane.lease ? lane.idleSinceMs : null);
  }

  /** Places every lane whose time has come; returns how many. */
  advance(rules: WalkRules | null, nowMs: number): number {
    const due = this.changesAt.takeDue(nowMs);
    for (const lane of due) this.place(lane, rules, nowMs);
    return due.length;
  }

  /** A served lane goes behind the others that are ready. */
  requeue(lane: Lane): void {
    for (const lanes of [this.readyFree, this.readyOwned.get(lane.lease?.subscriber ?? "")]) {
      if (lanes?.delete(lane)) lanes.set(lane, this.nextTurn());
    }
  }

  private placementOf(lane: Lane, rules: WalkRules | null): Placement {
    const owner = lane.lease?.subscriber ?? null;
    const dying = lane.exceptions.some((exception) => exception.state === "dying");
    const exceptions = lane.exceptions.length;
    if (!rules) {
      this.changesAt.set(lane, null);
      return { ...NOWHERE, owner, dying, exceptions, deliveringTo: deliverers(lane, null) };
    }
    const outcome = walk(lane, rules, 1);
    const deliveringTo = deliverers(lane, rules.nowMs);
    const needsCare = outcome.spent.length > 0 || outcome.expired.length > 0;
    const ready = outcome.grants.length > 0 || outcome.stop === "unread";
    this.changesAt.set(lane, nextChangeAtMs(lane, outcome.nextChangeAtMs, rules.nowMs));
    return {
      owner,
      ready,
      busy: ready || deliveringTo.length > 0,
      deliveringTo,
      needsCare,
      dying,
      unsorted: unsortedOffsets(lane, rules).length > 0,
      exceptions,
    };
  }

  private move(lane: Lane, before: Placement, after: Placement): void {
    if (before.owner !== after.owner) {
      leave(this.leased, before.owner, lane);
      join(this.leased, after.owner, lane);
    }
    for (const subscriber of before.deliveringTo) {
      if (!after.deliveringTo.includes(subscriber)) leave(this.delivering, subscriber, lane);
    }
    for (const subscriber of after.deliveringTo) join(this.delivering, subscriber, lane);
    const ownerMoved = before.owner !== after.owner;
    if (before.busy && (!after.busy || ownerMoved)) leave(this.busyOwned, before.owner, lane);
    if (after.busy) join(this.busyOwned, after.owner, lane);
    toggle(this.busy, lane, after.busy);
    if (before.ready && (!after.ready || ownerMoved)) this.unready(lane, before.owner);
    if (after.ready && (!before.ready || ownerMoved)) this.makeReady(lane, after.owner);
    toggle(this.needCare, lane, after.needsCare);
    toggle(this.dying, lane, after.dying);
    toggle(this.unsorted, lane, after.unsorted);
    this.exceptions += after.exceptions - before.exceptions;
  }

  private makeReady(lane: Lane, owner: string | null): void {
    if (owner === null) {
      this.readyFree.set(lane, this.nextTurn());
      return;
    }
    const lanes = this.readyOwned.get(owner) ?? new Map<Lane, number>();
    lanes.set(lane, this.nextTurn());
    this.readyOwned.set(owner, lanes);
  }

  private unready(lane: Lane, owner: string | null): void {
    if (owner === null) {
      this.readyFree.delete(lane);
      return;
    }
    const lanes = this.readyOwned.get(owner);
    lanes?.delete(lane);
    if (lanes?.size === 0) this.readyOwned.delete(owner);
  }

  private nextTurn(): number {
    this.turn += 1;
    return this.turn;
  }
}

function join(sets: Map<string, Set<Lane>>, key: string | null, lane: Lane): void {
  if (key === null) return;
  const lanes = sets.get(key) ?? new Set<Lane>();
  lanes.add(lane);
  sets.set(key, lanes);
}

function leave(sets: Map<string, Set<Lane>>, key: string | null, lane: Lane): void {
  if (key === null) return;
  const lanes = sets.get(key);
  lanes?.delete(lane);
  if (lanes?.size === 0) sets.delete(key);
}

function deliverers(lane: Lane, nowMs: number | null): string[] {
  const names = new Set<string>();
  for (const run of lane.runs) if (nowMs === null || run.visibleUntilMs > nowMs) names.add(run.subscriber);
  for (const e of lane.exceptions) {
    if (e.state === "inFlight" && (nowMs === null || e.atMs > nowMs)) names.add(e.subscriber);
  }
  return [...names];
}

function toggle(lanes: Set<Lane>, lane: Lane, member: boolean): void {
  if (member) lanes.add(lane);
  else lanes.delete(lane);
}

/** A walk that stopped early may not have seen the delivery that ends next; in-flight limits need it. */
function nextChangeAtMs(lane: Lane, walkedMs: number | null, nowMs: number): number | null {
  let earliest = walkedMs;
  for (const run of lane.runs) {
    if (run.visibleUntilMs > nowMs && (earliest === null || run.visibleUntilMs < earliest))
      earliest = run.visibleUntilMs;
  }
  for (const e of lane.exceptions) {
    if (e.state === "inFlight" && e.atMs > nowMs && (earliest === null || e.atMs < earliest))
      earliest = e.atMs;
  }
  return earliest;
}
