import { operation } from "./operation.ts";
import { GROUP, noBody, noContent, noQuery, read } from "./operation-parts.ts";
import { putRouteRequest, routeReply, routesReply } from "./routes.ts";

const ROUTE = `${GROUP}/routes/{route}` as const;

/** Native splits. */
export const routeOperations = {
  putRoute: operation({
    method: "PUT",
    path: ROUTE,
    scopes: ["consume"],
    summary: "Start a route, or renew it",
    query: noQuery,
    body: { kind: "json", schema: putRouteRequest },
    replies: { 200: { description: "The route as it is now", schema: routeReply } },
  }),
  getRoute: operation({
    method: "GET",
    path: ROUTE,
    scopes: read,
    summary: "One route with its counts",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "The route as it is now", schema: routeReply } },
  }),
  listRoutes: operation({
    method: "GET",
    path: `${GROUP}/routes`,
    scopes: read,
    summary: "How the group is split",
    query: noQuery,
    body: noBody,
    replies: {
      200: { description: "Its routes, and what is left for the application", schema: routesReply },
    },
  }),
  deleteRoute: operation({
    method: "DELETE",
    path: ROUTE,
    scopes: ["consume"],
    summary: "End a route",
    query: noQuery,
    body: noBody,
    replies: noContent,
  }),
};
