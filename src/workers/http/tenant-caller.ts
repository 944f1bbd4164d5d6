import { FairlaneError } from "../../core/failure.ts";
import type { Outcome, TenantCalls } from "../../protocol/tenant-calls.ts";
import { type After, beforeDeadline, DeadlinePassed, pause, platformAfter } from "./deadline.ts";

export type CallName = keyof TenantCalls;
export type CallInput<Name extends CallName> = Parameters<TenantCalls[Name]>[1];
export type CallValue<Name extends CallName> =
  Awaited<ReturnType<TenantCalls[Name]>> extends Outcome<infer Value> ? Value : never;

/** How long a call may take, apart from what it was asked to wait. After it the outcome is unknown. */
export const CALL_DEADLINE_MS = 10_000;
const MAX_RETRIES = 2;
const RETRY_PAUSE_MS = 50;

/** Doing them twice is the same as doing them once, so a lost call may be tried again. */
const IDEMPOTENT: ReadonlySet<CallName> = new Set<CallName>([
  "publish",
  "heartbeat",
  "leave",
  "putGroup",
  "getGroup",
  "putTopic",
  "getTopic",
  "listTopics",
  "listMessages",
  "getMessage",
  "lag",
  "leases",
  "putRoute",
  "getRoute",
  "listRoutes",
  "deleteRoute",
  "explain",
  "waitingLanes",
  "subscribers",
  "overview",
  "deadLetters",
  "giveBack",
  "reportReads",
]);

/** Time as the caller sees it; tests pass their own. */
export interface Timing {
  after: After;
  /** 0 to 1. */
  random(): number;
}

export const platformTiming: Timing = { after: platformAfter, random: Math.random };

/** Calls tenant objects, with a deadline and the platform's rule for trying again. */
export class TenantCaller {
  private readonly stubOf: (tenant: string) => TenantCalls;
  private readonly timing: Timing;

  /** `stubOf` must make a new stub each time: one that has failed stays broken. */
  constructor(stubOf: (tenant: string) => TenantCalls, timing: Timing = platformTiming) {
    this.stubOf = stubOf;
    this.timing = timing;
  }

  /** Throws `FairlaneError`: what the object answered, or `store-unavailable` when it could not be reached. */
  async call<Name extends CallName>(
    tenant: string,
    name: Name,
    input: CallInput<Name>,
    deadlineMs = CALL_DEADLINE_MS,
  ): Promise<CallValue<Name>> {
    for (let attempt = 0; ; attempt++) {
      try {
        const outcome = await this.callOnce(tenant, name, input, deadlineMs);
        if (!outcome.ok) throw new FairlaneError(outcome.error);
        return outcome.value as CallValue<Name>;
      } catch (error) {
        if (error instanceof FairlaneError) throw error;
        const mayRetry = IDEMPOTENT.has(name) && attempt < MAX_RETRIES && isRetryable(error);
        if (!mayRetry) throw asFailure(error);
        await pause(RETRY_PAUSE_MS * 2 ** attempt * (0.5 + this.timing.random()), this.timing.after);
      }
    }
  }

  private callOnce(
    tenant: string,
    name: CallName,
    input: unknown,
    deadlineMs: number,
  ): Promise<Outcome<unknown>> {
    // One signature for all calls: each takes the tenant and its input, and answers an outcome.
    const stub = this.stubOf(tenant) as unknown as Record<
      CallName,
      (tenant: string, input: unknown) => Promise<Outcome<unknown>>
    >;
    return beforeDeadline(stub[name](tenant, input), deadlineMs, this.timing.after);
  }
}

interface PlatformError {
  retryable?: boolean;
  overloaded?: boolean;
}

function isRetryable(error: unknown): boolean {
  const { retryable, overloaded } = error as PlatformError;
  return retryable === true && overloaded !== true;
}

/** The platform's error classes, once. What is none of them is a fault inside the object. */
function asFailure(error: unknown): unknown {
  if (error instanceof DeadlinePassed) {
    return new FairlaneError({
      code: "store-unavailable",
      detail: "no answer in time; the outcome is unknown",
    });
  }
  const { retryable, overloaded } = error as PlatformError;
  if (overloaded === true)
    return new FairlaneError({ code: "rate-limited", detail: "the tenant is overloaded" });
  if (retryable === true) {
    return new FairlaneError({
      code: "store-unavailable",
      detail: "the connection was lost; the outcome is unknown",
    });
  }
  return error;
}
