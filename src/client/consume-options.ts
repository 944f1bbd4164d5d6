import {
  DEFAULT_ROUTE_TTL_MS,
  MAX_ROUTE_TTL_MS,
  MAX_VISIBILITY_TIMEOUT_MS,
  MIN_ROUTE_TTL_MS,
  MIN_VISIBILITY_TIMEOUT_MS,
} from "../core/limits.ts";
import type { Filter } from "../splitting/filter/filter.ts";
import { checkOptions } from "./known-options.ts";
import type { DeadLetterInfo } from "./message.ts";
import type { OwnRoute } from "./routes.ts";

/** How a settlement ended: as the server answered, or `unknown` where no answer came in time. */
export type SettlementStatus = "ok" | "stale" | "settled" | "invalid" | "unknown";

/**
 * A message in the hand of a handler. It is acked when the handler returns and nacked when it throws, unless the
 * handler decided by `ack`, `nack`, `postpone` or `reject`: the first decision counts, a second one throws. What a
 * decision returns resolves once the server has answered, and never rejects; nobody needs to wait for it.
 * Times are milliseconds since the epoch, by the server's clock.
 */
export interface Message<Body = unknown> {
  readonly id: string;
  readonly topic: string;
  readonly partitionKey: string;
  /** Its place in the topic. Grows, with gaps. */
  readonly offset: number;
  /** Counts deliveries from 1. */
  readonly attempt: number;
  /** Where JSON was published; undefined where bytes were. */
  readonly body: Body;
  /**
   * Where JSON was published: its source text as it was, without the white space around it; undefined where bytes
   * were. `body` is what `JSON.parse` made of it, without large integers, `1.0`, repeated names and white space. It is
   * read when it is first asked for. Until then a message that is kept holds the text of the reply that it came in, with
   * all messages beside it (at most 8 MiB of UTF-8); from then on the texts of their bodies alone.
   */
  readonly bodyText: string | undefined;
  /** Where bytes were published. */
  readonly bytes: Uint8Array | undefined;
  readonly contentType: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly publishedAt: number;
  /** As it was granted; while the handler runs it is extended by itself. */
  readonly visibleUntil: number;
  /** Of a message of a dead-letter topic. */
  readonly deadLetter: DeadLetterInfo | undefined;
  /**
   * Aborts when the handler works in vain: the delivery ended (`StaleDeliveryError`), or the consumer stops and
   * `drainMs` are over (`DrainTimeoutError`).
   */
  readonly signal: AbortSignal;
  /** Done. */
  ack(): Promise<SettlementStatus>;
  /** Failed: delivered again after `delayMs`, else after the group's backoff, and a dead letter after the last attempt. */
  nack(reason?: string, options?: { delayMs?: number | undefined }): Promise<SettlementStatus>;
  /** Fine, but must wait so long, and what is behind it in its partition with it. Counts as no attempt. */
  postpone(delayMs: number): Promise<SettlementStatus>;
  /** Never again: a dead letter. */
  reject(reason: string): Promise<SettlementStatus>;
  /** Visible so long from now. No decision; later extensions follow by themselves. */
  extend(visibilityTimeoutMs: number): Promise<SettlementStatus>;
}

/**
 * What a handler returns to leave its message as it was found, since the consumer is to stop: the message stays
 * undecided, and leaving the group gives it back; it comes again with the same attempt. Until the consumer's signal
 * aborts the message is kept alive, counts for `concurrency`, and with `ordered` the ones behind it in its partition
 * wait: abort the signal before returning this, or soon after. Where consuming goes on, `nack` or `postpone` fits.
 * After a decision it says nothing.
 */
// Registered, so that two copies of this package in one program mean the same by it.
export const giveBack: unique symbol = Symbol.for("fairlane.give-back");

/** A settlement that did not do what it was meant to. The message was, or will be, delivered again; or it is settled. */
export interface StaleSettlement<Body = unknown> {
  message: Message<Body>;
  /** `extend`: the delivery ended while the message was held. */
  action: "ack" | "nack" | "postpone" | "reject" | "extend";
  status: Exclude<SettlementStatus, "ok">;
}

/** During what an error came. `route`: renewing the consumer's own route, or ending it. `handler`: a handler threw. `drain`: a handler did not end within `drainMs`. */
export type ConsumePhase =
  | "receive"
  | "settle"
  | "extend"
  | "heartbeat"
  | "settings"
  | "route"
  | "leave"
  | "handler"
  | "drain";

export interface ConsumeErrorContext<Body = unknown> {
  phase: ConsumePhase;
  /** Of `handler` and `drain`. */
  message?: Message<Body> | undefined;
}

export interface SubscribeOptions<Body = unknown> {
  group: string;
  /** Who consumes: one member of the group. A unique name if absent. */
  subscriber?: string | undefined;
  /** How long a delivery is this subscriber's without a word from it, 1000 to 43200000; the group's if absent. */
  visibilityTimeoutMs?: number | undefined;
  /**
   * Only messages of this route of the group; absent: those of none. A name attaches to a route that is there, and
   * consuming rejects with `RouteGoneError` when it is gone. `{name, filter, ttlMs?, keep?}` is the consumer's own route.
   */
  route?: string | OwnRoute | undefined;
  /** Stops consuming. */
  signal?: AbortSignal | undefined;
  /** How long handlers may go on after the stop, in milliseconds; 30000 if absent. */
  drainMs?: number | undefined;
  /** A settlement came too late, or was not answered. If absent, a warning on the console. */
  onStale?: ((stale: StaleSettlement<Body>) => void) | undefined;
  /**
   * Trouble that consuming goes on after: once for each try of a call, and for each handler that threw. If absent, a
   * warning on the console. What it throws ends consuming.
   */
  onError?: ((error: unknown, context: ConsumeErrorContext<Body>) => void) | undefined;
}

