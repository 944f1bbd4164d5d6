import { expect } from "vitest";
import type { Reply } from "./api.ts";
import { only } from "./harness.ts";
import { keepFilterRules } from "./openapi-filters.ts";
import type { Request } from "./openapi-request.ts";
import { splitScenes } from "./openapi-split-scenes.ts";
import {
  deliver,
  delivered,
  groupThere,
  leased,
  ok,
  publish,
  publishNamed,
  type Ready,
  rejected,
  routed,
  routeThere,
  takeFreshGroup,
  topicThere,
} from "./openapi-stage.ts";

/** What an operation needs around it to mean something. */
export interface Scene {
  /**
   * Makes what the request is about. Changes the request only to name what exists, or where a rule is in the document's
   * words alone.
   */
  ready?: Ready;
  /** That the reply is about what `ready` made. */
  meant?(request: Request, reply: Reply<Record<string, unknown>>): void;
  /** Where one request works through all topics of the tenant. */
  maxRuns?: number;
  /** No message can be published into a dead-letter topic. */
  ordinaryTopic?: true;
  /** What comes of a topic, and of a group, that does not exist. `answered`: neither an error nor made. */
  unknownTopic?: "made" | "answered" | "not-found";
  unknownGroup?: "made" | "answered" | "not-found";
}

/** The reply's list of this name has something in it, unless the request left it out. */
function lists(name: string, ...unless: string[]): NonNullable<Scene["meant"]> {
  return ({ query }, { json }) => {
    if (unless.some((parameter) => parameter in query)) return;
    expect((json[name] as unknown[]).length, name).toBeGreaterThan(0);
  };
}

/** The reply's number of this name counts something. */
function counts(name: string): NonNullable<Scene["meant"]> {
  return (_, { json }) => expect(json[name], name).toBeGreaterThan(0);
}

const MAX_HEADERS_BYTES = 8 * 1024;

/** In words: names are there only once whatever their case, and there are so many bytes in all. */
function keepHeaderRules(messages: { headers?: Record<string, string> }[]): void {
  for (const message of messages) {
    if (message.headers === undefined) continue;
    const seen = new Set<string>();
    let bytes = 0;
    const kept = Object.entries(message.headers).filter(([name, value]) => {
      const size = Buffer.byteLength(name) + Buffer.byteLength(value);
      if (seen.has(name.toLowerCase()) || bytes + size > MAX_HEADERS_BYTES) return false;
      seen.add(name.toLowerCase());
      bytes += size;
      return true;
    });
    message.headers = Object.fromEntries(kept);
  }
}

/** What a message says of its own name. */
function namesOf(message: { id?: string; partitionKey?: string }): object {
  return Object.fromEntries(
    Object.entries(message).filter(([name]) => name === "id" || name === "partitionKey"),
  );
}

