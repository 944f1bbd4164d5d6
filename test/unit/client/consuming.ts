import type { ConsumeOptions, Message, StaleSettlement } from "../../../src/client/fairlane.ts";
import { GroupRole } from "./group-role.ts";
import { outcomeOf } from "./wire.ts";

/** A consumer at work, and what it tells. */
export function consuming(options: Partial<ConsumeOptions> & Pick<ConsumeOptions, "handler">) {
  const role = new GroupRole();
  const stop = new AbortController();
  const stale: string[] = [];
  const errors: string[] = [];
  const start = () => {
    const work = role.wire.client().consume("t", {
      group: "g",
      signal: stop.signal,
      onStale: ({ message, action, status }: StaleSettlement) =>
        stale.push(`${action} ${message.id} ${status}`),
      onError: (error, { phase, message }) =>
        errors.push([phase, message?.id, (error as Error | undefined)?.name].filter(Boolean).join(" ")),
      ...options,
    });
    return outcomeOf(work);
  };
  return { role, time: role.wire.time, stop, stale, errors, start };
}

/** Handlers that end when the test says so. */
export function held() {
  const messages = new Map<
    string,
    { message: Message; end: (result?: unknown) => void; fail: (error: Error) => void }
  >();
  const handler = (message: Message) =>
    new Promise((end, fail) => messages.set(message.id, { message, end, fail }));
  const of = (id: string) => {
    const found = messages.get(id);
    if (found === undefined) throw new Error(`${id} does not run`);
    return found;
  };
  return { handler, messages, of, running: () => [...messages.keys()] };
}

/** What consuming that was stopped comes to. */
export const done = { value: undefined };
