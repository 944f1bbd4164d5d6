import {
  IN_GROUP,
  IN_TENANT,
  IN_TOPIC,
  NO_GROUP,
  NO_TOPIC,
  PUBLISHED_AT,
  type ReferenceEntry,
} from "./entry.ts";

const GROUP = {
  visibilityTimeoutMs: 30_000,
  leaseDurationMs: 30_000,
  maxInFlightPerPartition: 1,
  maxAttempts: 5,
  deadLetters: true,
  startFrom: "earliest",
  paused: false,
  retry: { initialBackoffMs: 1000, multiplier: 2, maxBackoffMs: 30_000 },
  createdBy: "admin",
};
const TOPIC = { retentionMs: 3_600_000, maxRetentionMs: 604_800_000 };
const SUMMARY = {
  group: "billing",
  backlog: 3,
  inFlight: 1,
  subscribers: 2,
  oldestUnsettledAt: PUBLISHED_AT,
  expired: 0,
  dropped: 0,
};

export const topicsAndGroups = {
  putTopic: {
    tag: "Topics and groups",
    description:
      "Makes the topic, or changes the settings that are given. What the given and the kept settings make together " +
      "must hold: `maxRetentionMs` is never below `retentionMs`.",
    errors: { 429: "Too many requests, or as many topics as a tenant may have" },
    example: { params: IN_TOPIC, body: { retentionMs: 3_600_000 }, reply: TOPIC },
  },
  getTopic: {
    tag: "Topics and groups",
    description:
      "Settings, what is stored, and how far each group is. Numbers of messages are exact to 10,000; beyond, " +
      "`atLeast: true` stands beside them.",
    errors: NO_TOPIC,
    example: {
      params: IN_TOPIC,
      reply: {
        topic: "orders",
        messages: 4,
        partitions: 2,
        oldestPublishedAt: PUBLISHED_AT,
        ...TOPIC,
        groups: [SUMMARY],
      },
    },
  },
  listTopics: {
    tag: "Topics and groups",
    description: "All of them, in order of their names.",
    example: { params: IN_TENANT, reply: { topics: ["orders", "orders_dlq"] } },
  },
  putGroup: {
    tag: "Topics and groups",
    description:
      "Makes the group, and the topic with it where there is none, or changes the settings that are given. With " +
      "`maxInFlightPerPartition: 1` each partition is strictly serial. `paused` stops deliveries and keeps the rest.",
    errors: { 429: "Too many requests, topics or groups" },
    example: { params: IN_GROUP, body: { maxInFlightPerPartition: 1, maxAttempts: 5 }, reply: GROUP },
  },
  getGroup: {
    tag: "Topics and groups",
    description: "The whole settings, and who made the group.",
    errors: NO_GROUP,
    example: { params: IN_GROUP, reply: GROUP },
  },
  deleteGroup: {
    tag: "Topics and groups",
    description:
      "The group's progress and deliveries are forgotten, and it no longer holds messages back from collection. For a " +
      "minute a receive does not make it anew.",
    errors: { ...NO_GROUP, 409: "The group has live subscribers, and `force` is not true" },
    example: { params: IN_GROUP, query: { force: true } },
  },
  overview: {
    tag: "Topics and groups",
    description:
      "For pages that are looked at all day: a snapshot that is taken every few seconds at most, whoever asks. " +
      "Dead-letter topics are counted beside the topics that they belong to.",
    example: {
      params: IN_TENANT,
      query: { limit: 20 },
      reply: {
        topics: [
          {
            topic: "orders",
            messages: 4,
            oldestPublishedAt: PUBLISHED_AT,
            deadLetters: 0,
            takenAt: PUBLISHED_AT + 5000,
            groups: [{ ...SUMMARY, paused: false }],
          },
        ],
        next: null,
      },
    },
  },
} as const satisfies Record<string, ReferenceEntry>;
