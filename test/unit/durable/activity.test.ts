import { describe, expect, test } from "vitest";
import { Bench, numbered } from "./harness.ts";

async function setup() {
  const bench = new Bench({ announces: true });
  await bench.call("putTopic", { topic: "t", settings: { retentionMs: 1000, maxRetentionMs: 5000 } });
  const rose = () => bench.engine.tenant.activity.rose();
  const idle = async () => {
    const { idle, activity } = await bench.call("collect", {});
    return { idle, activity };
  };
  return { bench, rose, idle };
}

describe("idle", () => {
  test("an object without messages, lanes and subscribers is idle", async () => {
    const { idle } = await setup();
    expect(await idle()).toEqual({ idle: true, activity: 0 });
  });

  test("one with a message, a live subscriber or a lease is not; when all have ended it is again", async () => {
    const { bench, idle } = await setup();
    await bench.publish("t", numbered(1));
    expect((await idle()).idle).toBe(false);
    await bench.drain("t", "g");
    await bench.advance(1000);
    await bench.call("collect", {});
    expect(await bench.call("getTopic", { topic: "t" })).toMatchObject({ messages: 0 });
    expect((await idle()).idle).toBe(false);
    await bench.advance(60_000);
    expect((await idle()).idle).toBe(true);
  });

  test("what comes while a pass runs makes its answer not idle", async () => {
    const { bench, rose } = await setup();
    await bench.call("collect", {});
    rose();
    const pass = bench.call("collect", {});
    rose();
    expect(await pass).toMatchObject({ idle: false });
  });

  test("an object that cannot announce never says idle", async () => {
    expect(await new Bench().call("collect", {})).toMatchObject({ idle: false });
  });
});

describe("announcements", () => {
  test("a publish and a group made by a receive announce; a duplicate does not", async () => {
    const { bench, idle } = await setup();
    await bench.publish("t", numbered(1));
    expect(bench.announced).toEqual([1]);
    await bench.advance(5000);
    expect(await idle()).toEqual({ idle: true, activity: 1 });
    await bench.take("t", "g");
    expect(bench.announced).toEqual([1, 2]);
    await bench.publish("t", numbered(1));
    await bench.drain("t", "g");
    await bench.advance(120_000);
    expect(await idle()).toEqual({ idle: true, activity: 2 });
  });

  test("the alarm tries again what failed", async () => {
    const { bench } = await setup();
    bench.registryFails = true;
    await bench.publish("t", numbered(1));
    await bench.advance(1500);
    bench.registryFails = false;
    await bench.advance(10_000);
    expect(bench.announced).toEqual([1]);
  });

  test("the first message after an idle answer is announced with a higher number, the next ones are not", async () => {
    const { bench, rose, idle } = await setup();
    rose();
    rose();
    expect(bench.announced).toEqual([1]);
    const { idle: isIdle, activity } = await idle();
    expect({ isIdle, activity }).toEqual({ isIdle: true, activity: 1 });
    rose();
    expect(bench.announced).toEqual([1, 2]);
  });

  test("after a restart it is announced anew: nobody knows what was answered", async () => {
    const { bench, rose, idle } = await setup();
    rose();
    expect(await idle()).toEqual({ idle: true, activity: 1 });
    bench.restart();
    bench.engine.tenant.activity.rose();
    expect(bench.announced).toEqual([1, 2]);
  });

  test("one that fails is tried again with backoff until it succeeds, and arms the alarm", async () => {
    const { bench, rose } = await setup();
    const activity = bench.engine.tenant.activity;
    bench.registryFails = true;
    rose();
    await bench.advance(0);
    expect(activity.retryAtMs).toBe(bench.nowMs + 1000);
    expect(bench.alarmAtMs).toBe(bench.nowMs + 1000);
    bench.nowMs += 1000;
    await activity.announce();
    expect(activity.retryAtMs).toBe(bench.nowMs + 2000);
    bench.registryFails = false;
    await activity.announce();
    expect(bench.announced).toEqual([1]);
    expect(activity.retryAtMs).toBeNull();
    await activity.announce();
    expect(bench.announced).toEqual([1]);
  });

  test("one that failed is not needed any more once the object is idle", async () => {
    const { bench, rose, idle } = await setup();
    bench.registryFails = true;
    rose();
    await bench.advance(0);
    expect(await idle()).toEqual({ idle: true, activity: 1 });
    expect(bench.engine.tenant.activity.retryAtMs).toBeNull();
  });
});
