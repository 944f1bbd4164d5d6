/** The pinned JSON of HTTP API version 1, written down here a second time so that a change of the product shows. */

export interface PublishedMessage {
  id: string;
  partitionKey: string;
  duplicate: boolean;
}

export interface NewWireMessage {
  id?: string;
  partitionKey?: string;
  body?: unknown;
  bodyBase64?: string;
  contentType?: string;
  headers?: Record<string, unknown>;
  delayMs?: number;
}

export interface WireDeadLetter {
  originalTopic: string;
  originalId: string;
  group: string;
  failedAt: number;
  attempts: number;
  reason: string;
}

export interface Delivery {
  receipt: string;
  id: string;
  topic: string;
  partitionKey: string;
  offset: number;
  attempt: number;
  body?: unknown;
  bodyBase64?: string;
  contentType: string;
  headers: Record<string, string>;
  publishedAt: number;
  visibleUntil: number;
  leaseEpoch: number;
  deadLetter?: WireDeadLetter;
}

export interface ReceiveReply {
  deliveries: Delivery[];
  partitions: string[];
  partitionsHeld: number;
}

export interface ReceiveRequest {
  subscriber?: string;
  maxMessages?: number;
  waitMs?: number;
  visibilityTimeoutMs?: number;
  route?: string;
}

export type WireSettlement = { receipt: string; action: string } & Record<string, unknown>;

export interface SettleResult {
  receipt: string;
  status: "ok" | "stale" | "settled" | "invalid";
  deadLettered?: boolean;
}

export interface WireGroupSettings {
  visibilityTimeoutMs: number;
  leaseDurationMs: number;
  maxInFlightPerPartition: number;
  maxAttempts: number;
  retry: { initialBackoffMs: number; multiplier: number; maxBackoffMs: number };
  deadLetters: boolean;
  startFrom: "earliest" | "latest";
  paused: boolean;
  createdBy: "admin" | "receive";
}

export interface WireTopic {
  topic: string;
  messages: number;
  atLeast?: boolean;
  partitions: number;
  oldestPublishedAt: number | null;
  groups: {
    group: string;
    backlog: number;
    atLeast?: boolean;
    inFlight: number;
    subscribers: number;
    oldestUnsettledAt: number | null;
    expired: number;
    dropped: number;
  }[];
}

export interface WireMessage {
  id: string;
  partitionKey: string;
  offset: number;
}

export interface WireDeadLetterEntry {
  id: string;
  partitionKey: string;
  group: string;
  reason: string;
  attempts: number;
  failedAt: number;
  offset: number;
}

export interface WireLag {
  partitionKey: string;
  acked: number;
  latest: number;
  lag: number;
}

export interface WireLease {
  partitionKey: string;
  subscriber: string;
  epoch: number;
  acquiredAt: number;
  renewedAt: number;
  expiresAt: number;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  issues?: { path: string; message: string }[];
  route?: string;
  witness?: { headers: Record<string, string>; key?: string };
}

export interface WireLaneCounts {
  delivered: number;
  backlog: number;
  atLeast?: boolean;
  inFlight: number;
  subscribers: number;
}

export interface WireRoute extends WireLaneCounts {
  route: string;
  filter: unknown;
  ttlMs: number;
  startedAt: number;
  expiresAt: number;
}
