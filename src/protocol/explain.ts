import { z } from "zod";
import { atTime, count, deadLetter, integerText, messageId, namedKey, offset, offsetText } from "./fields.ts";

/** Why one message is, or is not, being delivered to one group. */

const DEFAULT_WAITING_LANES = 20;
const MAX_WAITING_LANES = 100;

export const explainQuery = z
  .strictObject({
    partitionKey: namedKey,
    id: messageId
      .optional()
      .meta({ description: "A message ID. Exactly one of id and offset must be there" }),
    offset: offsetText.optional().meta({ description: "In place of id: the message's place in the log" }),
  })
  .superRefine(({ id, offset }, context) => {
    if ((id === undefined) !== (offset === undefined)) return;
    context.addIssue({ code: "custom", path: ["id"], message: "give exactly one of id and offset" });
  });

/** States of a message for a group. In the first eight it is unsettled, in the others nothing more comes of it. */
export const MESSAGE_STATES = [
  "deliverable",
  "waiting",
  "in-flight",
  "backing-off",
  "postponed",
  "delayed",
  "being-dead-lettered",
  "expired",
  "settled",
  "dead-lettered",
  "other-group",
  "not-found",
] as const;

const messageState = z.enum(MESSAGE_STATES).meta({
  description:
    "`deliverable`: the next receive of the lane's owner gets it, or of anyone where it has none or must hand it on by fair share, as the summary then says. `waiting`: the blockers say for what",
});
const attempt = z.int().min(0);
const deliveredAt = atTime.optional().meta({
  description:
    "Since when the delivery under way is out, however often it was extended; absent: there is none, or it is not known",
});
const route = z
  .string()
  .optional()
  .meta({ description: "The route whose subscribers get the message; absent: the application's do" });
const lease = z.strictObject({ subscriber: z.string(), epoch: count, expiresAt: atTime });

/** What stands between the message and its delivery. */
export const blocker = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("group-paused") }),
    z
      .strictObject({ kind: z.literal("log-unavailable"), until: atTime })
      .meta({ description: "The log cannot be read; it is tried again then" }),
    z
      .strictObject({ kind: z.literal("no-subscriber"), route })
      .meta({ description: "The group has no live one, or that route has none" }),
    z
      .strictObject({ kind: z.literal("nobody-asking"), subscribers: count })
      .meta({ description: "Subscribers are live, and none of them has a receive open" }),
    z.strictObject({ kind: z.literal("lease"), ...lease.shape }).meta({
      description:
        "The lane's owner does not ask, and fair share leaves it the lane; when its heartbeats end, the lane is free",
    }),
    z
      .strictObject({ kind: z.literal("share"), subscriber: z.string().nullable(), until: atTime.nullable() })
      .meta({
        description:
          "By fair share the lane's owner must give it up first, at the latest then (null: once its deliveries under way settle); subscriber null: no asker may take one more lane",
      }),
    z
      .strictObject({
        kind: z.literal("message"),
        offset,
        id: z.string().optional().meta({ description: "Absent: the log does not have it, or was not asked" }),
        state: messageState,
        attempt: attempt.optional(),
        until: atTime.nullable(),
        subscriber: z.string().optional(),
        deliveredAt,
        reason: z.string().optional(),
      })
      .meta({ description: "A message before it in the lane, at which the walk stops" }),
    z
      .strictObject({
        kind: z.literal("in-flight-limit"),
        inFlight: count,
        limit: count,
        until: atTime.nullable().meta({ description: "When the first of those under way comes again" }),
      })
      .meta({
        description:
          "The lane has as many deliveries under way as it may, or will once the messages before it that can be delivered now are (the summary says how many)",
      }),
    z
      .strictObject({ kind: z.literal("failed-limit") })
      .meta({ description: "The lane or group has as many failed messages waiting as it may" }),
    z
      .strictObject({ kind: z.literal("unread") })
      .meta({ description: "Dispatch has not read so far; receives read on" }),
  ])
  .meta({ id: "Blocker" });

export const explanation = z
  .strictObject({
    topic: z.string(),
    group: z.string(),
    partitionKey: z.string(),
    id: z.string().nullable(),
    offset: offset.nullable(),
    publishedAt: atTime.nullable(),
    dueAt: atTime.nullable(),
    state: messageState,
    summary: z.string().meta({ description: "The same in words" }),
    attempt: attempt
      .optional()
      .meta({ description: "Of the delivery under way, or the last one that counts" }),
    maxAttempts: z.int().min(1).nullable().meta({ description: "null: no limit" }),
    until: atTime
      .nullable()
      .meta({ description: "When its own state ends by time: visibility, backoff, delay" }),
    reason: z.string().optional().meta({ description: "Why its last attempt failed" }),
    subscriber: z.string().optional().meta({ description: "Who has the delivery under way" }),
    deliveredAt,
    targetGroup: z.string().optional().meta({ description: "The only group that gets it" }),
    route,
    deadLetter: deadLetter.optional(),
    blockers: z.array(blocker).meta({
      description:
        "All that must pass before it is delivered, the message's own state apart. Beside an own state only those of the group, and messages before it",
    }),
    lease: lease
      .nullable()
      .meta({ description: "Who holds the partition; null: nobody, or nothing more comes of the message" }),
    nextChangeAt: atTime.nullable().meta({
      description:
        "The next moment at which time alone changes what becomes of the message: its state, its own until, attempt or subscriber, or which kinds of blockers hold, `no-subscriber` and `nobody-asking` apart. Who asks is taken to go on asking, and fair share to stay as it is. null: only an event changes it",
    }),
    nextState: messageState
      .nullable()
      .meta({ description: "What it is in from then on; null: as nextChangeAt" }),
    at: atTime.meta({ description: "When this was so" }),
  })
  .meta({ id: "Explanation" });

export const waitingLanesQuery = z.strictObject({
  limit: integerText(1, MAX_WAITING_LANES)
    .default(DEFAULT_WAITING_LANES)
    .meta({ description: "How many at most", override: { default: DEFAULT_WAITING_LANES } }),
});

export const waitingLanesReply = z.strictObject({
  lanes: z
    .array(
      z.strictObject({
        partitionKey: z.string(),
        unsettled: count.meta({ description: "As far as they were read" }),
        explanation,
      }),
    )
    .meta({
      description:
        "Lanes that hold something and of which nothing can be delivered now, each with its first message that is not under way: `id` is null, and `offset` too where it was not read yet. A lane whose messages are all under way does not wait, unless the oldest delivery is out for longer than the group's visibilityTimeoutMs, extended or received so: that one is explained. Of the lanes in memory the first 5000 are looked at",
    }),
  more: z.boolean().meta({ description: "There are more such lanes, or lanes that were not looked at" }),
});
