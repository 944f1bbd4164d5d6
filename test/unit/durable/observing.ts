import { expect } from "vitest";
import type { MessageLog } from "../../../src/log/message-log.ts";
import type { OverviewReply } from "../../../src/protocol/tenant-calls.ts";
import { type Bench, numbered } from "./harness.ts";

export const ALL = { after: null, limit: 20 };
/** A topic is counted at most once in so long. */
export const INTERVAL_MS = 3000;

/** Moves the clock until the answer is there. */
export async function overview(
  bench: Pick<Bench, "call" | "advance">,
  input: { after: string | null; limit: number } = ALL,
) {
  let ended = false;
  const asked = bench.call("overview", input).finally(() => {
    ended = true;
  });
  asked.catch(() => undefined);
  for (let step = 0; step < 10_000 && !ended; step += 1) await bench.advance(1);
  return asked;
}

export async function topicOf(bench: Bench, topic = "t") {
  const { topics } = await overview(bench);
  return topics.find((each) => each.topic === topic) ?? expect.fail(`no ${topic}`);
}

export function names(reply: OverviewReply): string[] {
  return reply.topics.map(({ topic }) => topic);
}

/** In batches of a hundred, each in its own partition. */
export async function publishMany(bench: Bench, topic: string, count: number): Promise<void> {
  for (let batch = 0; batch * 100 < count; batch += 1) {
    const size = Math.min(100, count - batch * 100);
    await bench.publish(topic, numbered(size, `k${batch}`, `${batch}-`));
  }
}

/**
 * A new life of the object on a log that notes what it is asked, in order. `before` runs ahead of each call, which
 * fails if it rejects and waits as long as it does.
 */
export function watchLog(bench: Bench, before: (method: string) => Promise<void> = async () => {}): string[] {
  const asked: string[] = [];
  const watched = (log: MessageLog): MessageLog =>
    new Proxy(log, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          asked.push(String(name));
          await before(String(name));
          return method.apply(target, args);
        };
      },
    });
  bench.withLog(watched);
  return asked;
}
