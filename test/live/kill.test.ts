import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, test } from "vitest";
import { type Live, setup } from "./harness.ts";
import { underLoad } from "./kill-load.ts";
import { seeded, seedFrom } from "./seeded.ts";

const KILLS = 8;

let live: Live;
beforeAll(async () => {
  live = await setup();
});
afterAll(() => live?.close());

test("SIGKILL under load: all accepted is delivered in order, nothing is skipped, no confirmed ack undone", async () => {
  const seed = seedFrom("KILL_SEED");
  const random = seeded(seed);
  await underLoad(live.api("demo"), "orders", seed, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      // Sometimes hardly up again, mostly in the middle of the load.
      await pause(random.fraction() < 0.25 ? random.between(0, 100) : random.between(300, 2500));
      await live.kill();
      await live.restart();
    }
    await pause(500);
  });
}, 120_000);
