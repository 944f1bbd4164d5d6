import {
  ID,
  IN_GROUP,
  IN_TENANT,
  IN_TOPIC,
  KEY,
  NO_GROUP,
  NO_TOPIC,
  OFFSET,
  PUBLISHED_AT,
  type ReferenceEntry,
} from "./entry.ts";

const MESSAGE = {
  id: ID,
  topic: "orders",
  partitionKey: KEY,
  offset: OFFSET,
  publishedAt: PUBLISHED_AT,
  dueAt: PUBLISHED_AT,
  bodyBytes: 27,
  contentType: "application/json",
  headers: { "x-source": "shop" },
};
const NO_MESSAGE = {
  404: "unknown-tenant: there is no such tenant; not-found: there is no such topic or message",
};
const BY_NAME = { id: ID, partitionKey: KEY };

export const operate = {
  listMessages: {
    tag: "Messages",
    description:
      "In offset order, of the whole topic or of one partition. For the next page give `next` as `after`.",
    errors: NO_TOPIC,
    example: {
      params: IN_TOPIC,
      query: { partitionKey: KEY, limit: 100 },
      reply: { messages: [MESSAGE], next: null },
    },
  },
  getMessage: {
    tag: "Messages",
    description: "The published message of this ID and key; a redriven copy where only that is left.",
    errors: NO_MESSAGE,
    example: {
      params: IN_TOPIC,
      query: BY_NAME,
      reply: { ...MESSAGE, body: { order: 1, total: "12.50" } },
    },
  },
  deleteMessage: {
    tag: "Messages",
    description:
      "For all groups, redriven copies included. Deliveries of it end, and its ID may be published again.",
    errors: NO_MESSAGE,
    example: { params: IN_TOPIC, query: BY_NAME },
  },
  purgeMessages: {
    tag: "Messages",
    description:
      "Deletes what was published before the call, for all groups, and forgets the IDs. A million messages at most; " +
      "what is left goes with the next call.",
    errors: NO_TOPIC,
    example: { params: IN_TOPIC, reply: { deleted: 4 } },
  },
  lag: {
    tag: "Progress",
    description:
      "In order of partition keys. `acked` and `latest` are offsets, `lag` is a number of messages.",
    errors: NO_GROUP,
    example: {
      params: IN_GROUP,
      query: { limit: 100 },
      reply: { partitions: [{ partitionKey: KEY, acked: OFFSET, latest: 42, lag: 3 }], next: null },
    },
  },
  resetOffset: {
    tag: "Progress",
    description:
      "Later deliveries of the partition start behind the offset, whatever was settled before; 0 is the beginning, and " +
      "an offset beyond the end is the end. Deliveries under way in the partition end.",
    errors: { ...NO_GROUP, 409: "Others are resetting the group as well: try again" },
    example: {
      params: IN_GROUP,
      body: { partitionKey: KEY, offset: 0 },
      reply: { partitionKey: KEY, acked: 0 },
    },
  },
  leases: {
    tag: "Progress",
    description: "In order of partition keys, 10,000 at most. A lease lives by its subscriber's heartbeats.",
    errors: NO_GROUP,
    example: {
      params: IN_GROUP,
      query: { staleForMs: 10_000 },
      reply: {
        leases: [
          {
            partitionKey: KEY,
            subscriber: "worker-1",
            epoch: PUBLISHED_AT + 250,
            acquiredAt: PUBLISHED_AT + 250,
            renewedAt: PUBLISHED_AT + 5000,
            expiresAt: PUBLISHED_AT + 35_000,
          },
        ],
      },
    },
  },
  releaseLease: {
    tag: "Progress",
    description:
      "Another subscriber may have the partition from now on. Deliveries under way stay as they are.",
    errors: {
      404: "unknown-tenant: there is no such tenant; not-found: there is no such topic or group, or nobody holds the partition",
    },
    example: { params: IN_GROUP, query: { partitionKey: KEY } },
  },
  deadLetters: {
    tag: "Dead letters",
    description: "In the order in which they failed. The topic is the original one.",
    errors: NO_TOPIC,
    example: {
      params: IN_TOPIC,
      query: { limit: 100 },
      reply: {
        deadLetters: [
          {
            id: ID,
            partitionKey: KEY,
            group: "billing",
            reason: "schema 4 is not supported",
            attempts: 1,
            failedAt: PUBLISHED_AT + 900,
            offset: 5,
          },
        ],
        next: null,
      },
    },
  },
  redrive: {
    tag: "Dead letters",
    description:
      "Each goes to the tail of its partition as a first attempt, and to no other group than the one that failed it. " +
      "Those whose group no longer exists stay. At most 1,000 a call; without `ids` and `limit` 100.",
    errors: NO_TOPIC,
    example: { params: IN_TOPIC, body: { ids: [BY_NAME], group: "billing" }, reply: { redriven: 1 } },
  },
  purgeDeadLetters: {
    tag: "Dead letters",
    description: "Deletes the dead letters that all groups have made of this topic's messages.",
    errors: NO_TOPIC,
    example: { params: IN_TOPIC, reply: { deleted: 1 } },
  },
  collect: {
    tag: "Messages",
    description:
      "Deletes what every group has settled and whose retention has passed, and what is too old. It happens by itself " +
      "every few minutes. One bounded pass: `limit` says that there is more to do.",
    example: {
      params: IN_TENANT,
      reply: { deletedMessages: 120, releasedPartitions: 2, stopped: "done" },
    },
  },
} as const satisfies Record<string, ReferenceEntry>;
