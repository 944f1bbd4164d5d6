import type { DeadLetterInfo } from "./message.ts";

/** Why a message is, or is not, being delivered to a group. Times are milliseconds since the epoch. */

/** In the first eight a message is unsettled, in the others nothing more comes of it. */
export type MessageState =
  /** The next receive of the lane's owner gets it, or of anyone where it has none or must hand it on by fair share. */
  | "deliverable"
  /** The blockers say for what. */
  | "waiting"
  | "in-flight"
  | "backing-off"
  | "postponed"
  | "delayed"
  | "being-dead-lettered"
  | "expired"
  | "settled"
  | "dead-lettered"
  | "other-group"
  | "not-found";

/** What stands between a message and its delivery. */
export type Blocker =
  | { kind: "group-paused" }
  /** The log cannot be read; it is tried again then. */
  | { kind: "log-unavailable"; until: number }
  /** The group has no live one, or that route has none. */
  | { kind: "no-subscriber"; route?: string | undefined }
  /** Subscribers are live, and none of them has a receive open. */
  | { kind: "nobody-asking"; subscribers: number }
  /** The lane's owner does not ask; when its heartbeats end, the lane is free. */
  | { kind: "lease"; subscriber: string; epoch: number; expiresAt: number }
  /** By fair share the lane's owner must give it up first; null: no asker may take one more lane. */
  | { kind: "share"; subscriber: string | null; until: number | null }
  /** A message before it in the lane, at which the walk stops. */
  | {
      kind: "message";
      offset: number;
      /** Absent in `waitingLanes`, and where the log does not have it. */
      id?: string | undefined;
      state: MessageState;
      attempt?: number | undefined;
      until: number | null;
      subscriber?: string | undefined;
      deliveredAt?: number | undefined;
      reason?: string | undefined;
    }
  /** The lane has as many deliveries under way as it may. */
  | { kind: "in-flight-limit"; inFlight: number; limit: number; until: number | null }
  /** The lane or group has as many failed messages waiting as it may. */
  | { kind: "failed-limit" }
  /** Dispatch has not read so far; receives read on. */
  | { kind: "unread" };

export interface LeaseHolder {
  subscriber: string;
  epoch: number;
  expiresAt: number;
}

export interface Explanation {
  topic: string;
  group: string;
  partitionKey: string;
  id: string | null;
  offset: number | null;
  publishedAt: number | null;
  dueAt: number | null;
  state: MessageState;
  /** The same in words. */
  summary: string;
  /** Of the delivery under way, or the last one that counts. */
  attempt?: number | undefined;
  /** null: no limit. */
  maxAttempts: number | null;
  /** When its own state ends by time: visibility, backoff, delay. */
  until: number | null;
  /** Why its last attempt failed. */
  reason?: string | undefined;
  /** Who has the delivery under way. */
  subscriber?: string | undefined;
  /** Since when the delivery under way is out, however often it was extended. */
  deliveredAt?: number | undefined;
  /** The only group that gets it. */
  targetGroup?: string | undefined;
  /** The route whose subscribers get it; absent: the application's do. */
  route?: string | undefined;
  deadLetter?: DeadLetterInfo | undefined;
  /** All that must pass before it is delivered, the message's own state apart. */
  blockers: Blocker[];
  /** Who holds the partition. */
  lease: LeaseHolder | null;
  /**
   * The next moment at which time alone changes what becomes of the message: its state, its own until, attempt or
   * subscriber, or which kinds of blockers hold, those of nobody being there or asking apart. null: only an event does.
   */
  nextChangeAt: number | null;
  /** What it is in from then on; null: as `nextChangeAt`. */
  nextState: MessageState | null;
  /** When this was so. */
  at: number;
}

export interface WaitingLane {
  partitionKey: string;
  unsettled: number;
  /** Of its first message that waits; where all are under way, of the one that is so for longer than it should. */
  explanation: Explanation;
}

export interface WaitingLanes {
  lanes: WaitingLane[];
  /** There are more of them. */
  more: boolean;
}
