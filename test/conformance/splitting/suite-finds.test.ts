import { describe, expect, test } from "vitest";
import { type EngineFaults, NO_FAULTS } from "../../model-broker/engine-faults.ts";
import { ModelProbe } from "../../model-broker/model-probe.ts";
import type { QueueKind } from "../../model-broker/queue.ts";
import { runScenario, SCENARIOS } from "./splitting-suite.ts";

const BOTH: readonly QueueKind[] = ["queue", "log"];

/** By mistake, the scenario that must go red with it, and on which sources it can be made. */
const FOUND_BY: Readonly<Record<keyof EngineFaults, { scenario: number; on: readonly QueueKind[] }>> = {
  settlesBeforePublish: { scenario: 29, on: BOTH },
  deletesWithoutLooking: { scenario: 15, on: BOTH },
  seedsAgain: { scenario: 9, on: ["log"] },
  pumpsWhileDraining: { scenario: 16, on: BOTH },
  forgetsBeforeDelete: { scenario: 30, on: BOTH },
  createsBeforeRecord: { scenario: 30, on: BOTH },
  switchesAtOnce: { scenario: 10, on: BOTH },
  keepsCopyHeaders: { scenario: 8, on: ["queue"] },
  limitsDeliveries: { scenario: 28, on: BOTH },
  trustsConfirms: { scenario: 29, on: BOTH },
  emptiesNullBodies: { scenario: 7, on: BOTH },
  leavesPositions: { scenario: 26, on: ["log"] },
  trustsTheFence: { scenario: 23, on: BOTH },
};

/** Variants of a scenario that go red. */
async function redVariants(
  kind: QueueKind,
  number: number,
  faults: Partial<EngineFaults>,
): Promise<string[]> {
  const red: string[] = [];
  for (const scenario of SCENARIOS.filter((each) => each.number === number)) {
    for (const variant of scenario.variants ?? [""]) {
      const run = runScenario({ makeProbe: async () => new ModelProbe({ kind, faults }) }, scenario, variant);
      await run.catch((error: unknown) => red.push(`${variant}: ${error}`));
    }
  }
  return red;
}

describe("the suite finds an engine that", () => {
  const cases = Object.entries(FOUND_BY).flatMap(([fault, { scenario, on }]) =>
    on.map((kind) => ({ fault: fault as keyof EngineFaults, kind, scenario })),
  );

  test.each(cases)("$fault, on a $kind, by scenario $scenario", async ({ fault, kind, scenario }) => {
    expect(await redVariants(kind, scenario, NO_FAULTS)).toEqual([]);
    expect(await redVariants(kind, scenario, { [fault]: true })).not.toEqual([]);
  });
});
