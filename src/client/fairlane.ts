import { MAX_WAIT_MS } from "../core/limits.ts";
import { tenantProblem } from "../core/names.ts";
import { Admin } from "./admin.ts";
import { addBodyTexts } from "./body-texts.ts";
import {
  CONSUME_OPTIONS,
  type ConsumeOptions,
  integerIn,
  MAX_CONCURRENCY,
  MESSAGES_OPTIONS,
  type Message,
  type MessagesOptions,
  planOf,
  type SubscribeOptions,
} from "./consume-options.ts";
import { Consumer } from "./consumer.ts";
import type { HeartbeatReply, ReceiveReply, ReceiveRequest, SettleReply, SettleRequest } from "./delivery.ts";
import { GroupCalls } from "./group-calls.ts";
import { HttpCaller, listOf, type TokenSource } from "./http-caller.ts";
import { checkOptions } from "./known-options.ts";
import type { NewMessage, PublishResult } from "./message.ts";
import { messageStream } from "./message-stream.ts";
import { checked, Paths } from "./paths.ts";
import { Publisher } from "./publisher.ts";
import { settleCall } from "./settle-call.ts";
import {
  type Fetch,
  makeUuid,
  platformFetch,
  platformSurroundings,
  type Surroundings,
} from "./surroundings.ts";

export type { Filter } from "../splitting/filter/filter.ts";
export type { CallOptions, ListMessagesOptions, MessageRef, PageOptions } from "./admin.ts";
export { Admin } from "./admin.ts";
export type * from "./admin-replies.ts";
export type {
  ConsumeErrorContext,
  ConsumeOptions,
  ConsumePhase,
  Message,
  MessagesOptions,
  SettlementStatus,
  StaleSettlement,
  SubscribeOptions,
} from "./consume-options.ts";
export { giveBack } from "./consume-options.ts";
export type * from "./delivery.ts";
export * from "./errors.ts";
export type * from "./explanation.ts";
export type { TokenSource } from "./http-caller.ts";
export type * from "./message.ts";
export { messageId } from "./message-id.ts";
export type * from "./routes.ts";
export type * from "./settings.ts";
export type { Fetch } from "./surroundings.ts";

export interface FairlaneOptions {
  /** Where the server is, e.g. `http://127.0.0.1:8787`; a path is kept, for a server behind a proxy. */
  url: string;
  tenant: string;
  /**
   * An access token, or a function that gives one: asked before each request, and once more after the server refused
   * the token. Absent where the server runs without authorisation.
   */
  token?: TokenSource | undefined;
  /** In place of the platform's, e.g. that of a service binding: `(url, init) => env.FAIRLANE.fetch(url, init)`. */
  fetch?: Fetch | undefined;
  /** How long one request may take, apart from what it was asked to wait; 15000 milliseconds if absent. */
  requestTimeoutMs?: number | undefined;
  /**
   * How long a call that may be repeated is tried again after a lost connection, 429 or 503; 30000 milliseconds if
   * absent, 0: not at all. `consume` goes on until it is stopped.
   */
  retryForMs?: number | undefined;
}

const DEFAULT_REQUEST_TIMEOUT_MS = 15_000;
const DEFAULT_RETRY_FOR_MS = 30_000;
const MAX_OPTION_MS = 3_600_000;

/** Refused, or not served: the server gave back what it granted. */
const NOTHING_GRANTED_STATUS = 503;

const FAIRLANE_OPTIONS = [
  "url",
  "tenant",
  "token",
  "fetch",
  "requestTimeoutMs",
  "retryForMs",
] as const satisfies readonly (keyof FairlaneOptions)[];

/** One tenant's queue. It holds no connection and need not be closed. */
export class Fairlane {
  /** The calls of operators. */
  readonly admin: Admin;
  private readonly caller: HttpCaller;
  private readonly paths: Paths;
  private readonly requestTimeoutMs: number;

  /** Throws `TypeError` for options that cannot be. `surroundings` is for tests. */
  constructor(options: FairlaneOptions, surroundings: Surroundings = platformSurroundings) {
    checkOptions("Fairlane", options, FAIRLANE_OPTIONS);
    const { token, fetch = platformFetch } = options;
    this.requestTimeoutMs = durationOf(
      "requestTimeoutMs",
      options.requestTimeoutMs,
      1,
      DEFAULT_REQUEST_TIMEOUT_MS,
    );
    const retryForMs = durationOf("retryForMs", options.retryForMs, 0, DEFAULT_RETRY_FOR_MS);
    const { requestTimeoutMs } = this;
    const baseUrl = baseUrlOf(options.url);
    this.caller = new HttpCaller({ baseUrl, token, fetch, requestTimeoutMs, retryForMs }, surroundings);
    this.paths = new Paths(checked("tenant", options.tenant, tenantProblem));
    this.admin = new Admin(this.caller, this.paths);
  }

