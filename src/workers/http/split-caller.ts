import { FairlaneError } from "../../core/failure.ts";
import type { SplitCalls, SplitRef } from "../../protocol/split-calls.ts";
import type { Outcome } from "../../protocol/tenant-calls.ts";
import { CALL_DEADLINE_MS, callObject, platformTiming, type Timing } from "./object-call.ts";

export type SplitCallName = keyof SplitCalls;
export type SplitCallInput<Name extends SplitCallName> = Parameters<SplitCalls[Name]>[1];
export type SplitCallValue<Name extends SplitCallName> =
  Awaited<ReturnType<SplitCalls[Name]>> extends Outcome<infer Value> ? Value : never;

/** The second of two deletes finds nothing, and would answer so. */
const NOT_REPEATABLE: ReadonlySet<SplitCallName> = new Set<SplitCallName>([
  "deleteSplit",
  "deleteSplitRoute",
]);

/** A manager's object as the platform gives it: its calls, and its door for WebSockets. */
export interface SplitStub extends SplitCalls {
  fetch(request: Request): Promise<Response>;
}

/** Calls the managers of splits. */
export class SplitCaller {
  private readonly stubOf: (of: SplitRef) => SplitStub;
  private readonly timing: Timing;

  /** `stubOf` must make a new stub each time: one that has failed stays broken. */
  constructor(stubOf: (of: SplitRef) => SplitStub, timing: Timing = platformTiming) {
    this.stubOf = stubOf;
    this.timing = timing;
  }

  /** Throws `FairlaneError`: what the object answered, or `store-unavailable` when it could not be reached. */
  async call<Name extends SplitCallName>(
    of: SplitRef,
    name: Name,
    input: SplitCallInput<Name>,
  ): Promise<SplitCallValue<Name>> {
    const once = () => {
      // One signature for all calls; a property of a stub is a remote reference, so it is called on the stub itself.
      const stub = this.stubOf(of) as unknown as Record<
        Name,
        (of: SplitRef, input: unknown) => Promise<Outcome<SplitCallValue<Name>>>
      >;
      return stub[name](of, input);
    };
    const call = { once, repeatable: !NOT_REPEATABLE.has(name), deadlineMs: CALL_DEADLINE_MS };
    return callObject(call, this.timing);
  }

  /** The agent's end of a WebSocket to the manager of a split that is known to be there. */
  async connectAgent(of: SplitRef, request: Request): Promise<WebSocket> {
    const response = await this.stubOf(of).fetch(
      new Request(request.url, { headers: { upgrade: "websocket" } }),
    );
    if (response.webSocket) return response.webSocket;
    throw new FairlaneError({ code: "not-found", detail: "the workload has no split" });
  }
}
