import { z } from "zod";
import { MAX_DELAY_MS } from "../core/limits.ts";
import { deadLettersQuery, deadLettersReply, redriveReply, redriveRequest } from "./dead-letters.ts";
import { explainQuery, explanation, waitingLanesQuery, waitingLanesReply } from "./explain.ts";
import {
  groupName,
  messageId,
  originalTopicName,
  publishedKey,
  routeName,
  subscriberName,
  tenantName,
  topicName,
} from "./fields.ts";
import { deleteGroupQuery, groupReply, heartbeatReply, putGroupRequest } from "./groups.ts";
import {
  deletedReply,
  getMessageQuery,
  listMessagesQuery,
  messageQuery,
  messageReply,
  messagesReply,
} from "./messages.ts";
import { type Operation, operation } from "./operation.ts";
import { GROUP, noBody, noContent, noQuery, read, TENANT, TOPIC } from "./operation-parts.ts";
import { overviewQuery, overviewReply, subscribersReply } from "./overview.ts";
import {
  collectReply,
  healthReply,
  lagQuery,
  lagReply,
  leaseQuery,
  leasesQuery,
  leasesReply,
  resetOffsetReply,
  resetOffsetRequest,
} from "./progress.ts";
import { publishReply, publishRequest } from "./publish.ts";
import { receiveReply, receiveRequest } from "./receive.ts";
import { routeOperations } from "./route-operations.ts";
import { settleReply, settleRequest } from "./settle.ts";
import { workloadName } from "./split-manager.ts";
import { splitOperations } from "./split-operations.ts";
import { putTopicRequest, topicReply, topicSettingsReply, topicsReply } from "./topics.ts";

const SUBSCRIBER = `${GROUP}/subscribers/{subscriber}` as const;

/** Of calls that dead-letter topics do not take. */
const originalTopic = { topic: originalTopicName };
const percentEncoded = { type: "string", minLength: 1, pattern: "^(%[0-9A-Fa-f]{2}|[\\t -$&-~])+$" };

export const pathParams: Record<string, z.ZodType> = {
  tenant: tenantName,
  topic: topicName,
  group: groupName,
  subscriber: subscriberName,
  route: routeName,
  workload: workloadName,
};

