import type { DeadLetterInfo } from "./message.ts";

/** The calls below `consume`, as the API has them. Times are milliseconds since the epoch, by the server's clock. */

export interface ReceiveRequest {
  /** Who asks: one member of the group. Lower-case, `[a-z0-9][a-z0-9._-]*`, at most 128 characters. */
  subscriber: string;
  /** 1 to 100; 10 if absent. */
  maxMessages?: number | undefined;
  /** How long to wait for a message, 0 to 20000 milliseconds; 0 if absent. */
  waitMs?: number | undefined;
  /** How long a delivery is this subscriber's, 1000 to 43200000 milliseconds; the group's if absent. */
  visibilityTimeoutMs?: number | undefined;
  /** Attaches the subscriber to this route of the group: it gets the messages of the route, and no others. */
  route?: string | undefined;
}

/** One handing-over of a message. */
export interface Delivery {
  /** Settles it. */
  receipt: string;
  id: string;
  topic: string;
  partitionKey: string;
  /** The message's place in the topic. Grows, with gaps. */
  offset: number;
  /** Counts deliveries from 1. */
  attempt: number;
  /** Where JSON was published. */
  body?: unknown;
  /**
   * Where JSON was published: its source text, as `Message.bodyText`. Not enumerable: copies and `JSON.stringify` leave
   * it out.
   */
  readonly bodyText?: string | undefined;
  /** In place of `body`, where bytes were published. */
  bodyBase64?: string | undefined;
  contentType: string;
  headers: Record<string, string>;
  publishedAt: number;
  visibleUntil: number;
  leaseEpoch: number;
  /** Of a delivery from a dead-letter topic. */
  deadLetter?: DeadLetterInfo | undefined;
}

export interface ReceiveReply {
  deliveries: Delivery[];
  /** What the subscriber holds now; at most 100 of it. */
  partitions: string[];
  partitionsHeld: number;
}

export type Settlement =
  | { receipt: string; action: "ack" }
  | { receipt: string; action: "nack"; reason?: string | undefined; delayMs?: number | undefined }
  | { receipt: string; action: "postpone"; delayMs: number }
  | { receipt: string; action: "reject"; reason?: string | undefined }
  | { receipt: string; action: "extend"; visibilityTimeoutMs: number };

export interface SettleRequest {
  /** Whose heartbeat this is; absent: nobody's. */
  subscriber?: string | undefined;
  /** 1 to 100. */
  settlements: Settlement[];
}

export interface SettleResult {
  receipt: string;
  /**
   * `ok`; `stale`: not the current delivery any more; `settled`: the message is settled for the group already;
   * `invalid`: not a receipt of this tenant, topic and group.
   */
  status: "ok" | "stale" | "settled" | "invalid";
  /** It spent the last attempt, or was rejected: a dead letter follows. */
  deadLettered?: true | undefined;
}

export interface SettleReply {
  /** In the order of the request. */
  results: SettleResult[];
}

export interface HeartbeatReply {
  partitions: string[];
  /** Without another call of the subscriber it counts as gone then. */
  expiresAt: number;
}
