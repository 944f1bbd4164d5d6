import type { FailureCode } from "../core/failure.ts";
import type { Witness } from "./routes.ts";

/** One field of a request that was refused. */
export interface RequestIssue {
  /** Where in the request, e.g. `messages[3].partitionKey`. */
  path: string;
  message: string;
}

/** `unexpected-reply`: what answered does not speak this API. */
export type ErrorCode = FailureCode | "unexpected-reply";

export interface ApiErrorInfo {
  code: ErrorCode;
  status: number;
  detail: string;
  issues?: readonly RequestIssue[];
  requestId?: string | null;
  retryAfterMs?: number | null;
  route?: string | null;
  witness?: Witness | null;
}

/** The server answered, and refused. */
export class FairlaneApiError extends Error {
  readonly code: ErrorCode;
  /** Of HTTP. */
  readonly status: number;
  /** What is wrong, in the server's words. */
  readonly detail: string;
  /** Of an invalid request: which fields, and what is wrong with each. Otherwise empty. */
  readonly issues: readonly RequestIssue[];
  /** Names the request in the server's logs; null where the answer has none. */
  readonly requestId: string | null;
  /** How long the server asks to wait, in milliseconds; null where it does not say. */
  readonly retryAfterMs: number | null;
  /** Of `route-overlap` and `route-undecided`: the other route; otherwise null. */
  readonly route: string | null;
  /** Of `route-overlap`: a message that both routes would take; otherwise null. */
  readonly witness: Witness | null;

  constructor(info: ApiErrorInfo) {
    super(messageOf(info));
    this.name = "FairlaneApiError";
    this.code = info.code;
    this.status = info.status;
    this.detail = info.detail;
    this.issues = info.issues ?? [];
    this.requestId = info.requestId ?? null;
    this.retryAfterMs = info.retryAfterMs ?? null;
    this.route = info.route ?? null;
    this.witness = info.witness ?? null;
  }
}

/** No answer came: there was no connection, it broke off, or the time was over. `cause` says more. */
export class FairlaneNetworkError extends Error {
  /** false: the request certainly did not reach the server. */
  readonly outcomeUnknown: boolean;

  constructor(detail: string, outcomeUnknown: boolean, cause?: unknown) {
    super(detail, { cause });
    this.name = "FairlaneNetworkError";
    this.outcomeUnknown = outcomeUnknown;
  }
}

/** A message of a batch that was not sent, since one before it in the same batch failed. */
export class NotSentError extends Error {
  constructor(cause: unknown) {
    super("not sent: an earlier part of the batch failed", { cause });
    this.name = "NotSentError";
  }
}

/** What became of one message of a batch: stored, or not. */
export type PublishOutcome =
  | { id: string; partitionKey: string; duplicate: boolean; error?: undefined }
  | { error: Error };

/** Some messages of a batch were not stored. `cause` is the first error. */
export class PublishError extends Error {
  /**
   * One for each message that was taken from the batch, in its order. Where the outcome is an error after an
   * unknown outcome, publishing the same message with the same ID again is safe.
   */
  readonly results: readonly PublishOutcome[];

  constructor(results: readonly PublishOutcome[]) {
    const failed = results.filter(({ error }) => error !== undefined);
    const first = failed[0]?.error;
    super(`${failed.length} of ${results.length} messages were not stored: ${first?.message}`, {
      cause: first,
    });
    this.name = "PublishError";
    this.results = results;
  }
}

/** A receive did not find the route that it was for: nobody started it, it was ended, or it expired. */
export class RouteGoneError extends Error {
  readonly route: string;

  constructor(route: string, cause: unknown) {
    super(`there is no route ${route}: it was not started, was ended, or expired`, { cause });
    this.name = "RouteGoneError";
    this.route = route;
  }
}

/** Why `message.signal` aborted: the delivery is not this consumer's any more. */
export class StaleDeliveryError extends Error {
  constructor() {
    super("the delivery ended: another one took its place, or the message is settled");
    this.name = "StaleDeliveryError";
  }
}

/** Why `message.signal` aborted: the consumer stopped, and the time that handlers had to end is over. */
export class DrainTimeoutError extends Error {
  constructor() {
    super("the consumer stopped, and its drainMs are over: the message is given back");
    this.name = "DrainTimeoutError";
  }
}

function messageOf({ code, detail, issues = [], requestId }: ApiErrorInfo): string {
  const [first] = issues;
  const issue =
    first === undefined ? "" : ` (${first.path === "" ? "request" : first.path} ${first.message})`;
  const request = requestId ? ` [request ${requestId}]` : "";
  return `${code}: ${detail}${issue}${request}`;
}
