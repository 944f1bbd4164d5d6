import { assert } from "../core/assert.ts";
import { APPLICATION } from "../core/lane.ts";
import { type CompiledFilter, compileFilter } from "../splitting/filter/compile-filter.ts";
import type { Filter } from "../splitting/filter/filter.ts";
import { filterText } from "../splitting/filter/format-filter.ts";
import { RouteTable } from "../splitting/filter/route-table.ts";
import { type FilterSubject, objectSubject } from "../splitting/filter/subject.ts";
import type { GroupKey } from "./tables/group-key.ts";
import type { RouteRow } from "./tables/routes.ts";
import type { Tables } from "./tables/tables.ts";

/** A route of the group. Expiry is that of the row until the difference is worth writing it anew. */
export interface LiveRoute extends RouteRow {
  filter: Filter;
  ended: false;
  savedExpiresAtMs: number;
}

/** Written again when the expiry moved by this part of the ttl: at most so much is lost with the cache. */
const EXPIRY_SAVE_PART = 8;

interface Routable {
  partitionKey: string;
  headers?: string;
}

/**
 * The routes of a group, in memory: a cache of their rows, and what is compiled of their filters.
 *
 *   absent -> live      a PUT
 *   live -> live        renewed, by a PUT of the same filter or a call of a subscriber
 *   live -> ended       deleted, expired, replaced by another filter, or it had grown too large: its lanes were merged
 *                       into the application's in the same transaction. Its filter stays while a pending range names it
 *   ended -> absent     no pending range names it
 *
 * Invariants: live routes have different names, are disjoint and at most MAX_ROUTES_PER_GROUP; IDs grow and are never
 * used twice; a lane of a route is there only while the route lives.
 */
export class GroupRoutes {
  private readonly live = new Map<number, LiveRoute>();
  private readonly ended = new Map<number, RouteRow>();
  /** What the application got since the first of the live routes began; null while there is none. */
  private application: RouteRow | null = null;
  private table: RouteTable | null = null;
  private readonly filters = new Map<number, CompiledFilter>();
  private readonly touched = new Set<number>();
  /** A route has ended since its rows were written: others may be named no more. */
  hasJustEnded = false;
  /** Grows when a route begins or ends: what was read before was not asked of the same routes. Memory only. */
  version = 0;

  load(rows: readonly RouteRow[]): void {
    for (const row of rows) {
      const { routeId, filter } = row;
      if (routeId === APPLICATION) this.application = row;
      else if (row.ended) this.ended.set(routeId, row);
      else if (filter !== null)
        this.live.set(routeId, { ...row, filter, ended: false, savedExpiresAtMs: row.expiresAtMs });
    }
  }

  /** As they are now, for questions that come after an await: filters of ended routes go when nothing names them. */
  copy(): GroupRoutes {
    const copy = new GroupRoutes();
    for (const [routeId, route] of this.live) copy.live.set(routeId, route);
    for (const [routeId, route] of this.ended) copy.ended.set(routeId, route);
    for (const [routeId, filter] of this.filters) copy.filters.set(routeId, filter);
    copy.table = this.table;
    return copy;
  }

  get isSplit(): boolean {
    return this.live.size > 0;
  }

  get count(): number {
    return this.live.size;
  }

  /** Filters of ended routes that are kept. */
  get endedCount(): number {
    return this.ended.size;
  }

  /** Headers must be read: of what comes, or of what is pending. */
  get needsHeaders(): boolean {
    return this.live.size > 0 || this.ended.size > 0;
  }

  /** 0: there is none. */
  get newestId(): number {
    let newest = 0;
    for (const routeId of this.live.keys()) newest = Math.max(newest, routeId);
    return newest;
  }

  get applicationDelivered(): number {
    return this.application?.delivered ?? 0;
  }

  all(): LiveRoute[] {
    return [...this.live.values()].sort((a, b) => (a.route < b.route ? -1 : 1));
  }

  byId(routeId: number): LiveRoute | undefined {
    return this.live.get(routeId);
  }

  byName(route: string): LiveRoute | undefined {
    for (const one of this.live.values()) if (one.route === route) return one;
    return undefined;
  }

  begin(route: { routeId: number; route: string; filter: Filter; ttlMs: number; nowMs: number }): LiveRoute {
    const { routeId, nowMs, ...named } = route;
    assert(routeId > this.newestId, "IDs of routes grow");
    const times = { startedAtMs: nowMs, expiresAtMs: nowMs + route.ttlMs, savedExpiresAtMs: 0 };
    const begun: LiveRoute = { routeId, ...named, ...times, ended: false, delivered: 0 };
    if (this.application === null) {
      this.application = {
        ...begun,
        routeId: APPLICATION,
        route: "",
        filter: null,
        ttlMs: 0,
        expiresAtMs: 0,
      };
      this.touched.add(APPLICATION);
    }
    this.live.set(routeId, begun);
    this.touched.add(routeId);
    this.changed();
    return begun;
  }

