import type {
  Collected,
  DeadLetterPage,
  Deleted,
  Health,
  LagPage,
  LeaseList,
  MessagePage,
  OffsetReset,
  Overview,
  Redriven,
  RedriveRequest,
  StoredMessageWithBody,
  SubscriberList,
  Topic,
  TopicList,
} from "./admin-replies.ts";
import { addBodyTexts } from "./body-texts.ts";
import type { Explanation, WaitingLanes } from "./explanation.ts";
import type { Call, HttpCaller } from "./http-caller.ts";
import type { Paths } from "./paths.ts";
import type { Route, RouteList, RouteRequest } from "./routes.ts";
import type { Group, GroupSettingsChange, TopicSettings, TopicSettingsChange } from "./settings.ts";

/** Names one message. */
export interface MessageRef {
  id: string;
  partitionKey: string;
}

/** A page: behind `after` (the `next` of the page before), at most `limit` rows. */
export interface PageOptions<After> {
  after?: After | undefined;
  limit?: number | undefined;
}

export interface ListMessagesOptions extends PageOptions<number> {
  partitionKey?: string | undefined;
  /** In place of `after` and `limit`: only so many, those at the end; at most 100. */
  last?: number | undefined;
}

/** Every call may be ended by a signal. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

type Request = Omit<Call, "retry" | "signal">;

/**
 * The calls of operators, one method each. All reject with `FairlaneApiError` (`not-found` where a topic, group or
 * message does not exist) or `FairlaneNetworkError`, and with the signal's reason. What may be done twice is tried
 * again by itself; deleting, resetting and redriving only where the first try certainly was not carried out.
 */
export class Admin {
  private readonly caller: HttpCaller;
  private readonly paths: Paths;

  constructor(caller: HttpCaller, paths: Paths) {
    this.caller = caller;
    this.paths = paths;
  }

  /** Makes or changes a topic; answers the whole settings. */
  putTopic(topic: string, settings: TopicSettingsChange = {}, options?: CallOptions): Promise<TopicSettings> {
    return this.repeatable(
      { method: "PUT", path: this.paths.topic(topic), body: JSON.stringify(settings) },
      options,
    );
  }

  getTopic(topic: string, options?: CallOptions): Promise<Topic> {
    return this.get(this.paths.topic(topic), {}, options);
  }

  listTopics(options?: CallOptions): Promise<TopicList> {
    return this.get(`${this.paths.tenant}/topics`, {}, options);
  }

  /** Makes or changes a consumer group; answers the whole settings. */
  putGroup(
    topic: string,
    group: string,
    settings: GroupSettingsChange = {},
    options?: CallOptions,
  ): Promise<Group> {
    return this.repeatable(
      { method: "PUT", path: this.paths.group(topic, group), body: JSON.stringify(settings) },
      options,
    );
  }

  getGroup(topic: string, group: string, options?: CallOptions): Promise<Group> {
    return this.get(this.paths.group(topic, group), {}, options);
  }

  /** Forgets a group. With live subscribers it is a `conflict` unless forced. */
  deleteGroup(
    topic: string,
    group: string,
    { force, ...options }: CallOptions & { force?: boolean | undefined } = {},
  ): Promise<void> {
    return this.once({ method: "DELETE", path: this.paths.group(topic, group), query: { force } }, options);
  }

  /** Without bodies, in offset order. */
  listMessages(
    topic: string,
    { signal, ...query }: ListMessagesOptions & CallOptions = {},
  ): Promise<MessagePage> {
    return this.get(this.paths.topic(topic, "/messages"), query, { signal });
  }

  /** One message with its body, also as text; `offset` says which one, where there are several of this ID and key. */
  async getMessage(
    topic: string,
    { id, partitionKey, offset }: MessageRef & { offset?: number | undefined },
    options?: CallOptions,
  ): Promise<StoredMessageWithBody> {
    const query = { id, partitionKey, offset };
    const request = { method: "GET", path: this.paths.topic(topic, "/message"), query } as const;
    const { value, text } = await this.caller.call({ ...request, signal: options?.signal, retry: "safe" });
    addBodyTexts([value], `{"messages":[${text}]}`, "messages");
    return value as StoredMessageWithBody;
  }

  /** Its ID is forgotten with it. */
  deleteMessage(topic: string, { id, partitionKey }: MessageRef, options?: CallOptions): Promise<void> {
    const query = { id, partitionKey };
    return this.once({ method: "DELETE", path: this.paths.topic(topic, "/message"), query }, options);
  }

  /** Deletes what was published before the call. */
  purgeMessages(topic: string, options?: CallOptions): Promise<Deleted> {
    return this.once({ method: "DELETE", path: this.paths.topic(topic, "/messages") }, options);
  }

  /** How far the group is in each partition, in order of partition keys. */
  lag(
    topic: string,
    group: string,
    { after, limit, signal }: PageOptions<string> & CallOptions = {},
  ): Promise<LagPage> {
    return this.get(this.paths.group(topic, group, "/lag"), { after, limit }, { signal });
  }

