import { DEFAULT_ROUTE_TTL_MS, MAX_ROUTES_PER_GROUP } from "../../core/limits.ts";
import { resourceName } from "../../splitting/state/names.ts";
import { IN_TENANT, PUBLISHED_AT, type ReferenceEntry } from "./entry.ts";

const IN_SPLIT = { ...IN_TENANT, workload: "checkout" };
const IN_ROUTE = { ...IN_SPLIT, route: "alice" };
const SOURCE = { queue: "orders", provider: "rabbitmq", sourceName: "shop.orders" };
const FILTER = { header: "x-dev", equals: "alice" };
const nameOf = (kind: "app-shadow" | "route-shadow", slot: number | null) =>
  resourceName({ prefix: "fairlane", kind, ...IN_SPLIT, queue: SOURCE.queue, slot });
const ROUTE = {
  route: IN_ROUTE.route,
  queue: SOURCE.queue,
  filter: FILTER,
  ttlMs: DEFAULT_ROUTE_TTL_MS,
  expiresAt: PUBLISHED_AT + DEFAULT_ROUTE_TTL_MS,
  state: "active",
  shadow: nameOf("route-shadow", 0),
};
const SPLIT = {
  workload: IN_SPLIT.workload,
  phase: "Active",
  nextSafeAction: "Nothing needs to be done. A stop drains the shadows and gives the source back.",
  generation: 12,
  agent: { connected: true, epoch: 1 },
  prefix: "fairlane",
  sources: [SOURCE],
  routes: [ROUTE],
  resources: [
    { kind: "app-shadow", queue: SOURCE.queue, name: nameOf("app-shadow", null), state: "created" },
    { kind: "route-shadow", queue: SOURCE.queue, name: ROUTE.shadow, state: "created" },
  ],
  retained: [],
  deadlineAt: null,
};
const NO_SPLIT = {
  404: "unknown-tenant: there is no such tenant; not-found: the workload has no split",
};
const NO_ROUTE = {
  404: "unknown-tenant: there is no such tenant; not-found: the workload has no split, or it has no such route",
};
const HELD = "its document cannot be read by this version";

export const splits = {
  putSplit: {
    tag: "Splitting",
    description:
      "Names the queues of RabbitMQ or topics of Kafka that a workload consumes and that are to be split. Nothing is done " +
      "until a start. The queue agent, which does what is to be done on the brokers, connects to `agent` below this path " +
      "by a WebSocket, with the scope `admin`: one at a time, and a newer one displaces it for good.",
    errors: { 409: `conflict: it is not inactive, a source is there twice, or ${HELD}` },
    example: { params: IN_SPLIT, body: { prefix: "fairlane", sources: [SOURCE] }, reply: SPLIT },
  },
  getSplit: {
    tag: "Splitting",
    description:
      "The phase and, where it is held, the reason; and what a person can do next without harm. A document that this " +
      "version cannot read is shown as `Degraded`, without its parts.",
    errors: NO_SPLIT,
    example: { params: IN_SPLIT, reply: SPLIT },
  },
  deleteSplit: {
    tag: "Splitting",
    description:
      "What was declared is forgotten, and the queue agent sent away. Nothing is deleted on brokers.",
    errors: {
      ...NO_SPLIT,
      409: `conflict: it is not inactive, resources are left behind and \`force\` is not true, or ${HELD}`,
    },
    example: { params: IN_SPLIT, query: { force: true } },
  },
  startSplit: {
    tag: "Splitting",
    description:
      "The phases of a split's beginning follow, each once the queue agent has proved the one before.",
    errors: {
      ...NO_SPLIT,
      409: `conflict: it is being stopped, is held, has left resources behind, or ${HELD}`,
    },
    example: { params: IN_SPLIT, reply: SPLIT },
  },
  stopSplit: {
    tag: "Splitting",
    description:
      "An active split is drained and handed back, one that is not active yet is called off. Its routes end. Made again, or " +
      "where nothing is split, it changes nothing.",
    errors: { ...NO_SPLIT, 409: `conflict: it is held, and has to be resumed first, or ${HELD}` },
    example: { params: IN_SPLIT, reply: SPLIT },
  },
  resumeSplit: {
    tag: "Splitting",
    description:
      "A held split goes on in its `resumePhase`, and nowhere else; one that is not held is left as it is. A shadow that " +
      "somebody deleted by hand is not made again by itself, since what was in it is lost: `makeAgain` names those that shall " +
      "be. All of them, or the split stays held. An empty request is one without names.",
    errors: {
      404:
        "unknown-tenant: there is no such tenant; not-found: the workload has no split, or none of its `resources` has one " +
        "of the names",
      409:
        "conflict: one of the names is no shadow's, shadows are not made any more in its `resumePhase`, it has names and is " +
        `not held, or ${HELD}`,
    },
    example: { params: IN_SPLIT, body: { makeAgain: [nameOf("route-shadow", 0)] }, reply: SPLIT },
  },
  putSplitRoute: {
    tag: "Splitting",
    description:
      "The queue's messages that match the filter go to a shadow of the route's own, once the queue agent has made it. The " +
      "route lives while this call is made again, and ends at its expiry: what is left in its shadow then goes to the " +
      `application's. A queue has at most ${MAX_ROUTES_PER_GROUP} routes, and no two of them may take the same message. ` +
      "Once messages are moved a route keeps its filter: to have another under its name, end it, and put it again when it is " +
      "gone from the list.",
    errors: {
      404: "unknown-tenant: there is no such tenant; not-found: the workload has no split, or no such queue",
      409:
        "conflict: there are no routes in this phase, the route is of another queue, has another filter or is being emptied, or " +
        `${HELD}; route-overlap: another route takes some of these messages, and \`witness\` is one of them; ` +
        "route-undecided: that cannot be told of the two filters",
      429: "Too many requests, or routes of the queue",
    },
    example: {
      params: IN_ROUTE,
      body: { queue: SOURCE.queue, filter: FILTER, ttlMs: DEFAULT_ROUTE_TTL_MS },
      reply: ROUTE,
    },
  },
  getSplitRoute: {
    tag: "Splitting",
    description: "Looking does not renew it.",
    errors: { ...NO_ROUTE, 409: `conflict: ${HELD}` },
    example: { params: IN_ROUTE, reply: ROUTE },
  },
  listSplitRoutes: {
    tag: "Splitting",
    description: "In order of their names. Looking renews none.",
    errors: { ...NO_SPLIT, 409: `conflict: ${HELD}` },
    example: { params: IN_SPLIT, reply: { routes: [ROUTE] } },
  },
  deleteSplitRoute: {
    tag: "Splitting",
    description:
      "What is left in its shadow goes to the application's; until then the route is shown as `draining`.",
    errors: { ...NO_ROUTE, 409: `conflict: ${HELD}` },
    example: { params: IN_ROUTE },
  },
} as const satisfies Record<string, ReferenceEntry>;