/** How precondition and meaning come about, for each operation of the document. */
export const scenes: Readonly<Record<string, Scene>> = {
  publish: {
    ready: async (_, { body }) => keepHeaderRules((body as { messages: object[] }).messages),
    meant: ({ body }, { json }) => {
      const { messages } = body as { messages: object[] };
      expect(json.messages).toEqual(messages.map((message) => expect.objectContaining(namesOf(message))));
    },
    unknownTopic: "made",
  },
  publishRaw: {
    meant: ({ headers }, { json }) => {
      const { id, partitionKey } = only(json.messages as { id: string; partitionKey: string }[]);
      const decoded = (name: string, otherwise: string) =>
        decodeURIComponent(String(headers[name] ?? otherwise));
      expect(id).toBe(decoded("x-fairlane-id", encodeURIComponent(id)));
      expect(partitionKey).toBe(decoded("x-fairlane-partition-key", encodeURIComponent(partitionKey)));
    },
    unknownTopic: "made",
  },
  receive: {
    ready: async (calls, request) => {
      takeFreshGroup(request.params);
      const { route } = request.body as { route?: string };
      if (route !== undefined) await routed(calls, request, route);
      await publish(calls, request, [{ body: 1 }]);
    },
    meant: lists("deliveries"),
    ordinaryTopic: true,
    unknownTopic: "made",
    unknownGroup: "made",
  },
  settle: {
    ready: async (calls, request) => {
      const { settlements } = request.body as { settlements: { receipt: string }[] };
      const deliveries = await deliver(calls, request, Math.ceil(settlements.length / 2));
      deliveries.slice(0, settlements.length).forEach(({ receipt }, i) => {
        Object.assign(settlements[i] ?? {}, { receipt });
      });
    },
    meant: ({ body }, { json }) => {
      const { settlements } = body as { settlements: { receipt: string }[] };
      expect(json.results).toEqual(settlements.map(({ receipt }) => expect.objectContaining({ receipt })));
      expect(json.results).toContainEqual(expect.objectContaining({ status: "ok" }));
    },
    ordinaryTopic: true,
    unknownTopic: "answered",
    unknownGroup: "answered",
  },
  heartbeat: { ready: groupThere, unknownTopic: "not-found", unknownGroup: "not-found" },
  leave: {
    ready: async (calls, request) => {
      await deliver(calls, request, 2, request.params.subscriber);
    },
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  putGroup: { unknownTopic: "made", unknownGroup: "made" },
  getGroup: { ready: groupThere, unknownTopic: "not-found", unknownGroup: "not-found" },
  deleteGroup: {
    ready: async (calls, request) => {
      takeFreshGroup(request.params);
      const live = request.query.force === true && !request.params.topic?.endsWith("_dlq");
      await (live ? deliver(calls, request, 1) : groupThere(calls, request));
    },
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  putTopic: {
    ready: async (calls, request) => {
      // In words: maxRetentionMs is never below retentionMs, the kept ones included.
      const widest = { retentionMs: 1000, maxRetentionMs: 10 * 365 * 24 * 3600 * 1000 };
      await ok(calls, "putTopic", { params: request.params, body: widest });
      const body = request.body as Partial<typeof widest>;
      const { retentionMs: one = 0, maxRetentionMs: other = one } = body;
      if (one > other) Object.assign(body, { retentionMs: other, maxRetentionMs: one });
    },
    unknownTopic: "made",
  },
  getTopic: { ready: topicThere, unknownTopic: "not-found" },
  listTopics: {},
  listMessages: {
    ready: async (calls, request) => {
      // In words: `last` is not beside `after`.
      if ("last" in request.query) delete request.query.after;
      await publish(calls, request, [{ body: 1 }, { bodyBase64: "AAA=" }]);
    },
    meant: lists("messages", "after", "partitionKey"),
    ordinaryTopic: true,
    unknownTopic: "not-found",
  },
  getMessage: {
    ready: async (calls, request) => {
      await publishNamed(calls, request, request.query);
      if (!("offset" in request.query)) return;
      const { id, partitionKey } = request.query;
      const found = await ok<{ offset: number }>(calls, "getMessage", {
        ...request,
        query: { id, partitionKey },
      });
      request.query.offset = found.offset;
    },
    meant: ({ query }, { json }) => expect(json).toMatchObject(query),
    ordinaryTopic: true,
    unknownTopic: "not-found",
  },
  deleteMessage: {
    ready: (calls, request) => publishNamed(calls, request, request.query),
    ordinaryTopic: true,
    unknownTopic: "not-found",
  },
  purgeMessages: { ready: topicThere, unknownTopic: "not-found" },
  lag: {
    ready: delivered,
    meant: lists("partitions", "after"),
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  resetOffset: {
    ready: delivered,
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  leases: {
    ready: delivered,
    meant: lists("leases", "staleForMs"),
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  releaseLease: {
    ready: async (calls, request) => {
      request.query.partitionKey = await leased(calls, request);
    },
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  explain: {
    ready: async (calls, request) => {
      const { query } = request;
      // In words: exactly one of id and offset.
      if ("id" in query) delete query.offset;
      else query.offset ??= 1;
      await deliver(calls, request, 1);
      await publishNamed(calls, request, query);
    },
    meant: ({ query }, { json }) => {
      const { id, partitionKey } = query;
      expect(json).toMatchObject(id === undefined ? { partitionKey } : { partitionKey, id });
      if (id !== undefined) expect(json.state).not.toBe("not-found");
    },
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  waitingLanes: {
    ready: delivered,
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  subscribers: {
    ready: delivered,
    meant: lists("subscribers"),
    ordinaryTopic: true,
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  overview: {},
  putRoute: {
    ready: async (_, request) => {
      takeFreshGroup(request.params);
      const body = request.body as { filter: unknown };
      body.filter = keepFilterRules(body.filter);
    },
    meant: ({ params, body }, { json }) => {
      const { ttlMs = 30_000 } = body as { ttlMs?: number };
      expect(json).toMatchObject({ route: params.route, ttlMs, filter: expect.any(Object) });
    },
    unknownTopic: "made",
    unknownGroup: "made",
  },
  getRoute: {
    ready: routeThere,
    meant: ({ params }, { json }) => expect(json.route).toBe(params.route),
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  listRoutes: {
    ready: routeThere,
    meant: lists("routes"),
    unknownTopic: "not-found",
    unknownGroup: "not-found",
  },
  deleteRoute: { ready: routeThere, unknownTopic: "not-found", unknownGroup: "not-found" },
  deadLetters: {
    ready: async (calls, request) => {
      await rejected(calls, request);
    },
    meant: lists("deadLetters", "after"),
    unknownTopic: "not-found",
  },
  redrive: {
    ready: async (calls, request) => {
      const dead = await rejected(calls, request);
      const body = (request.body ?? {}) as { ids?: object[]; group?: string };
      const { ids = [] } = body;
      if (body.group !== undefined) body.group = dead[0]?.group ?? body.group;
      dead.slice(0, ids.length).forEach(({ id, partitionKey }, i) => {
        Object.assign(ids[i] ?? {}, { id, partitionKey });
      });
    },
    meant: counts("redriven"),
    unknownTopic: "not-found",
  },
  purgeDeadLetters: {
    ready: async (calls, request) => {
      await rejected(calls, request);
    },
    meant: counts("deleted"),
    unknownTopic: "not-found",
  },
  collect: { maxRuns: 2 },
  ...splitScenes,
  health: {},
  openapi: {},
};
