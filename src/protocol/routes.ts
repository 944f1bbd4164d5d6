import { z } from "zod";
import { DEFAULT_ROUTE_TTL_MS, MAX_ROUTE_TTL_MS, MIN_ROUTE_TTL_MS } from "../core/limits.ts";
import { atLeast, atTime, count, integer, routeName } from "./fields.ts";
import { filterField, filterReply } from "./filters.ts";

/** Native splits: routes of a group on a Fairlane topic. */

const ttlMs = integer(MIN_ROUTE_TTL_MS, MAX_ROUTE_TTL_MS).meta({
  description:
    "The route ends when neither a call of its subscribers nor a PUT renewed it for so many milliseconds",
});

export const putRouteRequest = z.strictObject({
  filter: filterField,
  ttlMs: ttlMs.default(DEFAULT_ROUTE_TTL_MS),
});

const laneCounts = {
  delivered: count.meta({
    description: "Messages that went there, each counted at its first delivery while the route was there",
  }),
  backlog: count.meta({ description: "Messages there that the group has not settled" }),
  atLeast,
  inFlight: count.meta({ description: "Deliveries under way" }),
  subscribers: count.meta({ description: "Live ones that are attached" }),
};

export const routeReply = z
  .strictObject({
    route: z.string(),
    filter: filterReply,
    ttlMs: z.int().min(0),
    startedAt: atTime,
    expiresAt: atTime.meta({ description: "Unless it is renewed" }),
    ...laneCounts,
  })
  .meta({
    id: "Route",
    description: "A route of a group: the messages that match its filter are its subscribers'",
  });

export const routesReply = z.strictObject({
  routes: z.array(routeReply).meta({ description: "In order of their names" }),
  application: z
    .strictObject(laneCounts)
    .meta({ description: "All other messages; delivered counts since the first of these routes began" }),
});

/** In a receive: attaches the subscriber to it. */
export const attachedRoute = routeName.meta({
  description:
    "Attaches the subscriber to this route: it gets the messages that match its filter and no others. Absent: it is the application's",
});