  /**
   * Publishes one message; once it resolves the message is committed. Rejects with `TypeError` or `RangeError` for a
   * body that cannot be sent, `FairlaneApiError`, `FairlaneNetworkError` (the outcome may be unknown: publishing the
   * same ID again is safe), or the signal's reason.
   */
  async publish(
    topic: string,
    message: NewMessage,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<PublishResult> {
    return this.publisher(topic).publish(message, signal);
  }

  /**
   * Publishes any number of messages, in requests of at most 100 messages and 4 MiB, one after the other: order within
   * a partition holds. Each request is all or nothing. Rejects with `PublishError`, which has the outcome of each
   * message, or with the signal's reason. After the first failure, also of a message that cannot be sent at all,
   * nothing more is sent, and no more is taken from an iterable that is no array: what is stored is the beginning of
   * the batch.
   */
  async publishBatch(
    topic: string,
    messages: Iterable<NewMessage>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<PublishResult[]> {
    if (typeof messages?.[Symbol.iterator] !== "function")
      throw new TypeError("messages must be an array, or something else to iterate over");
    return this.publisher(topic).publishBatch(messages, signal);
  }

  /**
   * Consumes as one subscriber of a group until the signal aborts. Resolves when every handler has ended, the last
   * settlements are answered, and the group is left. Goes on through lost connections, 429 and 5xx, telling `onError`;
   * rejects, then as well, with any other refusal of a call (e.g. `unauthorized`, or `not-found` where the group was
   * deleted a moment ago), and with `RouteGoneError` where it is attached to a route that is gone. Each message is acked when the handler returns and nacked when it throws.
   */
  async consume<Body = unknown>(topic: string, options: ConsumeOptions<Body>): Promise<void> {
    checkOptions("consume", options, CONSUME_OPTIONS);
    await this.consumer(topic, options).run();
  }

  /**
   * The same as a loop: asking for the next message acks the one before, unless the loop decided otherwise. Leaving the
   * loop, also by an error, gives back what is held and leaves the group; the signal ends the loop after the message in
   * hand. While the loop's body runs its message is kept alive.
   */
  messages<Body = unknown>(
    topic: string,
    options: MessagesOptions<Body>,
  ): AsyncIterableIterator<Message<Body>> {
    checkOptions("messages", options, MESSAGES_OPTIONS);
    const { prefetch = 0, ...others } = options;
    const concurrency = 1 + integerIn("prefetch", prefetch, 0, MAX_CONCURRENCY - 1);
    const stream = messageStream(options.signal, (handler) => {
      const consumer = this.consumer(topic, { ...(others as SubscribeOptions), concurrency, handler });
      return { done: consumer.run(), stop: () => consumer.stop() };
    });
    return stream as AsyncGenerator<Message<Body>, void, undefined>;
  }

  /** One receive. What it answers is this subscriber's until it is settled or its visibility ends. */
  async receive(
    topic: string,
    group: string,
    request: ReceiveRequest,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<ReceiveReply> {
    const answer = await this.caller.call({
      method: "POST",
      path: this.paths.group(topic, group, "/receive"),
      body: JSON.stringify(request),
      signal,
      timeoutMs: this.requestTimeoutMs + Math.min(request.waitMs ?? 0, MAX_WAIT_MS),
      // A reply that got lost has deliveries: a second receive would take more.
      retry: "if-not-done",
      notDoneStatus: NOTHING_GRANTED_STATUS,
    });
    addBodyTexts(listOf(answer, "deliveries"), answer.text, "deliveries");
    return answer.value as ReceiveReply;
  }

  /** Settles deliveries. After a try without an answer, `settled` counts as its own and is answered as `ok`. */
  async settle(
    topic: string,
    group: string,
    request: SettleRequest,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<SettleReply> {
    const path = this.paths.group(topic, group, "/settle");
    return { results: await settleCall(this.caller, path, request, { signal, retry: "safe" }) };
  }

  /** Keeps a subscriber alive. */
  async heartbeat(
    topic: string,
    group: string,
    subscriber: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<HeartbeatReply> {
    const path = this.paths.subscriber(topic, group, subscriber, "/heartbeat");
    const answer = await this.caller.call({ method: "POST", path, signal, retry: "safe" });
    return answer.value as HeartbeatReply;
  }

  /** Leaves the group: the subscriber's partitions are free at once, and its unsettled deliveries end. */
  async leave(
    topic: string,
    group: string,
    subscriber: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const path = this.paths.subscriber(topic, group, subscriber);
    await this.caller.call({ method: "DELETE", path, signal, retry: "safe" });
  }

  private consumer<Body>(topic: string, options: ConsumeOptions<Body>): Consumer {
    const { surroundings } = this.caller;
    const plan = planOf(topic, options, () => `client-${makeUuid(surroundings)}`);
    const { group, subscriber, route } = plan;
    const place = { topic, group, subscriber, route, requestTimeoutMs: this.requestTimeoutMs };
    const calls = new GroupCalls(this.caller, this.paths, place);
    return new Consumer(plan, calls, surroundings);
  }

  private publisher(topic: string): Publisher {
    return new Publisher(this.caller, this.paths.topic(topic, "/messages"));
  }
}

/** The URL without a slash at its end. */
function baseUrlOf(url: unknown): string {
  if (typeof url !== "string" || !URL.canParse(url)) throw new TypeError("url must be an absolute URL");
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new TypeError("url must begin with http:// or https://");
  }
  if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    throw new TypeError("url must have no user, query or fragment");
  }
  return parsed.href.replace(/\/+$/, "");
}

function durationOf(name: string, value: number | undefined, min: number, fallback: number): number {
  const duration = value ?? fallback;
  if (typeof duration === "number" && duration >= min && duration <= MAX_OPTION_MS) return duration;
  throw new TypeError(`${name} must be a number of milliseconds from ${min} to ${MAX_OPTION_MS}`);
}
