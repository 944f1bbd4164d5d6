import type { DeadLetterInfo } from "./message.ts";
import type { TopicSettings } from "./settings.ts";

/**
 * What the calls of `fairlane.admin` answer. Times are milliseconds since the epoch, by the server's clock. Numbers of
 * messages are exact to 10,000, those of the overview to 1,000; with `atLeast` beside them they are a lower bound.
 */

export interface GroupSummary {
  group: string;
  /** Messages that the group has not settled. */
  backlog: number;
  atLeast?: true | undefined;
  inFlight: number;
  /** Live ones. */
  subscribers: number;
  oldestUnsettledAt: number | null;
  /** Messages that grew too old before they were settled. */
  expired: number;
  /** Messages out of attempts, where the group has dead letters off. */
  dropped: number;
}

export interface Topic extends TopicSettings {
  topic: string;
  /** Stored ones. */
  messages: number;
  atLeast?: true | undefined;
  partitions: number;
  oldestPublishedAt: number | null;
  groups: GroupSummary[];
}

export interface TopicList {
  topics: string[];
}

export interface StoredMessage {
  id: string;
  topic: string;
  partitionKey: string;
  offset: number;
  publishedAt: number;
  dueAt: number;
  bodyBytes: number;
  contentType: string;
  headers: Record<string, string>;
  /** Of a redriven message: the only group that receives it. */
  targetGroup?: string | undefined;
  deadLetter?: DeadLetterInfo | undefined;
}

export interface StoredMessageWithBody extends StoredMessage {
  /** Where JSON was published. */
  body?: unknown;
  /**
   * Where JSON was published: its source text, as `Message.bodyText`. Not enumerable: copies and `JSON.stringify` leave
   * it out.
   */
  readonly bodyText?: string | undefined;
  /** In place of `body`, where bytes were published. */
  bodyBase64?: string | undefined;
}

export interface MessagePage {
  messages: StoredMessage[];
  /** For `after`; null at the end. */
  next: number | null;
}

export interface Deleted {
  deleted: number;
}

export interface PartitionLag {
  partitionKey: string;
  /** The watermark, an offset. */
  acked: number;
  /** An offset. */
  latest: number;
  /** Messages that the group has not settled. */
  lag: number;
  atLeast?: true | undefined;
}

export interface LagPage {
  partitions: PartitionLag[];
  /** For `after`; null at the end. */
  next: string | null;
}

export interface OffsetReset {
  partitionKey: string;
  acked: number;
}

export interface Lease {
  partitionKey: string;
  subscriber: string;
  epoch: number;
  acquiredAt: number;
  renewedAt: number;
  expiresAt: number;
}

export interface LeaseList {
  leases: Lease[];
}

export interface DeadLetter {
  id: string;
  partitionKey: string;
  /** The group that failed it. */
  group: string;
  reason: string;
  attempts: number;
  failedAt: number;
  /** In the dead-letter topic. */
  offset: number;
}

export interface DeadLetterPage {
  deadLetters: DeadLetter[];
  /** For `after`; null at the end. */
  next: number | null;
}

export interface RedriveRequest {
  /** At most 100; absent: all. */
  ids?: { id: string; partitionKey: string }[] | undefined;
  /** Only what this group failed. */
  group?: string | undefined;
  /** At most so many. */
  limit?: number | undefined;
}

export interface Redriven {
  redriven: number;
}

export interface Collected {
  deletedMessages: number;
  releasedPartitions: number;
  /** `limit`: there is more to do. */
  stopped: "done" | "limit";
}

export interface Health {
  status: "ok";
  version: string;
}

export interface GroupOverview extends GroupSummary {
  paused: boolean;
}

export interface TopicOverview {
  topic: string;
  /** Stored ones. */
  messages: number;
  atLeast?: true | undefined;
  oldestPublishedAt: number | null;
  deadLetters: number;
  deadLettersAtLeast?: true | undefined;
  /** When the topic was counted: some seconds ago at most. */
  takenAt: number;
  groups: GroupOverview[];
}

export interface Overview {
  /** In order of their names, dead-letter topics left out. */
  topics: TopicOverview[];
  /** For `after`; null at the end. */
  next: string | null;
}

export interface Subscriber {
  subscriber: string;
  /** The route that it is attached to; absent: it is the application's. */
  route?: string | undefined;
  /** A receive is open, or ended a moment ago. */
  asking: boolean;
  /** Partitions it holds. */
  lanes: number;
  /** Of them, those with work now. */
  busyLanes: number;
  inFlight: number;
  /** Since when the oldest of those in flight is out, however often it was extended; null: none is, or not known. */
  oldestDeliveryAt: number | null;
  /** At most 100 of them. */
  partitions: string[];
  lastSeenAt: number;
  expiresAt: number;
}

export interface SubscriberList {
  subscribers: Subscriber[];
  /** Busy lanes that each may hold while another has fewer. */
  share: number;
  /** Lanes of the group with a message that may be delivered or is in flight. */
  busyLanes: number;
  /** Of them, those that nobody holds. */
  freeLanes: number;
}
