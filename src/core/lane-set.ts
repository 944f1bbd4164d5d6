import { APPLICATION, type Lane } from "./lane.ts";
import { LaneIndex } from "./lane-index.ts";
import type { WalkRules } from "./walk.ts";

/** The rules by which lanes of a route, or the application's, are walked; null: nothing is delivered. */
export type RulesFor = (routeId: number) => WalkRules | null;

/**
 * All lanes of a group: an index of the application's, and one of each route that has lanes. Fair share and turns go
 * by index, so that a deep pile in one party's lanes costs no other; what concerns a partition or a delivery asks all.
 */
export class LaneSet {
  readonly application = new LaneIndex();
  private readonly ofRoutes = new Map<number, LaneIndex>();

  /** Made when the route's first lane is placed. */
  of(routeId: number): LaneIndex {
    if (routeId === APPLICATION) return this.application;
    const known = this.ofRoutes.get(routeId);
    if (known) return known;
    const made = new LaneIndex();
    this.ofRoutes.set(routeId, made);
    return made;
  }

  /** Of a route that has ended: it must have no lane any more. */
  forget(routeId: number): void {
    this.ofRoutes.delete(routeId);
  }

  *indexes(): Generator<LaneIndex> {
    yield this.application;
    yield* this.ofRoutes.values();
  }

  *entries(): Generator<[routeId: number, index: LaneIndex]> {
    yield [APPLICATION, this.application];
    yield* this.ofRoutes;
  }

  *lanes(): Generator<Lane> {
    for (const index of this.indexes()) yield* index.lanes.values();
  }

  lane(partitionKey: string, routeId: number = APPLICATION): Lane | undefined {
    if (routeId === APPLICATION) return this.application.lanes.get(partitionKey);
    return this.ofRoutes.get(routeId)?.lanes.get(partitionKey);
  }

  /** The application's first. */
  lanesOf(partitionKey: string): Lane[] {
    const own = this.application.lanes.get(partitionKey);
    const lanes = this.routeLanes(partitionKey);
    return own ? [own, ...lanes] : lanes;
  }

  routeLanes(partitionKey: string): Lane[] {
    const lanes: Lane[] = [];
    for (const index of this.ofRoutes.values()) {
      const lane = index.lanes.get(partitionKey);
      if (lane) lanes.push(lane);
    }
    return lanes;
  }

  /** The lane that has this offset in a delivery or among its exceptions. */
  holding(partitionKey: string, offset: number): Lane | undefined {
    const own = this.application.lanes.get(partitionKey);
    if (this.ofRoutes.size === 0) return own;
    return this.lanesOf(partitionKey).find((lane) => !lane.isSettledBelow(offset)) ?? own;
  }

  leasedBy(subscriber: string): Lane[] {
    const lanes: Lane[] = [];
    for (const index of this.indexes()) lanes.push(...index.leasedBy(subscriber));
    return lanes;
  }

  lanesDeliveringTo(subscriber: string): Lane[] {
    const lanes: Lane[] = [];
    for (const index of this.indexes()) lanes.push(...index.lanesDeliveringTo(subscriber));
    return lanes;
  }

  get routeLaneCount(): number {
    let count = 0;
    for (const { lanes } of this.ofRoutes.values()) count += lanes.size;
    return count;
  }

  get size(): number {
    return this.application.lanes.size + this.routeLaneCount;
  }

  get exceptionCount(): number {
    let count = 0;
    for (const index of this.indexes()) count += index.exceptionCount;
    return count;
  }

  get hasDying(): boolean {
    return this.some((index) => index.dying.size > 0);
  }

  get needsCare(): boolean {
    return this.some((index) => index.needCare.size > 0);
  }

  *dying(): Generator<Lane> {
    for (const index of this.indexes()) yield* index.dying;
  }

  nextChangeAtMs(): number | null {
    return this.earliest((index) => index.nextChangeAtMs);
  }

  idleSinceMs(): number | null {
    return this.earliest((index) => index.idleSince.peekAtMs());
  }

  advance(rulesFor: RulesFor, nowMs: number): void {
    for (const [routeId, index] of this.entries()) index.advance(rulesFor(routeId), nowMs);
  }

  placeAll(rulesFor: RulesFor, nowMs: number): void {
    for (const [routeId, index] of this.entries()) {
      const rules = rulesFor(routeId);
      for (const lane of [...index.lanes.values()]) index.place(lane, rules, nowMs);
    }
  }

  private some(holds: (index: LaneIndex) => boolean): boolean {
    for (const index of this.indexes()) if (holds(index)) return true;
    return false;
  }

  private earliest(atMsOf: (index: LaneIndex) => number | null): number | null {
    let earliestMs: number | null = null;
    for (const index of this.indexes()) {
      const atMs = atMsOf(index);
      if (atMs !== null && (earliestMs === null || atMs < earliestMs)) earliestMs = atMs;
    }
    return earliestMs;
  }
}