  /** Later deliveries of the partition start behind `offset` (0: the beginning); those under way end. */
  resetOffset(
    topic: string,
    group: string,
    { partitionKey, offset }: { partitionKey: string; offset: number },
    options?: CallOptions,
  ): Promise<OffsetReset> {
    const body = JSON.stringify({ partitionKey, offset });
    return this.once({ method: "PUT", path: this.paths.group(topic, group, "/offset"), body }, options);
  }

  /** Who holds which partition; with `staleForMs` only leases that were not renewed for so long. */
  leases(
    topic: string,
    group: string,
    { staleForMs, ...options }: CallOptions & { staleForMs?: number | undefined } = {},
  ): Promise<LeaseList> {
    return this.get(this.paths.group(topic, group, "/leases"), { staleForMs }, options);
  }

  /** Frees a partition. */
  releaseLease(
    topic: string,
    group: string,
    { partitionKey }: { partitionKey: string },
    options?: CallOptions,
  ): Promise<void> {
    const path = this.paths.group(topic, group, "/lease");
    return this.once({ method: "DELETE", path, query: { partitionKey } }, options);
  }

  /** A topic's dead letters; the topic is the original one. */
  deadLetters(
    topic: string,
    { after, limit, signal }: PageOptions<number> & CallOptions = {},
  ): Promise<DeadLetterPage> {
    return this.get(this.paths.topic(topic, "/dead-letters"), { after, limit }, { signal });
  }

  /** Puts dead letters back for the group that failed them; the topic is the original one. */
  redrive(topic: string, request: RedriveRequest = {}, options?: CallOptions): Promise<Redriven> {
    const path = this.paths.topic(topic, "/dead-letters/redrive");
    return this.once({ method: "POST", path, body: JSON.stringify(request) }, options);
  }

  purgeDeadLetters(topic: string, options?: CallOptions): Promise<Deleted> {
    return this.once({ method: "DELETE", path: this.paths.topic(topic, "/dead-letters") }, options);
  }

  /** One collection pass for this tenant. */
  collect(options?: CallOptions): Promise<Collected> {
    return this.repeatable({ method: "POST", path: `${this.paths.tenant}/gc` }, options);
  }

  /** Why one message is, or is not, being delivered. Exactly one of `id` and `offset` names it. */
  explain(
    topic: string,
    group: string,
    {
      partitionKey,
      id,
      offset,
    }: { partitionKey: string; id?: string | undefined; offset?: number | undefined },
    options?: CallOptions,
  ): Promise<Explanation> {
    return this.get(this.paths.group(topic, group, "/explain"), { partitionKey, id, offset }, options);
  }

  /** Lanes of which nothing is delivered now, each with its first such message explained; at most `limit`. */
  waitingLanes(
    topic: string,
    group: string,
    { limit, ...options }: CallOptions & { limit?: number | undefined } = {},
  ): Promise<WaitingLanes> {
    return this.get(this.paths.group(topic, group, "/waiting"), { limit }, options);
  }

  /** Live subscribers with their lanes and shares, in order of their names. */
  subscribers(topic: string, group: string, options?: CallOptions): Promise<SubscriberList> {
    return this.get(this.paths.group(topic, group, "/subscribers"), {}, options);
  }

  /**
   * Starts a route, renews it, or gives it another filter. Rejects with `route-overlap` where another route would take
   * some of the same messages: the error has that `route` and a `witness`.
   */
  putRoute(
    topic: string,
    group: string,
    route: string,
    { filter, ttlMs }: RouteRequest,
    options?: CallOptions,
  ): Promise<Route> {
    const body = JSON.stringify({ filter, ttlMs });
    return this.repeatable({ method: "PUT", path: this.paths.route(topic, group, route), body }, options);
  }

  /** With how many messages went there. Looking does not renew it. */
  getRoute(topic: string, group: string, route: string, options?: CallOptions): Promise<Route> {
    return this.get(this.paths.route(topic, group, route), {}, options);
  }

  /** How a group is split. */
  listRoutes(topic: string, group: string, options?: CallOptions): Promise<RouteList> {
    return this.get(this.paths.group(topic, group, "/routes"), {}, options);
  }

  /** Ends a route: what it has not settled goes back to the application. */
  deleteRoute(topic: string, group: string, route: string, options?: CallOptions): Promise<void> {
    return this.once({ method: "DELETE", path: this.paths.route(topic, group, route) }, options);
  }

  /** Topics and groups at a glance; a snapshot some seconds old at most. */
  overview({ after, limit, signal }: PageOptions<string> & CallOptions = {}): Promise<Overview> {
    return this.get(`${this.paths.tenant}/overview`, { after, limit }, { signal });
  }

  /** Whether the server runs. Needs no token. */
  health(options?: CallOptions): Promise<Health> {
    return this.get("/healthz", {}, options);
  }

  private get<T>(path: string, query: NonNullable<Call["query"]>, options?: CallOptions): Promise<T> {
    return this.repeatable({ method: "GET", path, query }, options);
  }

  private async repeatable<T>(request: Request, options: CallOptions = {}): Promise<T> {
    return (await this.caller.call({ ...request, signal: options.signal, retry: "safe" })).value as T;
  }

  private async once<T>(request: Request, options: CallOptions = {}): Promise<T> {
    return (await this.caller.call({ ...request, signal: options.signal, retry: "if-not-done" })).value as T;
  }
}
