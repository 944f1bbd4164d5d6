import { FairlaneError } from "../../src/core/failure.ts";
import type { MessageLog } from "../../src/log/message-log.ts";

/** Runs one method of the log: may wait before and after it, fail in its stead or after it, or never return. */
export type LogGate = (
  method: string,
  args: readonly unknown[],
  work: () => Promise<unknown>,
) => Promise<unknown>;

/** The log behind a gate: its methods are the await points of commands. */
export function gatedLog(inner: MessageLog, gate: LogGate): MessageLog {
  return new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...args: unknown[]) =>
        gate(name, args, () => Reflect.apply(member, target, args) as Promise<unknown>);
    },
  });
}

export function logUnreachable(): FairlaneError {
  return new FairlaneError({
    code: "store-unavailable",
    detail: "the log cannot be reached",
    retryAfterMs: 100,
  });
}
