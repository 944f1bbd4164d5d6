import type { z } from "zod";
import type { Failure } from "../core/failure.ts";
import type { GroupSettings, TopicSettings } from "../core/settings.ts";
import type { AppendOutcome, DeadLetterInfo, NewMessage } from "../log/message-log.ts";
import type { Filter } from "../splitting/filter/filter.ts";
import type { explanation, waitingLanesReply } from "./explain.ts";
import type { overviewReply, subscribersReply } from "./overview.ts";
import type { routeReply, routesReply } from "./routes.ts";

/**
 * What Workers ask of a tenant object. Every call answers a value, never throws: error classes do not
 * survive the way between objects. Inputs were validated at the edge.
 *
 * `tenant` travels with each call: an object learns its name by being told, and refuses another.
 */
export type Outcome<T> = { ok: true; value: T } | { ok: false; error: Failure };

export interface TenantCalls {
  publish(tenant: string, input: PublishInput): Promise<Outcome<AppendOutcome>>;
  /** A hint that a topic grew, where the log is outside the object. Losing it costs latency. */
  notify(tenant: string, input: NotifyInput): Promise<Outcome<null>>;
  take(tenant: string, input: TakeInput): Promise<Outcome<TakeReply>>;
  /** What came of reading the bodies of a take's grants, where the edge reads them. */
  reportReads(tenant: string, input: ReportReadsInput): Promise<Outcome<null>>;
  /** Ends a waiting take, or gives back what it was granted; the reply certainly did not leave the edge. */
  giveBack(tenant: string, input: GiveBackInput): Promise<Outcome<null>>;
  settle(tenant: string, input: SettleInput): Promise<Outcome<SettleResult[]>>;
  heartbeat(
    tenant: string,
    input: SubscriberRef,
  ): Promise<Outcome<{ partitions: string[]; expiresAt: number }>>;
  leave(tenant: string, input: SubscriberRef): Promise<Outcome<null>>;
  putGroup(tenant: string, input: PutGroupInput): Promise<Outcome<GroupView>>;
  getGroup(tenant: string, input: GroupRef): Promise<Outcome<GroupView>>;
  deleteGroup(tenant: string, input: GroupRef & { force: boolean }): Promise<Outcome<null>>;
  putTopic(tenant: string, input: PutTopicInput): Promise<Outcome<TopicSettings>>;
  getTopic(tenant: string, input: TopicRef): Promise<Outcome<TopicView>>;
  listTopics(tenant: string, input: Record<string, never>): Promise<Outcome<{ topics: string[] }>>;
  listMessages(tenant: string, input: ListMessagesInput): Promise<Outcome<Page<"messages", MessageView>>>;
  /** `body` is null where the log is outside the object: the edge reads it. */
  getMessage(
    tenant: string,
    input: MessageRef & { offset?: number | undefined },
  ): Promise<Outcome<MessageView & { body: BodyView["body"] | null }>>;
  deleteMessage(tenant: string, input: MessageRef): Promise<Outcome<null>>;
  purgeMessages(tenant: string, input: TopicRef): Promise<Outcome<{ deleted: number }>>;
  lag(
    tenant: string,
    input: GroupRef & { after: string | null; limit: number },
  ): Promise<Outcome<Page<"partitions", LagView>>>;
  resetOffset(
    tenant: string,
    input: GroupRef & { partitionKey: string; offset: number },
  ): Promise<Outcome<{ partitionKey: string; acked: number }>>;
  leases(
    tenant: string,
    input: GroupRef & { staleForMs: number | null },
  ): Promise<Outcome<{ leases: LeaseView[] }>>;
  releaseLease(tenant: string, input: GroupRef & { partitionKey: string }): Promise<Outcome<null>>;
  putRoute(tenant: string, input: PutRouteInput): Promise<Outcome<RouteView>>;
  getRoute(tenant: string, input: RouteRef): Promise<Outcome<RouteView>>;
  listRoutes(tenant: string, input: GroupRef): Promise<Outcome<RoutesView>>;
  deleteRoute(tenant: string, input: RouteRef): Promise<Outcome<null>>;
  explain(tenant: string, input: ExplainInput): Promise<Outcome<Explanation>>;
  waitingLanes(tenant: string, input: GroupRef & { limit: number }): Promise<Outcome<WaitingLanesReply>>;
  subscribers(tenant: string, input: GroupRef): Promise<Outcome<SubscribersReply>>;
  overview(tenant: string, input: { after: string | null; limit: number }): Promise<Outcome<OverviewReply>>;
  deadLetters(
    tenant: string,
    input: TopicRef & { after: number; limit: number },
  ): Promise<Outcome<Page<"deadLetters", DeadLetterView>>>;
  redrive(tenant: string, input: RedriveInput): Promise<Outcome<{ redriven: number }>>;
  purgeDeadLetters(tenant: string, input: TopicRef): Promise<Outcome<{ deleted: number }>>;
  /** One bounded collection pass. `idle`: the object holds nothing that could be collected later. */
  collect(tenant: string, input: Record<string, never>): Promise<Outcome<CollectReply>>;
}

export interface TopicRef {
  topic: string;
}
export interface GroupRef extends TopicRef {
  group: string;
}
export interface SubscriberRef extends GroupRef {
  subscriber: string;
}
export interface MessageRef extends TopicRef {
  id: string;
  partitionKey: string;
}

export interface PublishInput extends TopicRef {
  messages: NewMessage[];
}

