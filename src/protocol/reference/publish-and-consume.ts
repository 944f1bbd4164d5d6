import { MAX_BODY_BYTES, MAX_CONTENT_TYPE_CHARS } from "../../core/limits.ts";
import { DEFAULT_CONTENT_TYPE } from "../publish-body.ts";
import {
  AS_SUBSCRIBER,
  ID,
  IN_GROUP,
  IN_TOPIC,
  KEY,
  NO_GROUP,
  OFFSET,
  PUBLISHED_AT,
  type ReferenceEntry,
} from "./entry.ts";

const RECEIPT = "1.1k2x9fd.1.h.9f86d081884c7d65.b3JkZXItMQ";
const TOO_MANY_TOPICS = "the tenant has as many topics as it may, or its storage is full";
const BODY = { order: 1, total: "12.50" };

export const publishAndConsume = {
  publish: {
    tag: "Publish",
    description:
      "A success means that the whole batch is committed; after any error nothing of it is stored, and after a lost " +
      "reply publishing the same IDs again is safe: a message whose ID is known in its partition is not stored twice " +
      "and comes back as `duplicate`. A topic that does not exist yet is made.\n\n" +
      "Messages of one partition key are delivered in the order of their publishes. Without a key a message goes to " +
      "one of a few spread lanes, and no order is promised between those. A field that stands twice in one object is " +
      "refused.",
    errors: {
      413: "A body, all bodies together, or the request has too many bytes",
      429: `Too many requests, or ${TOO_MANY_TOPICS}`,
    },
    example: {
      params: IN_TOPIC,
      body: {
        messages: [
          { id: ID, partitionKey: KEY, body: BODY, headers: { "x-source": "shop" } },
          { id: "order-1/label", partitionKey: KEY, bodyBase64: "JVBERi0=", contentType: "application/pdf" },
        ],
      },
      reply: {
        messages: [
          { id: ID, partitionKey: KEY, duplicate: false },
          { id: "order-1/label", partitionKey: KEY, duplicate: false },
        ],
      },
    },
  },
  publishRaw: {
    tag: "Publish",
    description:
      `The body, at most ${MAX_BODY_BYTES} bytes, is kept byte for byte, and its \`content-type\` with it: printable ` +
      `ASCII of at most ${MAX_CONTENT_TYPE_CHARS} characters, \`${DEFAULT_CONTENT_TYPE}\` where there is none. ` +
      "Of the request's other headers only those that begin with " +
      "`x-fairlane-header-` are kept; the limits of a message's headers hold for them. An `x-fairlane-` header that " +
      "is not known is refused. In all else it is a publish of one message.",
    errors: { 413: "The body has too many bytes", 429: `Too many requests, or ${TOO_MANY_TOPICS}` },
    example: {
      params: IN_TOPIC,
      headers: { "x-fairlane-id": ID, "x-fairlane-partition-key": KEY, "x-fairlane-delay-ms": 0 },
      body: "%PDF-1.7 …",
      reply: { messages: [{ id: ID, partitionKey: KEY, duplicate: false }] },
    },
  },
  receive: {
    tag: "Consume",
    description:
      "Hands out messages that are due, in order within each partition, to one subscriber at a time. With `waitMs` the " +
      "call waits for the first of them. Each delivery must be settled before its `visibleUntil`, or the message comes " +
      "again. The call counts as a heartbeat. A topic or group that does not exist yet is made with the defaults. " +
      "With `route` it hands out the messages of that route, and none else; without, those of no route. The reply holds at most 8 MiB, so fewer messages than asked for may come.",
    errors: {
      404: "unknown-tenant: there is no such tenant; not-found: the group was deleted less than a minute ago, or there is no such route",
      429: "Too many requests, subscribers, waiting receives, topics or groups",
    },
    example: {
      params: IN_GROUP,
      body: { subscriber: "worker-1", maxMessages: 10, waitMs: 20_000, visibilityTimeoutMs: 60_000 },
      reply: {
        deliveries: [
          {
            receipt: RECEIPT,
            id: ID,
            topic: "orders",
            partitionKey: KEY,
            offset: OFFSET,
            attempt: 1,
            body: BODY,
            contentType: "application/json",
            headers: { "x-source": "shop" },
            publishedAt: PUBLISHED_AT,
            visibleUntil: PUBLISHED_AT + 60_250,
            leaseEpoch: PUBLISHED_AT + 250,
          },
        ],
        partitions: [KEY],
        partitionsHeld: 1,
      },
    },
  },
  settle: {
    tag: "Consume",
    description:
      "`ack`: done. `nack`: failed, again after the delay or else the group's backoff, until the attempts are spent. " +
      "`postpone`: fine but must wait, and so does what is behind it in its partition; no failed attempt. `reject`: " +
      "never again, a dead letter at once. `extend`: still working, for so long from now.\n\n" +
      "Each settlement has a result of its own: `ok`; `stale`, where the delivery was ended by something else; " +
      "`settled`, where the group is done with the message already; `invalid`, where the receipt is none of this " +
      "tenant, topic and group: of a group that does not exist, all are. One item's fate does not touch another's.",
    errors: { 404: "unknown-tenant: there is no such tenant" },
    example: {
      params: IN_GROUP,
      body: {
        subscriber: "worker-1",
        settlements: [
          { receipt: RECEIPT, action: "ack" },
          { receipt: "1.0.1.i.9f86d081884c7d65.b3JkZXItMQ", action: "nack", reason: "billing timed out" },
        ],
      },
      reply: {
        results: [
          { receipt: RECEIPT, status: "ok" },
          { receipt: "1.0.1.i.9f86d081884c7d65.b3JkZXItMQ", status: "invalid" },
        ],
      },
    },
  },
  heartbeat: {
    tag: "Consume",
    description:
      "For a subscriber that works longer than the group's `leaseDurationMs` without any other call: a receive, and a " +
      "settle that names it, count as well.",
    errors: { ...NO_GROUP, 429: "Too many requests, or as many subscribers as a group may have" },
    example: { params: AS_SUBSCRIBER, reply: { partitions: [KEY], expiresAt: PUBLISHED_AT + 30_000 } },
  },
  leave: {
    tag: "Consume",
    description:
      "Its partitions are free at once. Its unsettled deliveries end: their receipts become `stale`, and the messages " +
      "come again with the same attempt number. Leaving twice, or without ever having been there, is fine.",
    errors: NO_GROUP,
    example: { params: AS_SUBSCRIBER },
  },
} as const satisfies Record<string, ReferenceEntry>;
