import { operation } from "./operation.ts";
import { noBody, noContent, noQuery, read, TENANT } from "./operation-parts.ts";
import {
  deleteSplitQuery,
  putSplitRequest,
  putSplitRouteRequest,
  resumeSplitRequest,
  splitReply,
  splitRouteReply,
  splitRoutesReply,
} from "./split-manager.ts";

/** Brokered splits. The agent's WebSocket is beside them, in split-agent.ts: it is no call that the document can describe. */

const SPLIT = `${TENANT}/splits/{workload}` as const;
const ROUTE = `${SPLIT}/routes/{route}` as const;

const asItIs = { 200: { description: "The split as it is now", schema: splitReply } };
const routeAsItIs = { 200: { description: "The route as it is now", schema: splitRouteReply } };

export const splitOperations = {
  putSplit: operation({
    method: "PUT",
    path: SPLIT,
    scopes: ["admin"],
    summary: "Declare what is to be split of a workload",
    query: noQuery,
    body: { kind: "json", schema: putSplitRequest },
    replies: asItIs,
  }),
  getSplit: operation({
    method: "GET",
    path: SPLIT,
    scopes: read,
    summary: "A workload's split, and what can safely be done next",
    query: noQuery,
    body: noBody,
    replies: asItIs,
  }),
  deleteSplit: operation({
    method: "DELETE",
    path: SPLIT,
    scopes: ["admin"],
    summary: "Forget a split that is inactive",
    query: deleteSplitQuery,
    body: noBody,
    replies: noContent,
  }),
  startSplit: operation({
    method: "POST",
    path: `${SPLIT}/start`,
    scopes: ["admin"],
    summary: "Begin to split",
    query: noQuery,
    body: noBody,
    replies: asItIs,
  }),
  stopSplit: operation({
    method: "POST",
    path: `${SPLIT}/stop`,
    scopes: ["admin"],
    summary: "Drain the shadows and give the sources back",
    query: noQuery,
    body: noBody,
    replies: asItIs,
  }),
  resumeSplit: operation({
    method: "POST",
    path: `${SPLIT}/resume`,
    scopes: ["admin"],
    summary: "Go on where a split is held",
    query: noQuery,
    body: { kind: "json", schema: resumeSplitRequest, optional: true },
    replies: asItIs,
  }),
  putSplitRoute: operation({
    method: "PUT",
    path: ROUTE,
    scopes: ["consume"],
    summary: "Start a route of a brokered split, or renew it",
    query: noQuery,
    body: { kind: "json", schema: putSplitRouteRequest },
    replies: routeAsItIs,
  }),
  getSplitRoute: operation({
    method: "GET",
    path: ROUTE,
    scopes: read,
    summary: "One route of a brokered split",
    query: noQuery,
    body: noBody,
    replies: routeAsItIs,
  }),
  listSplitRoutes: operation({
    method: "GET",
    path: `${SPLIT}/routes`,
    scopes: read,
    summary: "The routes of a brokered split",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "All of them", schema: splitRoutesReply } },
  }),
  deleteSplitRoute: operation({
    method: "DELETE",
    path: ROUTE,
    scopes: ["consume"],
    summary: "End a route of a brokered split",
    query: noQuery,
    body: noBody,
    replies: noContent,
  }),
};