export const operations = {
  publish: operation({
    method: "POST",
    path: `${TOPIC}/messages`,
    scopes: ["publish"],
    summary: "Publish a batch",
    params: originalTopic,
    query: noQuery,
    body: { kind: "publish", schema: publishRequest },
    replies: { 200: { description: "Committed", schema: publishReply } },
  }),
  publishRaw: operation({
    method: "POST",
    path: `${TOPIC}/raw`,
    scopes: ["publish"],
    summary: "Publish the request body as one message, byte for byte",
    params: originalTopic,
    query: noQuery,
    headers: [
      {
        name: "x-fairlane-id",
        description: "The message ID, percent-encoded UTF-8: a literal % is %25. Absent: a UUIDv7 is made",
        schema: percentEncoded,
        decoded: messageId,
      },
      {
        name: "x-fairlane-partition-key",
        description: "Percent-encoded UTF-8: a literal % is %25. Absent: a spread lane, chosen from the ID",
        schema: percentEncoded,
        decoded: publishedKey,
      },
      {
        name: "x-fairlane-delay-ms",
        description: "Milliseconds until the message is due",
        schema: { type: "integer", minimum: 0, maximum: MAX_DELAY_MS },
      },
    ],
    prefixedHeaders: {
      prefix: "x-fairlane-header-",
      description:
        "A header of the message, under the name behind the prefix; its value is kept as it stands",
      schema: { type: "string", pattern: "^[\\t -~]*$" },
    },
    body: { kind: "bytes" },
    replies: { 200: { description: "Committed", schema: publishReply } },
  }),
  receive: operation({
    method: "POST",
    path: `${GROUP}/receive`,
    scopes: ["consume"],
    summary: "Receive messages, waiting for them if wanted",
    query: noQuery,
    body: { kind: "json", schema: receiveRequest },
    replies: { 200: { description: "What is due, possibly nothing", schema: receiveReply } },
  }),
  settle: operation({
    method: "POST",
    path: `${GROUP}/settle`,
    scopes: ["consume"],
    summary: "Settle deliveries",
    query: noQuery,
    body: { kind: "json", schema: settleRequest },
    replies: { 200: { description: "In request order", schema: settleReply } },
  }),
  heartbeat: operation({
    method: "POST",
    path: `${SUBSCRIBER}/heartbeat`,
    scopes: ["consume"],
    summary: "Keep a subscriber alive",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "What it holds, and until when", schema: heartbeatReply } },
  }),
  leave: operation({
    method: "DELETE",
    path: SUBSCRIBER,
    scopes: ["consume"],
    summary: "Leave the group",
    query: noQuery,
    body: noBody,
    replies: noContent,
  }),
  putGroup: operation({
    method: "PUT",
    path: GROUP,
    scopes: ["admin"],
    summary: "Make or change a consumer group",
    query: noQuery,
    body: { kind: "json", schema: putGroupRequest },
    replies: { 200: { description: "The whole settings", schema: groupReply } },
  }),
  getGroup: operation({
    method: "GET",
    path: GROUP,
    scopes: read,
    summary: "A consumer group's settings",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "The whole settings", schema: groupReply } },
  }),
  deleteGroup: operation({
    method: "DELETE",
    path: GROUP,
    scopes: ["admin"],
    summary: "Forget a consumer group",
    query: deleteGroupQuery,
    body: noBody,
    replies: noContent,
  }),
  putTopic: operation({
    method: "PUT",
    path: TOPIC,
    scopes: ["admin"],
    summary: "Make or change a topic",
    query: noQuery,
    body: { kind: "json", schema: putTopicRequest },
    replies: { 200: { description: "The whole settings", schema: topicSettingsReply } },
  }),
  getTopic: operation({
    method: "GET",
    path: TOPIC,
    scopes: read,
    summary: "A topic and its groups",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "Numbers of messages are exact to 10,000", schema: topicReply } },
  }),
  listTopics: operation({
    method: "GET",
    path: `${TENANT}/topics`,
    scopes: read,
    summary: "The tenant's topics",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "Names", schema: topicsReply } },
  }),
  listMessages: operation({
    method: "GET",
    path: `${TOPIC}/messages`,
    scopes: ["admin"],
    summary: "List messages, without bodies",
    query: listMessagesQuery,
    body: noBody,
    replies: { 200: { description: "A page in offset order", schema: messagesReply } },
  }),
  getMessage: operation({
    method: "GET",
    path: `${TOPIC}/message`,
    scopes: ["admin"],
    summary: "One message with its body",
    query: getMessageQuery,
    body: noBody,
    replies: { 200: { description: "The message", schema: messageReply } },
  }),
  deleteMessage: operation({
    method: "DELETE",
    path: `${TOPIC}/message`,
    scopes: ["admin"],
    summary: "Delete one message; its ID is forgotten",
    query: messageQuery,
    body: noBody,
    replies: noContent,
  }),
  purgeMessages: operation({
    method: "DELETE",
    path: `${TOPIC}/messages`,
    scopes: ["admin"],
    summary: "Delete what was published before the call",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "How many", schema: deletedReply } },
  }),
  lag: operation({
    method: "GET",
    path: `${GROUP}/lag`,
    scopes: ["admin"],
    summary: "How far the group is in each partition",
    query: lagQuery,
    body: noBody,
    replies: { 200: { description: "A page in order of partition keys", schema: lagReply } },
  }),
  resetOffset: operation({
    method: "PUT",
    path: `${GROUP}/offset`,
    scopes: ["admin"],
    summary: "Set where the group goes on in a partition",
    query: noQuery,
    body: { kind: "json", schema: resetOffsetRequest },
    replies: { 200: { description: "The new watermark", schema: resetOffsetReply } },
  }),
  leases: operation({
    method: "GET",
    path: `${GROUP}/leases`,
    scopes: ["admin"],
    summary: "Who holds which partition",
    query: leasesQuery,
    body: noBody,
    replies: { 200: { description: "Leases", schema: leasesReply } },
  }),
  releaseLease: operation({
    method: "DELETE",
    path: `${GROUP}/lease`,
    scopes: ["admin"],
    summary: "Free a partition",
    query: leaseQuery,
    body: noBody,
    replies: noContent,
  }),
  explain: operation({
    method: "GET",
    path: `${GROUP}/explain`,
    scopes: read,
    summary: "Why one message is, or is not, being delivered",
    query: explainQuery,
    body: noBody,
    replies: { 200: { description: "Its state, and what it waits for", schema: explanation } },
  }),
  waitingLanes: operation({
    method: "GET",
    path: `${GROUP}/waiting`,
    scopes: read,
    summary: "Lanes that wait, and why",
    query: waitingLanesQuery,
    body: noBody,
    replies: { 200: { description: "The first of them, explained", schema: waitingLanesReply } },
  }),
  ...routeOperations,
  subscribers: operation({
    method: "GET",
    path: `${GROUP}/subscribers`,
    scopes: read,
    summary: "Live subscribers with their lanes and shares",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "In order of their names", schema: subscribersReply } },
  }),
  overview: operation({
    method: "GET",
    path: `${TENANT}/overview`,
    scopes: read,
    summary: "Topics and groups at a glance",
    query: overviewQuery,
    body: noBody,
    replies: { 200: { description: "A page in order of topic names", schema: overviewReply } },
  }),
  deadLetters: operation({
    method: "GET",
    path: `${TOPIC}/dead-letters`,
    scopes: ["admin"],
    summary: "List a topic's dead letters",
    params: originalTopic,
    query: deadLettersQuery,
    body: noBody,
    replies: { 200: { description: "A page in offset order", schema: deadLettersReply } },
  }),
  redrive: operation({
    method: "POST",
    path: `${TOPIC}/dead-letters/redrive`,
    scopes: ["admin"],
    summary: "Put dead letters back for the group that failed them",
    params: originalTopic,
    query: noQuery,
    body: { kind: "json", schema: redriveRequest, optional: true },
    replies: { 200: { description: "How many", schema: redriveReply } },
  }),
  purgeDeadLetters: operation({
    method: "DELETE",
    path: `${TOPIC}/dead-letters`,
    scopes: ["admin"],
    summary: "Delete a topic's dead letters",
    params: originalTopic,
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "How many", schema: deletedReply } },
  }),
  collect: operation({
    method: "POST",
    path: `${TENANT}/gc`,
    scopes: ["admin"],
    summary: "One collection pass for this tenant",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "What the pass did", schema: collectReply } },
  }),
  ...splitOperations,
  health: operation({
    method: "GET",
    path: "/healthz",
    scopes: [],
    summary: "Whether the Worker runs",
    query: noQuery,
    body: noBody,
    replies: { 200: { description: "It does", schema: healthReply } },
  }),
  openapi: operation({
    method: "GET",
    path: "/openapi.json",
    scopes: [],
    summary: "This document",
    query: noQuery,
    body: noBody,
    replies: {
      200: { description: "OpenAPI 3.1", schema: z.looseObject({ openapi: z.string() }) },
    },
  }),
};

export type OperationId = keyof typeof operations;

export function operationList(): [OperationId, Operation][] {
  return Object.entries(operations) as [OperationId, Operation][];
}
