import { describe, expect, test } from "vitest";
import { FairlaneError } from "../../../src/core/failure.ts";
import type { TenantCalls } from "../../../src/protocol/tenant-calls.ts";
import { TenantCaller, type Timing } from "../../../src/workers/http/tenant-caller.ts";

/** Timers that run when the test says so. */
function manualTiming() {
  const timers = new Map<number, { delayMs: number; task: () => void }>();
  let made = 0;
  const timing: Timing = {
    after: (delayMs, task) => {
      const id = made++;
      timers.set(id, { delayMs, task });
      return () => timers.delete(id);
    },
    random: () => 0.5,
  };
  /** Fires all that are no longer than `delayMs`, once there are any. */
  const fire = async (delayMs: number) => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    for (const [id, timer] of timers) {
      if (timer.delayMs > delayMs) continue;
      timers.delete(id);
      timer.task();
    }
  };
  return { timing, timers, fire };
}

const lost = (more: object = {}) => Object.assign(new Error("lost"), { retryable: true, ...more });

function setup(...answers: (() => Promise<unknown>)[]) {
  const { timing, timers, fire } = manualTiming();
  let stubs = 0;
  let calls = 0;
  const stub = new Proxy({}, { get: () => () => (answers[calls++] ?? (() => Promise.reject(lost())))() });
  const caller = new TenantCaller(() => {
    stubs++;
    return stub as TenantCalls;
  }, timing);
  const topics = () => caller.call("demo", "listTopics", {});
  const gc = () => caller.call("demo", "collect", {});
  return { caller, topics, gc, timers, fire, calls: () => calls, stubs: () => stubs };
}

const answered = (topics: string[]) => () => Promise.resolve({ ok: true, value: { topics } });
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "answered",
    (error) => (error instanceof FairlaneError ? error.failure.code : error.message),
  );

describe("calling a tenant object", () => {
  test("gives the value, or throws the failure that it answered", async () => {
    const { topics, timers } = setup(answered(["a"]), () =>
      Promise.resolve({ ok: false, error: { code: "conflict", detail: "d" } }),
    );
    expect(await topics()).toEqual({ topics: ["a"] });
    expect(await codeOf(topics())).toBe("conflict");
    expect(timers.size).toBe(0);
  });

  test("an idempotent call is tried again on a new stub, twice at most", async () => {
    const { topics, fire, calls, stubs } = setup(() => Promise.reject(lost()), answered(["a"]));
    const work = topics();
    await fire(1000);
    expect(await work).toEqual({ topics: ["a"] });
    expect([calls(), stubs()]).toEqual([2, 2]);

    const never = setup();
    const failing = codeOf(never.topics());
    await never.fire(1000);
    await never.fire(1000);
    expect(await failing).toBe("store-unavailable");
    expect(never.calls()).toBe(3);
  });

  test("a call that does something each time is not", async () => {
    const { gc, calls } = setup();
    expect(await codeOf(gc())).toBe("store-unavailable");
    expect(calls()).toBe(1);
  });

  test("an overloaded object is left alone", async () => {
    const { topics, calls } = setup(() => Promise.reject(lost({ overloaded: true })));
    expect(await codeOf(topics())).toBe("rate-limited");
    expect(calls()).toBe(1);
  });

  test("a fault inside the object is passed on as it is", async () => {
    const { topics, calls } = setup(() => Promise.reject(new TypeError("a bug")));
    expect(await codeOf(topics())).toBe("a bug");
    expect(calls()).toBe(1);
  });

  test("a call that hangs ends at its deadline, and is not tried again", async () => {
    const { topics, fire, calls, timers } = setup(() => new Promise(() => {}));
    const work = codeOf(topics());
    await fire(9999);
    expect(timers.size).toBe(1);
    await fire(10_000);
    expect(await work).toBe("store-unavailable");
    expect(calls()).toBe(1);
  });
});
