import { MAX_WAIT_MS } from "../core/limits.ts";
import { DEFAULT_GROUP_SETTINGS } from "../core/settings.ts";
import { addBodyTexts } from "./body-texts.ts";
import type { ReceiveReply, Settlement, SettleResult } from "./delivery.ts";
import { FairlaneApiError } from "./errors.ts";
import { type HttpCaller, listOf } from "./http-caller.ts";
import type { Paths } from "./paths.ts";
import { unexpected } from "./read-reply.ts";
import type { RouteRequest } from "./routes.ts";
import type { GroupSettings } from "./settings.ts";
import { settleCall } from "./settle-call.ts";

export interface GroupCallsPlace {
  topic: string;
  group: string;
  subscriber: string;
  /** null: the application's messages. */
  route: string | null;
  requestTimeoutMs: number;
}

/** One subscriber's calls, each a single try: the consumer knows best when to try again. */
export class GroupCalls {
  private readonly caller: HttpCaller;
  private readonly place: GroupCallsPlace;
  private readonly groupPath: string;
  private readonly subscriberPath: string;
  private readonly routePath: string | null;

  /** Throws `TypeError` for names that cannot be. */
  constructor(caller: HttpCaller, paths: Paths, place: GroupCallsPlace) {
    const { topic, group, subscriber, route } = place;
    this.caller = caller;
    this.place = place;
    this.groupPath = paths.group(topic, group);
    this.subscriberPath = paths.subscriber(topic, group, subscriber);
    this.routePath = route === null ? null : paths.route(topic, group, route);
  }

  /** Waits as long as the API lets it. */
  async receive(
    maxMessages: number,
    visibilityTimeoutMs: number,
    signal: AbortSignal,
  ): Promise<ReceiveReply> {
    const { subscriber, requestTimeoutMs, route } = this.place;
    const request = {
      subscriber,
      maxMessages,
      waitMs: MAX_WAIT_MS,
      visibilityTimeoutMs,
      ...(route === null ? {} : { route }),
    };
    const answer = await this.caller.call({
      method: "POST",
      path: `${this.groupPath}/receive`,
      body: JSON.stringify(request),
      signal,
      timeoutMs: MAX_WAIT_MS + requestTimeoutMs,
      retry: "never",
    });
    addBodyTexts(listOf(answer, "deliveries"), answer.text, "deliveries");
    return answer.value as ReceiveReply;
  }

  settle(settlements: Settlement[], signal: AbortSignal, timeoutMs?: number): Promise<SettleResult[]> {
    const request = { subscriber: this.place.subscriber, settlements };
    return settleCall(this.caller, `${this.groupPath}/settle`, request, {
      signal,
      retry: "never",
      timeoutMs: timeoutMs ?? this.place.requestTimeoutMs,
    });
  }

  async heartbeat(signal: AbortSignal): Promise<void> {
    const path = `${this.subscriberPath}/heartbeat`;
    await this.caller.call({ method: "POST", path, signal, retry: "never" });
  }

  /** A group that is gone has been left. */
  async leave(signal: AbortSignal): Promise<void> {
    try {
      await this.caller.call({ method: "DELETE", path: this.subscriberPath, signal, retry: "safe" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Starts the route, or renews it. */
  async putRoute(request: RouteRequest, signal: AbortSignal, timeoutMs: number): Promise<void> {
    await this.caller.call({
      method: "PUT",
      path: this.routePath ?? noRoute(),
      body: JSON.stringify(request),
      signal,
      timeoutMs: Math.min(timeoutMs, this.place.requestTimeoutMs),
      retry: "never",
    });
  }

  /** One that is gone has ended. */
  async endRoute(signal: AbortSignal): Promise<void> {
    const path = this.routePath ?? noRoute();
    try {
      await this.caller.call({ method: "DELETE", path, signal, retry: "safe" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** A group that does not exist yet is made with the defaults by the first receive. */
  async settings(signal: AbortSignal): Promise<GroupSettings> {
    try {
      const call = { method: "GET", path: this.groupPath, signal, retry: "never" } as const;
      const { value, response } = await this.caller.call(call);
      const { visibilityTimeoutMs, leaseDurationMs } = (value ?? {}) as Partial<GroupSettings>;
      if (Number.isInteger(visibilityTimeoutMs) && Number.isInteger(leaseDurationMs))
        return value as GroupSettings;
      throw unexpected(response, "the reply has no durations of a group");
    } catch (error) {
      if (isNotFound(error)) return DEFAULT_GROUP_SETTINGS;
      throw error;
    }
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof FairlaneApiError && error.code === "not-found";
}

function noRoute(): never {
  throw new Error("this subscriber has no route");
}
