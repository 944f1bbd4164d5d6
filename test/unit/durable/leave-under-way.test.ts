import { describe, expect, test } from "vitest";
import { Bench, numbered } from "./harness.ts";

const ref = { topic: "t", group: "g" };

/** A group with messages, a subscriber of which a receive is in its first look at the log, and what lets that go on. */
async function setup(method: "scanTopic" | "readMessages") {
  const bench = new Bench();
  await bench.publish("t", numbered(3, "a"));
  await bench.call("putGroup", { ...ref, settings: {} });
  let arrived = () => {};
  const looking = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let goOn = () => {};
  const allowed = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  bench.withLog((log) => {
    const gate = async <T>(work: () => Promise<T>): Promise<T> => {
      arrived();
      await allowed;
      return work();
    };
    return method === "scanTopic"
      ? { scanTopic: (...args) => gate(() => log.scanTopic(...args)) }
      : { readMessages: (...args) => gate(() => log.readMessages(...args)) };
  });
  const input = {
    ...ref,
    subscriber: "worker-1",
    maxMessages: 10,
    waitMs: 5000,
    visibilityTimeoutMs: null,
    takeId: "first",
  };
  const taking = bench.call("take", input);
  await looking;
  return { bench, taking, goOn };
}

describe("leaving while a receive of the subscriber looks at the log for the first time", () => {
  test.each(["scanTopic", "readMessages"] as const)(
    "at %s: the receive ends with nothing",
    async (method) => {
      const { bench, taking, goOn } = await setup(method);
      await bench.call("leave", { ...ref, subscriber: "worker-1" });
      goOn();
      expect(await taking).toEqual({ deliveries: [], grants: [], partitions: [], partitionsHeld: 0 });
      expect((await bench.call("subscribers", ref)).subscribers).toEqual([]);
      const [first] = await bench.take("t", "g", { subscriber: "worker-2" });
      expect(first).toMatchObject({ id: "m0", attempt: 1 });
    },
  );

  test("a receive that its sender called off ends as well", async () => {
    const { bench, taking, goOn } = await setup("scanTopic");
    await bench.call("giveBack", { ...ref, takeId: "first", receipts: [] });
    goOn();
    expect((await taking).deliveries).toEqual([]);
    expect(await bench.take("t", "g", { subscriber: "worker-2" })).toHaveLength(3);
  });

  test("another subscriber's receive goes on", async () => {
    const { bench, taking, goOn } = await setup("scanTopic");
    await bench.call("leave", { ...ref, subscriber: "worker-2" });
    goOn();
    expect((await taking).deliveries).toHaveLength(3);
  });
});
