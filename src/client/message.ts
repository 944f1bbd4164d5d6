/** What is published, and what a publish answers. */

interface NewMessageCommon {
  /**
   * Names the occasion of publishing: the same ID and partition key again store nothing. 1 to 255 characters. Absent:
   * the client makes one (UUIDv7), so that its own retries store once; a later call of yours is a new message.
   */
  id?: string | undefined;
  /** The unit of order, 1 to 255 characters. Absent: one of 16 lanes, chosen from the ID, with no order between them. */
  partitionKey?: string | undefined;
  /** Texts by name; names are kept in lower case. At most 64, and 8 KiB in all. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until it may be delivered; at most 7 days. */
  delayMs?: number | undefined;
}

/** A message with a JSON body. */
export interface NewJsonMessage extends NewMessageCommon {
  /** Any value that JSON can hold; as `JSON.stringify` writes it, at most 1 MiB of UTF-8. */
  body: unknown;
  bodyText?: undefined;
  bytes?: undefined;
  contentType?: undefined;
}

/** A message with a JSON body that is written already. */
export interface NewJsonTextMessage extends NewMessageCommon {
  /**
   * One JSON value as text, at most 1 MiB of UTF-8: stored as it is, with its large integers, its `1.0`, repeated names
   * and white space, except for white space around it. It must not hold half of a surrogate pair other than as an escape.
   */
  bodyText: string;
  body?: undefined;
  bytes?: undefined;
  contentType?: undefined;
}

/** A message of bytes. */
export interface NewBytesMessage extends NewMessageCommon {
  /** At most 1 MiB. */
  bytes: Uint8Array | ArrayBuffer;
  /** A media type; `application/octet-stream` if absent. */
  contentType?: string | undefined;
  body?: undefined;
  bodyText?: undefined;
}

export type NewMessage = NewJsonMessage | NewJsonTextMessage | NewBytesMessage;

/** A message that is committed in the tenant's log. */
export interface PublishResult {
  id: string;
  partitionKey: string;
  /** A message of this ID was there already; nothing was stored. */
  duplicate: boolean;
}

/** Where a dead letter comes from. */
export interface DeadLetterInfo {
  originalTopic: string;
  originalId: string;
  /** The group that failed it. */
  group: string;
  /** Milliseconds since the epoch. */
  failedAt: number;
  attempts: number;
  reason: string;
}
