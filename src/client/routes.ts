import type { Filter } from "../splitting/filter/filter.ts";

/**
 * Routes of a group: the messages that match one's filter go to the subscribers that attached to it, all others to the
 * application. Times are milliseconds since the epoch, by the server's clock.
 */

/** What one route, or the application, has of the group's messages. */
export interface LaneCounts {
  /** Messages that went there, each counted at its first delivery while the route was there. */
  delivered: number;
  /** Messages there that the group has not settled. */
  backlog: number;
  /** `backlog` is a lower bound. */
  atLeast?: true | undefined;
  /** Deliveries under way. */
  inFlight: number;
  /** Live ones that are attached. */
  subscribers: number;
}

export interface Route extends LaneCounts {
  route: string;
  filter: Filter;
  /** It ends when nothing renewed it for so long. */
  ttlMs: number;
  startedAt: number;
  /** Unless it is renewed. */
  expiresAt: number;
}

export interface RouteList {
  /** In order of their names. */
  routes: Route[];
  /** All other messages; `delivered` counts since the first of these routes began. */
  application: LaneCounts;
}

export interface RouteRequest {
  filter: Filter;
  /** Renewed by any call of its subscribers; 1000 to 86400000, 30000 if absent. */
  ttlMs?: number | undefined;
}

/** A message that two routes would take. */
export interface Witness {
  headers: Record<string, string>;
  /** Headers whose values are no text: on brokers only. */
  opaqueHeaders?: string[] | undefined;
  /** Its partition key; absent: any. */
  key?: string | undefined;
}

/**
 * A route that is a consumer's own: started before its first receive, renewed while it consumes and while its handlers
 * end, started again where the server lost it, and ended when it has stopped. Of several consumers on one route let one
 * have it so, and the others attach to it by its name.
 */
export interface OwnRoute extends RouteRequest {
  name: string;
  /** true: it is left to its expiry when the consumer stops. */
  keep?: boolean | undefined;
}