export interface TakeInput extends SubscriberRef {
  maxMessages: number;
  waitMs: number;
  /** null: the group's own. */
  visibilityTimeoutMs: number | null;
  /** Made by the Worker, unique; names this take for `giveBack`. */
  takeId: string;
  /** Attaches the subscriber to this route; absent: to none. */
  route?: string | undefined;
}

export interface RouteRef extends GroupRef {
  route: string;
}

export interface PutRouteInput extends RouteRef {
  filter: Filter;
  ttlMs: number;
}

export type RouteView = z.output<typeof routeReply>;
export type RoutesView = z.output<typeof routesReply>;

export interface NotifyInput extends TopicRef {
  /** Offsets that were stored since the last hint lie between these, both included; null: not known. */
  offsets: { lowest: number; highest: number } | null;
}

export interface TakeReply {
  /** Whole, where the object holds the log. */
  deliveries: DeliveryView[];
  /** Where it does not: the edge reads the messages of these offsets and tells by `reportReads` what it could not read. */
  grants: GrantView[];
  partitions: string[];
  partitionsHeld: number;
}

/** A delivery without what the log knows of the message. */
export interface GrantView {
  receipt: string;
  partitionKey: string;
  offset: number;
  attempt: number;
  visibleUntil: number;
  leaseEpoch: number;
}

export interface ReportReadsInput extends GroupRef {
  /** Receipts of messages that the log no longer has: they are settled as expired. */
  missing: string[];
  /** Receipts of messages that cannot be read while others can: given back, and the tenth time dead letters. */
  unreadable: string[];
  /** Receipts given back because the log could not be reached: dispatch pauses. */
  unreachable: string[];
}

/** Fields as in the API's reply, but `headers` is JSON object text ("" for none) and the body unencoded. */
export interface DeliveryView {
  receipt: string;
  id: string;
  partitionKey: string;
  offset: number;
  attempt: number;
  body: string | Uint8Array;
  /** null: `body` is JSON source text. */
  contentType: string | null;
  headers: string;
  publishedAt: number;
  visibleUntil: number;
  leaseEpoch: number;
  deadLetter: DeadLetterInfo | null;
}

export interface GiveBackInput extends GroupRef {
  takeId: string;
  receipts: string[];
}

export interface SettleInput extends GroupRef {
  subscriber: string | null;
  settlements: Settlement[];
}

export type Settlement =
  | { receipt: string; action: "ack" }
  | { receipt: string; action: "nack"; reason?: string | undefined; delayMs?: number | undefined }
  | { receipt: string; action: "postpone"; delayMs: number }
  | { receipt: string; action: "reject"; reason?: string | undefined }
  | { receipt: string; action: "extend"; visibilityTimeoutMs: number };

export interface SettleResult {
  receipt: string;
  status: "ok" | "stale" | "settled" | "invalid";
  deadLettered?: true;
}

export interface PutGroupInput extends GroupRef {
  /** Absent settings keep their value. */
  settings: Partial<Omit<GroupSettings, "retry">> & { retry?: Partial<GroupSettings["retry"]> };
}

export interface GroupView extends GroupSettings {
  createdBy: "admin" | "receive";
}

export interface PutTopicInput extends TopicRef {
  settings: Partial<TopicSettings>;
}

export interface TopicView {
  topic: string;
  messages: number;
  atLeast?: true;
  partitions: number;
  oldestPublishedAt: number | null;
  retentionMs: number;
  maxRetentionMs: number;
  groups: {
    group: string;
    backlog: number;
    atLeast?: true;
    inFlight: number;
    subscribers: number;
    oldestUnsettledAt: number | null;
    expired: number;
    dropped: number;
  }[];
}

export interface ListMessagesInput extends TopicRef {
  partitionKey: string | null;
  after: number;
  limit: number;
  /** Given: only so many, those at the end; `after` and `limit` say nothing then. */
  last?: number | undefined;
}

/** A page of rows and where to go on; null at the end. */
export type Page<K extends string, T> = { [P in K]: T[] } & { next: string | number | null };

export interface MessageView {
  id: string;
  partitionKey: string;
  offset: number;
  publishedAt: number;
  dueAt: number;
  bodyBytes: number;
  contentType: string | null;
  headers: string;
  targetGroup: string | null;
  deadLetter: DeadLetterInfo | null;
}

export interface BodyView {
  body: string | Uint8Array;
}

export interface LagView {
  partitionKey: string;
  acked: number;
  latest: number;
  lag: number;
  atLeast?: true;
}

export interface LeaseView {
  partitionKey: string;
  subscriber: string;
  epoch: number;
  acquiredAt: number;
  renewedAt: number;
  expiresAt: number;
}

export interface ExplainInput extends GroupRef {
  partitionKey: string;
  /** Exactly one of the two. */
  id: string | null;
  offset: number | null;
}

export type Explanation = z.output<typeof explanation>;
export type WaitingLanesReply = z.output<typeof waitingLanesReply>;
export type OverviewReply = z.output<typeof overviewReply>;
export type SubscribersReply = z.output<typeof subscribersReply>;

export interface DeadLetterView {
  id: string;
  partitionKey: string;
  group: string;
  reason: string;
  attempts: number;
  failedAt: number;
  offset: number;
}

export interface RedriveInput extends TopicRef {
  ids: { id: string; partitionKey: string }[] | null;
  group: string | null;
  limit: number | null;
}

export interface CollectReply {
  deletedMessages: number;
  releasedPartitions: number;
  /** Why the pass ended: everything looked at, or its bound reached and more to do. */
  stopped: "done" | "limit";
  idle: boolean;
  /** Orders this answer against the object's own announcements that it became active. */
  activity: number;
}
