import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientOf } from "./client.ts";
import { freshTopic, type Live, numbered, setup } from "./harness.ts";

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live.close());

/** With one alone, answers come too fast for a receive to be open at the wrong moment. */
const TOPICS = 20;

test("nothing of a partition is handled behind a postponed message, also not what an open receive was granted", async () => {
  const expected = numbered(30, "one").map(({ id }) => id);
  const runs = await Promise.all(Array.from({ length: TOPICS }, handledWithOnePostponed));
  for (const handled of runs) expect(handled).toEqual([...expected.slice(0, 3), ...expected.slice(2)]);
});

async function handledWithOnePostponed(): Promise<string[]> {
  const topic = freshTopic("postponed");
  const fairlane = clientOf(live);
  await fairlane.publishBatch(topic, numbered(30, "one"));
  const stop = new AbortController();
  const handled: string[] = [];
  let postponed = false;
  await fairlane.consume(topic, {
    group: "g",
    signal: stop.signal,
    handler: async (message) => {
      handled.push(message.id);
      // The work, in which the consumer asks for more.
      await pause(15);
      if (message.id === "m29") stop.abort();
      if (message.id !== "m2" || postponed) return;
      postponed = true;
      void message.postpone(700);
    },
  });
  return handled;
}
