import { describe, expect, test } from "vitest";
import { FairlaneApiError } from "../../../src/client/fairlane.ts";
import { Poller } from "../../../src/dashboard/poller.ts";

/** A clock that a test turns, and requests that it answers. */
function setup({ intervalMs = 2000 as number | null } = {}) {
  let nowMs = 0;
  let timers: { atMs: number; run: () => void }[] = [];
  const asked: { resolve(value: string): void; reject(error: unknown): void }[] = [];
  const replies: string[] = [];
  const retriesAtMs: (number | null)[] = [];
  const poller = new Poller<string>({
    intervalMs,
    timers: {
      nowMs: () => nowMs,
      after: (delayMs, run) => {
        const timer = { atMs: nowMs + delayMs, run };
        timers.push(timer);
        return () => {
          timers = timers.filter((each) => each !== timer);
        };
      },
    },
    read: () => new Promise((resolve, reject) => void asked.push({ resolve, reject })),
    onReply: (reply) => void replies.push(reply),
    onFailure: (_error, retryAtMs) => void retriesAtMs.push(retryAtMs),
  });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    poller,
    asked,
    replies,
    retriesAtMs,
    timers: () => timers.length,
    async advance(durationMs: number) {
      nowMs += durationMs;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { run } of due) run();
      await settled();
    },
    async answer(value: string) {
      asked.at(-1)?.resolve(value);
      await settled();
    },
    async refuse(error: unknown = new Error("no")) {
      asked.at(-1)?.reject(error);
      await settled();
    },
  };
}

describe("a poller", () => {
  test("asks at once, and again an interval after each reply", async () => {
    const { poller, asked, replies, advance, answer, timers } = setup();
    poller.start();
    expect(asked).toHaveLength(1);
    await advance(10_000);
    expect(asked).toHaveLength(1);
    await answer("a");
    await advance(1999);
    expect(asked).toHaveLength(1);
    await advance(1);
    expect(asked).toHaveLength(2);
    await answer("b");
    expect([replies, timers()]).toEqual([["a", "b"], 1]);
  });

  test("has one request and one timer at most, however often it is told to ask", async () => {
    const { poller, asked, replies, answer, timers } = setup();
    poller.start();
    for (let i = 0; i < 50; i++) poller.askNow();
    expect([asked.length, timers()]).toEqual([1, 0]);
    await answer("a");
    expect([asked.length, replies, timers()]).toEqual([2, ["a"], 0]);
    await answer("b");
    for (let i = 0; i < 50; i++) poller.askNow();
    expect([asked.length, timers()]).toEqual([3, 0]);
  });

  test("drops the reply to a question that was given up, and asks the new one after it", async () => {
    const { poller, asked, replies, answer } = setup();
    poller.start();
    poller.start();
    expect(asked).toHaveLength(1);
    await answer("old");
    expect([asked.length, replies]).toEqual([2, []]);
    await answer("new");
    expect(replies).toEqual(["new"]);
  });

  test("stopped it asks for nothing, and takes nothing", async () => {
    const { poller, asked, replies, retriesAtMs, advance, answer, refuse, timers } = setup();
    poller.start();
    await answer("a");
    poller.stop();
    await advance(60_000);
    poller.askNow();
    expect([asked.length, timers()]).toEqual([1, 0]);
    poller.start();
    poller.stop();
    await answer("late");
    poller.start();
    poller.stop();
    await refuse();
    expect([asked.length, replies, retriesAtMs, timers()]).toEqual([3, ["a"], [], 0]);
  });

  test("backs off twice as long with each failure, to half a minute, and begins anew after a reply", async () => {
    const { poller, retriesAtMs, refuse, advance, answer, asked } = setup();
    poller.start();
    for (const delayMs of [2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      const before = asked.length;
      await refuse();
      await advance(delayMs - 1);
      expect(asked).toHaveLength(before);
      await advance(1);
      expect(asked).toHaveLength(before + 1);
    }
    expect(retriesAtMs).toEqual([2000, 6000, 14_000, 30_000, 60_000, 90_000]);
    await answer("a");
    await advance(2000);
    await refuse();
    expect(retriesAtMs.at(-1)).toBe(94_000);
  });

  test.each([400, 403, 404, 409])(
    "asks no more by itself what was refused with %i, until it is told to",
    async (status) => {
      const { poller, retriesAtMs, refuse, advance, answer, asked, replies, timers } = setup();
      const refusal = new FairlaneApiError({ code: "not-found", status, detail: "no" });
      poller.start();
      await refuse(refusal);
      expect([retriesAtMs, timers()]).toEqual([[null], 0]);
      await advance(3_600_000);
      expect(asked).toHaveLength(1);
      poller.askNow();
      await answer("a");
      await advance(2000);
      await refuse(refusal);
      poller.start();
      await answer("b");
      expect([asked.length, replies, timers()]).toEqual([4, ["a", "b"], 1]);
    },
  );

  test.each([
    ["rate-limited", 429],
    ["internal", 500],
    ["store-unavailable", 503],
    ["unexpected-reply", 404],
  ] as const)("asks again what failed with %s, %i", async (code, status) => {
    const { poller, retriesAtMs, refuse, advance, asked } = setup();
    poller.start();
    await refuse(new FairlaneApiError({ code, status, detail: "no" }));
    await advance(2000);
    expect([asked.length, retriesAtMs]).toEqual([2, [2000]]);
  });

  test("waits as long as the server asks for, within reason", async () => {
    const { poller, retriesAtMs, refuse, advance } = setup();
    poller.start();
    await refuse({ retryAfterMs: 7000 });
    await advance(7000);
    await refuse({ retryAfterMs: 3_600_000 });
    await advance(30_000);
    await refuse({ retryAfterMs: null });
    expect(retriesAtMs).toEqual([7000, 37_000, 45_000]);
  });

  test("without an interval asks when told to, and again after a failure", async () => {
    const { poller, asked, answer, advance, refuse, timers } = setup({ intervalMs: null });
    poller.start();
    await answer("a");
    expect(timers()).toBe(0);
    poller.askNow();
    await refuse();
    await advance(2000);
    expect(asked).toHaveLength(3);
  });
});