export interface ConsumeOptions<Body = unknown> extends SubscribeOptions<Body> {
  /** Acks by returning, whatever it returns but `giveBack`. */
  handler: (message: Message<Body>) => unknown;
  /**
   * Messages in hand at a time, 1 to 1000; 10 if absent. Those that wait for one of their partition count: where few
   * partitions have most of the messages, a smaller `maxInFlightPerPartition` of the group leaves room for the others.
   */
  concurrency?: number | undefined;
  /** Handlers of one partition never overlap, and run in the order of delivery; true if absent. */
  ordered?: boolean | undefined;
}

export interface MessagesOptions<Body = unknown> extends SubscribeOptions<Body> {
  /** Messages held beside the one in the loop, so that the next one is there at once; 0 to 999, 0 if absent. */
  prefetch?: number | undefined;
}

/** With all that was absent. */
export interface ConsumePlan {
  group: string;
  subscriber: string;
  handler: (message: Message) => unknown;
  concurrency: number;
  ordered: boolean;
  visibilityTimeoutMs: number | null;
  /** Attached to; null: none. */
  route: string | null;
  /** What there is to keep of it; null: somebody else does. */
  ownRoute: OwnRoutePlan | null;
  drainMs: number;
  signal: AbortSignal | undefined;
  onStale: (stale: StaleSettlement) => void;
  onError: (error: unknown, context: ConsumeErrorContext) => void;
}

export interface OwnRoutePlan {
  filter: Filter;
  ttlMs: number;
  keep: boolean;
}

/** As many messages of full size as one may want in memory, and more requests than one connection does at a time. */
export const MAX_CONCURRENCY = 1000;
const DEFAULT_CONCURRENCY = 10;
const DEFAULT_DRAIN_MS = 30_000;
const MAX_DRAIN_MS = 24 * 3600 * 1000;

const SUBSCRIBE_OPTIONS = [
  "group",
  "subscriber",
  "visibilityTimeoutMs",
  "route",
  "signal",
  "drainMs",
  "onStale",
  "onError",
] as const satisfies readonly (keyof SubscribeOptions)[];
export const CONSUME_OPTIONS: readonly string[] = [...SUBSCRIBE_OPTIONS, "handler", "concurrency", "ordered"];
export const MESSAGES_OPTIONS: readonly string[] = [...SUBSCRIBE_OPTIONS, "prefetch"];
const ROUTE_OPTIONS = ["name", "filter", "ttlMs", "keep"] as const satisfies readonly (keyof OwnRoute)[];

/** Throws `TypeError` for what cannot be. */
export function planOf<Body>(
  topic: string,
  options: ConsumeOptions<Body>,
  makeSubscriber: () => string,
): ConsumePlan {
  const { group, handler, ordered = true, signal } = options;
  if (typeof handler !== "function") throw new TypeError("handler must be a function");
  const { visibilityTimeoutMs = null } = options;
  if (visibilityTimeoutMs !== null) {
    integerIn(
      "visibilityTimeoutMs",
      visibilityTimeoutMs,
      MIN_VISIBILITY_TIMEOUT_MS,
      MAX_VISIBILITY_TIMEOUT_MS,
    );
  }
  const place = `${topic}/${group}`;
  // What a user's function takes is the message of its own body type; the engine does not look into bodies.
  const { onStale, onError } = options as SubscribeOptions;
  return {
    group,
    subscriber: options.subscriber ?? makeSubscriber(),
    handler: handler as (message: Message) => unknown,
    concurrency: integerIn("concurrency", options.concurrency ?? DEFAULT_CONCURRENCY, 1, MAX_CONCURRENCY),
    ordered,
    visibilityTimeoutMs,
    ...routePlanOf(options.route),
    drainMs: integerIn("drainMs", options.drainMs ?? DEFAULT_DRAIN_MS, 0, MAX_DRAIN_MS),
    signal,
    onStale: onStale ?? ((stale) => warnOfStale(place, stale)),
    onError: onError ?? ((error, context) => warnOfError(place, error, context)),
  };
}

function routePlanOf(route: string | OwnRoute | undefined): Pick<ConsumePlan, "route" | "ownRoute"> {
  if (route === undefined) return { route: null, ownRoute: null };
  if (typeof route === "string") return { route, ownRoute: null };
  checkOptions("route", route, ROUTE_OPTIONS);
  const { name, filter, ttlMs = DEFAULT_ROUTE_TTL_MS, keep = false } = route;
  if (typeof filter !== "object" || filter === null) throw new TypeError("filter must be an object");
  return {
    route: name,
    ownRoute: { filter, ttlMs: integerIn("ttlMs", ttlMs, MIN_ROUTE_TTL_MS, MAX_ROUTE_TTL_MS), keep },
  };
}

/** Throws `TypeError` unless it is an integer between the two, both included. */
export function integerIn(name: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw new TypeError(`${name} must be an integer from ${min} to ${max}`);
}

function warnOfStale(place: string, { message, action, status }: StaleSettlement): void {
  console.warn(`fairlane: ${place}: the ${action} of ${named(message)} was answered ${status}`);
}

/** Quoted: an ID may hold what would drive a terminal. */
function named({ id, partitionKey, offset }: Message): string {
  return `message ${JSON.stringify(id)} in partition ${JSON.stringify(partitionKey)} (offset ${offset})`;
}

function warnOfError(place: string, error: unknown, { phase, message }: ConsumeErrorContext): void {
  const of = message === undefined ? "" : ` of ${named(message)}`;
  console.warn(
    `fairlane: ${place}: ${phase}${of}: ${error instanceof Error ? error.message : String(error)}`,
  );
}
