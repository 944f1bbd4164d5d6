import type { Outcome, TenantCalls } from "../../protocol/tenant-calls.ts";
import { CALL_DEADLINE_MS, callObject, platformTiming, type Timing } from "./object-call.ts";

export { CALL_DEADLINE_MS, type Timing } from "./object-call.ts";

export type CallName = keyof TenantCalls;
export type CallInput<Name extends CallName> = Parameters<TenantCalls[Name]>[1];
export type CallValue<Name extends CallName> =
  Awaited<ReturnType<TenantCalls[Name]>> extends Outcome<infer Value> ? Value : never;

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
    const once = () => this.callOnce(tenant, name, input) as Promise<Outcome<CallValue<Name>>>;
    return callObject({ once, repeatable: IDEMPOTENT.has(name), deadlineMs }, this.timing);
  }

  private callOnce(tenant: string, name: CallName, input: unknown): Promise<Outcome<unknown>> {
    // One signature for all calls: each takes the tenant and its input, and answers an outcome.
    const stub = this.stubOf(tenant) as unknown as Record<
      CallName,
      (tenant: string, input: unknown) => Promise<Outcome<unknown>>
    >;
    return stub[name](tenant, input);
  }
}
