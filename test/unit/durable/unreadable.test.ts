import { describe, expect, test } from "vitest";
import { FairlaneError } from "../../../src/core/failure.ts";
import { Bench } from "./harness.ts";

async function setup(failure: () => Error) {
  const bench = new Bench();
  const [, bad] = await bench.publish(
    "t",
    ["good-1", "bad", "good-2"].map((id) => ({ id, partitionKey: id })),
  );
  const state = { broken: true };
  bench.withLog((log) => ({
    readMessages: async (topic, offsets) => {
      if (state.broken && offsets.includes(bad as number)) throw failure();
      return log.readMessages(topic, offsets);
    },
  }));
  return { bench, state };
}

describe("a message that cannot be read", () => {
  test("does not hold up the others, and the tenth time becomes a dead letter with that reason", async () => {
    const { bench } = await setup(() => new Error("a broken row"));
    const first = await bench.take("t", "g");
    expect(first.map(({ id }) => id).sort()).toEqual(["good-1", "good-2"]);
    await bench.settle("t", "g", first);
    const deadLetters = async () =>
      (await bench.call("deadLetters", { topic: "t", after: 0, limit: 10 })).deadLetters;
    expect(await deadLetters()).toEqual([]);
    expect(await bench.take("t", "g")).toEqual([]);
    expect(await deadLetters()).toMatchObject([
      { id: "bad", group: "g", reason: "the message cannot be read" },
    ]);
    expect(bench.count("queue_delivery_state")).toBe(0);
  });

  test("comes as its first attempt when it can be read again before that", async () => {
    const { bench, state } = await setup(() => new Error("a broken row"));
    await bench.settle("t", "g", await bench.take("t", "g"));
    state.broken = false;
    expect((await bench.take("t", "g")).map(({ id, attempt }) => `${id} ${attempt}`)).toEqual(["bad 1"]);
  });

  test("an unreachable log never counts", async () => {
    const failure = { code: "store-unavailable" as const, detail: "gone" };
    const { bench, state } = await setup(() => new FairlaneError(failure));
    for (let tries = 0; tries < 15; tries += 1) {
      const input = {
        topic: "t",
        group: "g",
        subscriber: "s",
        maxMessages: 10,
        waitMs: 0,
        visibilityTimeoutMs: null,
      };
      expect(await bench.failure("take", { ...input, takeId: `${tries}` })).toBe("store-unavailable");
      await bench.advance(4000);
    }
    state.broken = false;
    const deliveries = await bench.take("t", "g");
    expect(deliveries.map(({ id, attempt }) => `${id} ${attempt}`).sort()).toEqual([
      "bad 1",
      "good-1 1",
      "good-2 1",
    ]);
  });
});
