import { ID, IN_GROUP, KEY, NO_GROUP, OFFSET, PUBLISHED_AT, type ReferenceEntry } from "./entry.ts";

const LEASE = { subscriber: "worker-1", epoch: PUBLISHED_AT + 250, expiresAt: PUBLISHED_AT + 35_000 };
const EXPLANATION = {
  topic: "orders",
  group: "billing",
  partitionKey: KEY,
  id: ID,
  offset: OFFSET,
  publishedAt: PUBLISHED_AT,
  dueAt: PUBLISHED_AT,
  state: "backing-off",
  summary: 'Attempt 2 of 5 failed: "billing timed out"; it comes again at 2026-01-01T00:00:06.000Z.',
  attempt: 2,
  maxAttempts: 5,
  until: PUBLISHED_AT + 6000,
  reason: "billing timed out",
  blockers: [],
  lease: LEASE,
  nextChangeAt: PUBLISHED_AT + 6000,
  nextState: "deliverable",
  at: PUBLISHED_AT + 5000,
};

export const observe = {
  explain: {
    tag: "Explain",
    description:
      "By the same rules as dispatch. Name the message by its partition key and exactly one of `id` and `offset`. " +
      "A message that does not exist is an answer, not an error.",
    errors: NO_GROUP,
    example: { params: IN_GROUP, query: { partitionKey: KEY, id: ID }, reply: EXPLANATION },
  },
  waitingLanes: {
    tag: "Explain",
    description: "Partitions of which nothing is delivered now, each with its first such message explained.",
    errors: NO_GROUP,
    example: {
      params: IN_GROUP,
      query: { limit: 20 },
      reply: { lanes: [{ partitionKey: KEY, unsettled: 3, explanation: EXPLANATION }], more: false },
    },
  },
  subscribers: {
    tag: "Explain",
    description: "In order of their names, with what each holds and what its fair share is.",
    errors: NO_GROUP,
    example: {
      params: IN_GROUP,
      reply: {
        subscribers: [
          {
            subscriber: "worker-1",
            asking: true,
            lanes: 1,
            busyLanes: 1,
            inFlight: 1,
            oldestDeliveryAt: PUBLISHED_AT + 4000,
            partitions: [KEY],
            lastSeenAt: PUBLISHED_AT + 5000,
            expiresAt: PUBLISHED_AT + 35_000,
          },
        ],
        share: 1,
        busyLanes: 1,
        freeLanes: 0,
      },
    },
  },
  health: {
    tag: "Server",
    description: "Answers without looking at any tenant or store.",
    example: { reply: { status: "ok", version: "0.1.0" } },
  },
  openapi: {
    tag: "Server",
    description: "Made from the schemas that validate requests.",
    example: { reply: { openapi: "3.1.0" } },
  },
} as const satisfies Record<string, ReferenceEntry>;
