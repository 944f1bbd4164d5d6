import { DEFAULT_ROUTE_TTL_MS, MAX_ROUTES_PER_GROUP } from "../../core/limits.ts";
import { IN_GROUP, NO_GROUP, PUBLISHED_AT, type ReferenceEntry } from "./entry.ts";

const IN_ROUTE = { ...IN_GROUP, route: "alice" };
const FILTER = { header: "x-dev", equals: "alice" };
const ROUTE = {
  route: "alice",
  filter: FILTER,
  ttlMs: DEFAULT_ROUTE_TTL_MS,
  startedAt: PUBLISHED_AT,
  expiresAt: PUBLISHED_AT + 35_000,
  delivered: 3,
  backlog: 1,
  inFlight: 1,
  subscribers: 1,
};
const NO_ROUTE = {
  404: "unknown-tenant: there is no such tenant; not-found: there is no such topic, group or route",
};

export const routes = {
  putRoute: {
    tag: "Splitting",
    description:
      "From now on the messages that match the filter go to the subscribers that name this route in their receives, and " +
      "to nobody else; what is in flight stays where it is, and its next attempt follows the filter. The route lives while " +
      "its subscribers call, or this call is made again, and ends at its expiry: then what it has not settled goes back, " +
      "also what is under way, whose receipts become `stale`. Made again with another filter it begins anew with that. " +
      `A group or topic that does not exist yet is made with the defaults. A group has at most ${MAX_ROUTES_PER_GROUP} routes, and ` +
      "no two of them may take the same message: that is decided by the filters alone, whatever was published.",
    errors: {
      404: "unknown-tenant: there is no such tenant; not-found: the group was deleted less than a minute ago",
      409: "route-overlap: another route takes some of these messages, and `witness` is one of them; route-undecided: that cannot be told of the two filters",
      429: "Too many requests, routes, topics or groups",
    },
    example: { params: IN_ROUTE, body: { filter: FILTER, ttlMs: DEFAULT_ROUTE_TTL_MS }, reply: ROUTE },
  },
  getRoute: {
    tag: "Splitting",
    description: "With how many messages went there. Looking does not renew it.",
    errors: NO_ROUTE,
    example: { params: IN_ROUTE, reply: ROUTE },
  },
  listRoutes: {
    tag: "Splitting",
    description: "In order of their names, and beside them what the application gets. Looking renews none.",
    errors: NO_GROUP,
    example: {
      params: IN_GROUP,
      reply: { routes: [ROUTE], application: { delivered: 40, backlog: 2, inFlight: 2, subscribers: 3 } },
    },
  },
  deleteRoute: {
    tag: "Splitting",
    description:
      "What the route has not settled joins the application's messages in offset order; deliveries under way may still be " +
      "settled. Its subscribers' next receives on it find nothing there.",
    errors: NO_ROUTE,
    example: { params: IN_ROUTE },
  },
} as const satisfies Record<string, ReferenceEntry>;
