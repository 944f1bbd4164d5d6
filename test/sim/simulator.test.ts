import { describe, expect, test } from "vitest";
import { PROFILE_TITLES } from "./profile.ts";
import { simulate } from "./simulation.ts";

/** FAIRLANE_SIM_SEEDS runs more of them, FAIRLANE_SIM_FROM others: a failure prints its seed. */
const SEEDS = Number(process.env.FAIRLANE_SIM_SEEDS ?? 300);
const FROM = Number(process.env.FAIRLANE_SIM_FROM ?? 0);
/** Of one run, on a machine with other things to do. */
const SEED_TIMEOUT_MS = 5000;

const seeds = Array.from({ length: SEEDS }, (_, at) => FROM + at);

describe(`the simulator, seeds ${FROM} to ${FROM + SEEDS - 1}`, () => {
  for (const [at, title] of PROFILE_TITLES.entries()) {
    const own = seeds.filter((seed) => seed % PROFILE_TITLES.length === at);
    if (own.length === 0) continue;
    test(`${title} (${own.length} seeds)`, { timeout: 20_000 + own.length * SEED_TIMEOUT_MS }, async () => {
      for (const seed of own) {
        const { violations } = await simulate(seed);
        const replay = `replay: node test/sim/run-seeds.ts --from ${seed} --lines 300`;
        const found = violations.map(({ guarantee, detail }) => `${guarantee}: ${detail}`);
        expect(found, `seed ${seed} (${replay})`).toEqual([]);
      }
    });
  }
});

describe("a seed", () => {
  test("gives the same run each time, and another seed another", async () => {
    const [first, again, other] = [
      await simulate(FROM + 1),
      await simulate(FROM + 1),
      await simulate(FROM + 2),
    ];
    expect(again.traceHash).toBe(first.traceHash);
    expect(again.steps).toBe(first.steps);
    expect(other.traceHash).not.toBe(first.traceHash);
  });
});
