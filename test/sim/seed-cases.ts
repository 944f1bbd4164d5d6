import { describe, expect, test } from "vitest";
import { simulate } from "./simulation.ts";
import { SUITES, type SuiteName } from "./suites.ts";

/** FAIRLANE_SIM_SEEDS runs more of them, FAIRLANE_SIM_FROM others: a failure prints its seed. */
const FROM = Number(process.env.FAIRLANE_SIM_FROM ?? 0);
/** Of one run, on a machine with other things to do. */
const SEED_TIMEOUT_MS = 5000;

/** Seeds take turns through the profiles; no guarantee is violated in any, and each can be replayed. */
export function holdsInSeeds(suite: SuiteName, usualSeeds: number, replays = true): void {
  const { titles } = SUITES[suite];
  const count = Number(process.env.FAIRLANE_SIM_SEEDS ?? usualSeeds);
  const seeds = Array.from({ length: count }, (_, at) => FROM + at);

  describe(`the simulator, ${suite}, seeds ${FROM} to ${FROM + count - 1}`, () => {
    for (const [at, title] of titles.entries()) {
      const own = seeds.filter((seed) => seed % titles.length === at);
      if (own.length === 0) continue;
      test(`${title} (${own.length} seeds)`, { timeout: 20_000 + own.length * SEED_TIMEOUT_MS }, async () => {
        for (const seed of own) {
          const { violations } = await simulate(seed, suite);
          const replay = `replay: node test/sim/run-seeds.ts --suite ${suite} --from ${seed} --lines 300`;
          const found = violations.map(({ guarantee, detail }) => `${guarantee}: ${detail}`);
          expect(found, `seed ${seed} (${replay})`).toEqual([]);
        }
      });
    }
  });

  if (!replays) return;
  describe("a seed", () => {
    test("gives the same run each time, and another seed another", async () => {
      const [first, again, other] = [
        await simulate(FROM + 1, suite),
        await simulate(FROM + 1, suite),
        await simulate(FROM + 2, suite),
      ];
      expect(again.traceHash).toBe(first.traceHash);
      expect(again.steps).toBe(first.steps);
      expect(other.traceHash).not.toBe(first.traceHash);
    });
  });
}
