import { z } from "zod";
import { MAX_PARTITIONS_SHOWN } from "../core/limits.ts";
import { atLeast, atTime, count, integerText, topicName } from "./fields.ts";

/** What a page about a tenant shows. Snapshots: asking more often than they are taken costs the tenant nothing. */

export const MAX_OVERVIEW_TOPICS = 20;
/** Each message counted is a row read, each time anew: ten times as far would come ten times as seldom. */
export const MAX_OVERVIEW_COUNT = 1000;
/** Nothing older is shown. It comes so late only where many large topics are looked at. */
export const MAX_OVERVIEW_AGE_MS = 30_000;

export const overviewQuery = z.strictObject({
  after: topicName
    .optional()
    .meta({ description: "A topic's name: go on behind it. Absent: from the first" }),
  limit: integerText(1, MAX_OVERVIEW_TOPICS)
    .default(MAX_OVERVIEW_TOPICS)
    .meta({ description: "How many at most", override: { default: MAX_OVERVIEW_TOPICS } }),
});

export const groupOverview = z
  .strictObject({
    group: z.string(),
    paused: z.boolean(),
    backlog: count.meta({ description: "Messages that the group has not settled" }),
    atLeast,
    inFlight: count,
    subscribers: count,
    oldestUnsettledAt: atTime.nullable(),
    expired: count,
    dropped: count,
  })
  .meta({ id: "GroupOverview" });

export const topicOverview = z
  .strictObject({
    topic: z.string(),
    messages: count.meta({ description: `Stored ones. Like all counts here exact to ${MAX_OVERVIEW_COUNT}` }),
    atLeast,
    oldestPublishedAt: atTime.nullable(),
    deadLetters: count,
    deadLettersAtLeast: atLeast,
    takenAt: atTime.meta({
      description: `What happened before it is counted: some seconds ago, ${MAX_OVERVIEW_AGE_MS / 1000} at most`,
    }),
    groups: z.array(groupOverview),
  })
  .meta({ id: "TopicOverview" });

export const overviewReply = z.strictObject({
  topics: z.array(topicOverview).meta({
    description: "In order of their names, dead-letter topics left out. Fewer come where counting takes long",
  }),
  next: z.string().nullable().meta({ description: "Go on with it as `after`; null at the end" }),
});

export const subscribersReply = z.strictObject({
  subscribers: z.array(
    z.strictObject({
      subscriber: z.string(),
      route: z
        .string()
        .optional()
        .meta({ description: "The route that it is attached to; absent: it is the application's" }),
      asking: z.boolean().meta({ description: "A receive is open, or ended a moment ago" }),
      lanes: count.meta({ description: "Partitions it holds" }),
      busyLanes: count.meta({ description: "Of them, those with work now" }),
      inFlight: count,
      oldestDeliveryAt: atTime.nullable().meta({
        description:
          "Since when the oldest of those in flight is out, however often it was extended; null: none is, or it is not known",
      }),
      partitions: z.array(z.string()).meta({ description: `At most ${MAX_PARTITIONS_SHOWN} of them` }),
      lastSeenAt: atTime,
      expiresAt: atTime,
    }),
  ),
  share: count.meta({ description: "Busy lanes that each may hold while another has fewer" }),
  busyLanes: count.meta({
    description: "Lanes of the group with a message that may be delivered or is in flight",
  }),
  freeLanes: count.meta({ description: "Of them, those that nobody holds" }),
});
