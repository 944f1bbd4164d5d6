import { describe, expect, test } from "vitest";
import { PatchedSource } from "./patched-source.ts";
import { simulate } from "./simulation.ts";
import type { SourcePatch } from "./source-patches.ts";
import { SUITES, type SuiteName } from "./suites.ts";

/** Turns through all profiles that a fault may take to show. */
const ROUNDS = 10;
const RARE_ROUNDS = 60;
const TIMEOUT_MS = 120_000;

/** The simulator finds each fault, and nothing in the same seeds without it; those below `triedSeeds` others have run. */
export function findsFaults(suite: SuiteName, patches: readonly SourcePatch[], triedSeeds = 0): void {
  const { titles } = SUITES[suite];
  /** Seeds that showed a fault: without it they show nothing. */
  const tellingSeeds = new Set<number>();

  describe.concurrent("the simulator finds", () => {
    test.for(patches)("$guarantee: $name", { timeout: TIMEOUT_MS }, async (patch, { expect }) => {
      const source = new PatchedSource(patch);
      try {
        const count = (patch.rare ? RARE_ROUNDS : ROUNDS) * titles.length;
        const results = await source.runSeeds(count, patch.title, patch.guarantee, suite);
        const last = results.at(-1);
        expect(last?.violations.map(({ guarantee }) => guarantee)).toContain(patch.guarantee);
        if (last) tellingSeeds.add(last.seed);
      } finally {
        source.dispose();
      }
    });
  });

  describe("the same seeds without a fault", () => {
    test("show no violation", { timeout: TIMEOUT_MS }, async () => {
      expect(tellingSeeds.size).toBeGreaterThan(0);
      for (const seed of tellingSeeds) {
        if (seed < triedSeeds) continue;
        const { violations } = await simulate(seed, suite);
        expect(violations, `seed ${seed}`).toEqual([]);
      }
    });
  });
}
