import { expect } from "vitest";
import { keepFilterRules } from "./openapi-filters.ts";
import type { Request } from "./openapi-request.ts";
import type { Scene } from "./openapi-scenes.ts";
import { fresh, ok, type Ready } from "./openapi-stage.ts";

// Brokered splits: each scene has a workload of its own, since a split's phase decides what may be done to it.

const QUEUE = "orders";
const FILTER = { header: "x-dev", equals: "alice" };

interface Source {
  queue: string;
  provider: string;
  sourceName: string;
}

function declare(queue: string): Ready {
  return async (calls, request) => {
    request.params.workload = fresh(request.params.workload ?? "w");
    // A queue of Kafka's: the document's filters are of the widest dialect.
    const sources: Source[] = [{ queue, provider: "kafka", sourceName: "shop.orders" }];
    await ok(calls, "putSplit", { params: request.params, body: { sources } });
  };
}

function start(queue: string): Ready {
  return async (calls, request) => {
    await declare(queue)(calls, request);
    await ok(calls, "startSplit", { params: request.params });
  };
}

const declared = declare(QUEUE);
const started = start(QUEUE);
const routed: Ready = async (calls, request) => {
  await started(calls, request);
  const params = { ...request.params, route: request.params.route ?? "r" };
  await ok(calls, "putSplitRoute", { params, body: { queue: QUEUE, filter: FILTER } });
};

/** In words: a queue has one source, and a source one queue. */
function keepSourceRules(body: { sources: Source[] }): void {
  const seen = new Set<string>();
  body.sources = body.sources.filter(({ queue, provider, sourceName }) => {
    const names = [queue, `${provider} ${sourceName}`];
    const isNew = names.every((name) => !seen.has(name));
    for (const name of names) seen.add(name);
    return isNew;
  });
}

const isOf: NonNullable<Scene["meant"]> = ({ params }, { json }) =>
  expect(json.workload).toBe(params.workload);
const isIn =
  (phase: string): NonNullable<Scene["meant"]> =>
  (request, reply) => {
    isOf(request, reply);
    expect(reply.json.phase).toBe(phase);
  };
const isRoute = ({ params }: Request, { json }: { json: Record<string, unknown> }) =>
  expect(json).toMatchObject({ route: params.route, state: "active" });

export const splitScenes: Readonly<Record<string, Scene>> = {
  putSplit: {
    ready: async (_, request) => {
      request.params.workload = fresh(request.params.workload ?? "w");
      keepSourceRules(request.body as { sources: Source[] });
    },
    meant: (request, reply) => {
      isIn("Inactive")(request, reply);
      expect(reply.json.sources).toEqual((request.body as { sources: Source[] }).sources);
    },
  },
  getSplit: { ready: declared, meant: isIn("Inactive") },
  deleteSplit: { ready: declared },
  startSplit: { ready: declared, meant: isIn("Preparing") },
  stopSplit: { ready: started, meant: isIn("AbortingActivation") },
  resumeSplit: {
    ready: async (calls, request) => {
      await started(calls, request);
      // In words: a name has to be that of a shadow, and nothing was made yet.
      if (request.body !== undefined) request.body = { ...(request.body as object), makeAgain: [] };
    },
    meant: isIn("Preparing"),
  },
  putSplitRoute: {
    ready: async (calls, request) => {
      const body = request.body as { queue: string; filter: unknown };
      body.filter = keepFilterRules(body.filter, "kafka");
      await start(body.queue)(calls, request);
    },
    meant: isRoute,
  },
  getSplitRoute: { ready: routed, meant: isRoute },
  listSplitRoutes: {
    ready: routed,
    meant: (_, { json }) => expect(json.routes).toHaveLength(1),
  },
  deleteSplitRoute: { ready: routed },
};