  /** Its filter stays until `forgetEnded`. */
  end(routeId: number): void {
    const route = this.live.get(routeId);
    if (!route) return;
    this.live.delete(routeId);
    this.ended.set(routeId, { ...route, ended: true });
    this.hasJustEnded = true;
    this.touched.add(routeId);
    if (this.live.size === 0) {
      this.application = null;
      this.touched.add(APPLICATION);
    }
    this.changed();
  }

  /** `isNamed`: by a pending range. */
  forgetEnded(isNamed: (routeId: number) => boolean): void {
    for (const routeId of [...this.ended.keys()]) {
      if (isNamed(routeId)) continue;
      this.ended.delete(routeId);
      this.filters.delete(routeId);
      this.touched.add(routeId);
    }
  }

  /** Do two routes, also ended ones, take the same? Filters are canonical. */
  isSame(one: number, other: number): boolean {
    return one === other || filterText(this.filterOf(one)) === filterText(this.filterOf(other));
  }

  renew(routeId: number, nowMs: number): void {
    const route = this.live.get(routeId);
    if (!route) return;
    route.expiresAtMs = nowMs + route.ttlMs;
    if (Math.abs(route.expiresAtMs - route.savedExpiresAtMs) >= route.ttlMs / EXPIRY_SAVE_PART)
      this.touched.add(routeId);
  }

  setTtl(routeId: number, ttlMs: number): void {
    const route = this.live.get(routeId);
    if (!route || route.ttlMs === ttlMs) return;
    route.ttlMs = ttlMs;
    this.touched.add(routeId);
  }

  /** Figures for people: kept in the transaction of the grant. */
  countDelivered(routeId: number, messages: number): void {
    const row = routeId === APPLICATION ? this.application : this.live.get(routeId);
    if (!row || messages === 0) return;
    row.delivered += messages;
    this.touched.add(routeId);
  }

  /** Whose the message is now. Throws when its headers were not read and there are routes. */
  ownerOf(entry: Routable): number {
    if (this.live.size === 0) return APPLICATION;
    this.table ??= new RouteTable(
      [...this.live.values()].map(({ routeId, filter }) => ({ route: String(routeId), filter })),
    );
    const found = this.table.routeOf(subjectOf(entry, this.table.headerNames));
    return found === null ? APPLICATION : Number(found);
  }

  /** Does this route take it, also one that has ended? */
  takes(routeId: number, entry: Routable): boolean {
    const filter = this.filters.get(routeId) ?? compileFilter(this.filterOf(routeId));
    this.filters.set(routeId, filter);
    return filter.matches(subjectOf(entry));
  }

  private filterOf(routeId: number): Filter {
    const filter = (this.live.get(routeId) ?? this.ended.get(routeId))?.filter ?? null;
    assert(filter !== null, "filters of routes are kept while ranges name them");
    return filter;
  }

  nextExpiryAtMs(): number | null {
    let earliest: number | null = null;
    for (const { expiresAtMs } of this.live.values()) {
      if (earliest === null || expiresAtMs < earliest) earliest = expiresAtMs;
    }
    return earliest;
  }

  /** Writes what was touched. Inside the transaction of `Tenant.change`. */
  flush(tables: Tables, key: GroupKey): void {
    for (const routeId of this.touched) {
      const live = this.live.get(routeId);
      if (live) live.savedExpiresAtMs = live.expiresAtMs;
      const row = routeId === APPLICATION ? this.application : (live ?? this.ended.get(routeId));
      if (row) tables.routes.save(key, row);
      else tables.routes.remove(key, routeId);
    }
    this.touched.clear();
    this.hasJustEnded = false;
  }

  get isTouched(): boolean {
    return this.touched.size > 0;
  }

  private changed(): void {
    this.version += 1;
    this.table = null;
  }
}

/** `names`: the headers that are asked about; a text in which none of them stands has none of them, and is not parsed. */
function subjectOf({ headers, partitionKey }: Routable, names?: ReadonlySet<string>): FilterSubject {
  assert(headers !== undefined, "headers are read where a group has routes");
  const isBare = headers === "" || (names !== undefined && !mentions(headers, names));
  return objectSubject(isBare ? {} : JSON.parse(headers), partitionKey);
}

/** Names of headers are written in JSON as they are. */
function mentions(headers: string, names: ReadonlySet<string>): boolean {
  for (const name of names) if (headers.includes(name)) return true;
  return false;
}
