import type { Delivery } from "./audit-model.ts";
import type { History, LogRow, RouteFact, RouteTable } from "./history.ts";
import { takes } from "./route-filter.ts";
import { groupName } from "./route-notes.ts";

/** The party that routes leave: every message that none takes. */
export const APPLICATION = 0;

/** A renewal may be forgotten by this part of the time to live when the object's memory goes. */
const FORGOTTEN_PART = 8;

const RECENT_PUTS = 5;

/** A route that lived no more from a table on. */
export interface RouteEnd {
  route: string;
  routeId: number;
  /** Place of the table. */
  table: number;
  /** Not renewed in time, and ended by nobody's call; "perhaps": one or the other. */
  byExpiry: "surely" | "perhaps" | "no";
  /** For how long it lived after it was last renewed for certain; null: the clock was moved since. */
  idleMs: number | null;
  /** Not renewed for so long, it may have expired. */
  mayExpireAfterMs: number;
}

/** Whose a message of one group is, by the routes that there were. */
export class Parties {
  private readonly history: History;
  private readonly topic: string;
  private readonly group: string;
  private readonly name: string;
  private readonly owners = new Map<LogRow, Map<readonly RouteFact[], number>>();
  readonly ends: readonly RouteEnd[];

  constructor(history: History, topic: string, group: string) {
    this.history = history;
    this.topic = topic;
    this.group = group;
    this.name = groupName(topic, group);
    this.ends = this.findEnds();
  }

  get tables(): readonly RouteTable[] {
    return this.history.routeTables;
  }

  routesAt(table: number): readonly RouteFact[] {
    return this.tables[table]?.groups.get(this.name) ?? [];
  }

  /** By what the routes of that time say; the lowest where several take it. */
  ownerAt(table: number, row: LogRow): number {
    const routes = this.routesAt(table);
    if (routes.length === 0) return APPLICATION;
    const known = this.owners.get(row) ?? new Map<readonly RouteFact[], number>();
    this.owners.set(row, known);
    const cached = known.get(routes);
    if (cached !== undefined) return cached;
    const owner = routes.find(({ filter }) => takes(filter, row))?.routeId ?? APPLICATION;
    known.set(routes, owner);
    return owner;
  }

  /** Of the route of that name; null: there was none. */
  idOf(table: number, route: string | undefined): number | null {
    if (route === undefined) return APPLICATION;
    return this.routesAt(table).find((one) => one.route === route)?.routeId ?? null;
  }

  nameOf(routeId: number): string {
    if (routeId === APPLICATION) return "the application";
    for (const { groups } of this.tables) {
      const found = groups.get(this.name)?.find((one) => one.routeId === routeId);
      if (found) return `route ${found.route}`;
    }
    return `route ${routeId}`;
  }

  isLive(table: number, routeId: number): boolean {
    return routeId === APPLICATION || this.routesAt(table).some((one) => one.routeId === routeId);
  }

  /**
   * Where a message that was delivered and is not settled may be at a later table. What is under way stays where it is
   * until its route ends; what waits is whoever's it is by the routes of then, once they were asked.
   */
  homesOf({ routeId, row }: Delivery, table: number, isUnderWay: boolean): ReadonlySet<number> {
    const left = this.isLive(table, routeId) ? routeId : APPLICATION;
    return new Set(isUnderWay ? [left] : [left, this.ownerAt(table, row)]);
  }

  /** Is it in this lane of its partition, wherever else it might be? */
  isSurelyIn(lane: number, delivery: Delivery, table: number, isUnderWay: boolean): boolean {
    const homes = this.homesOf(delivery, table, isUnderWay);
    return homes.size === 1 && homes.has(lane);
  }

  /** The end of the route that the delivery is of, before an instant; null: it lived on, or there is none. */
  endOf({ routeId, table }: Delivery, beforeSeq: number): RouteEnd | null {
    if (routeId === APPLICATION) return null;
    const end = this.ends.find((one) => one.routeId === routeId && one.table > table);
    return end && this.seqOf(end) < beforeSeq ? end : null;
  }

  seqOf({ table }: RouteEnd): number {
    return this.tables[table]?.seq ?? 0;
  }

  clockOf({ table }: RouteEnd): number {
    return this.tables[table]?.clockMs ?? 0;
  }

  endedBetween(afterTable: number, throughTable: number): boolean {
    return this.ends.some(({ table }) => table > afterTable && table <= throughTable);
  }

  private findEnds(): RouteEnd[] {
    const ends: RouteEnd[] = [];
    let before: readonly RouteFact[] = [];
    for (const [table, { seq, clockMs, isLoss }] of this.tables.entries()) {
      const routes = this.routesAt(table);
      for (const { route, routeId } of before) {
        if (routes.some((one) => one.routeId === routeId)) continue;
        const idle = this.idleBefore(route, seq, clockMs);
        const isOld = idle.idleMs === null || idle.idleMs >= idle.mayExpireAfterMs;
        const isEnded = isLoss || this.mayHaveBeenEnded(route, seq);
        const byExpiry = isEnded ? (isOld ? "perhaps" : "no") : "surely";
        ends.push({ route, routeId, table, byExpiry, ...idle });
      }
      before = routes;
    }
    return ends;
  }

  private idleBefore(
    route: string,
    seq: number,
    clockMs: number,
  ): Pick<RouteEnd, "idleMs" | "mayExpireAfterMs"> {
    const { history } = this;
    const tried = history
      .of("putRoute")
      .filter(({ input, startSeq }) => this.isOfRoute(input, route) && startSeq < seq);
    // The time to live is that of the last one that took effect, and of some it is not known whether they did.
    const ttlMs = Math.min(...tried.slice(-RECENT_PUTS).map(({ input }) => input.ttlMs));
    const puts = tried.filter(({ outcome }) => outcome?.ok);
    const mayExpireAfterMs = ttlMs - ttlMs / FORGOTTEN_PART;
    const takes = history
      .of("take")
      .filter(({ input, outcome }) => input.route === route && this.isOfGroup(input) && outcome?.ok);
    const answered = [...puts, ...takes].filter(({ endSeq }) => endSeq !== null && endSeq < seq);
    if (answered.length === 0) return { idleMs: null, mayExpireAfterMs };
    const latest = answered.reduce((a, b) => (b.startSeq > a.startSeq ? b : a));
    const moved = history.jumps.some((jump) => jump.seq > latest.startSeq && jump.seq < seq);
    return { idleMs: moved ? null : clockMs - latest.startClockMs, mayExpireAfterMs };
  }

  /** Was a call under way that ends the route? */
  private mayHaveBeenEnded(route: string, seq: number): boolean {
    const { history } = this;
    const ofGroup = history.of("deleteGroup").filter(({ input }) => this.isOfGroup(input));
    const ofRoute = [...history.of("deleteRoute"), ...history.of("putRoute")].filter(({ input }) =>
      this.isOfRoute(input, route),
    );
    const isUnderWay = [...ofGroup, ...ofRoute].some(
      ({ startSeq, endSeq }) => startSeq <= seq && (endSeq ?? Number.POSITIVE_INFINITY) >= seq,
    );
    // Rows of a deleted group go with the next group of the name.
    return isUnderWay || ofGroup.some(({ startSeq }) => startSeq <= seq);
  }

  private isOfRoute(input: { topic: string; group: string; route: string }, route: string): boolean {
    return input.route === route && this.isOfGroup(input);
  }

  private isOfGroup({ topic, group }: { topic: string; group: string }): boolean {
    return topic === this.topic && group === this.group;
  }
}
