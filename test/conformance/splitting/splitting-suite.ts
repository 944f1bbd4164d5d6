import { describe, expect, test } from "vitest";
import { activationScenarios } from "./activation-scenarios.ts";
import { crashScenarios } from "./crash-scenarios.ts";
import { drainScenarios } from "./drain-scenarios.ts";
import { fenceScenarios } from "./fence-scenarios.ts";
import { handbackScenarios } from "./handback-scenarios.ts";
import type { MakeKeeper } from "./keeper.ts";
import type { Probe } from "./probe.ts";
import { routingScenarios } from "./routing-scenarios.ts";
import { Scene } from "./scene.ts";

export interface Scenario {
  /** From 1 to 30. */
  number: number;
  title: string;
  /** One test each; none: one test. */
  variants?: readonly string[];
  /** Whether the split is over at its end, so that nothing of it may be left; otherwise it is as it stands. */
  over: boolean;
  run(scene: Scene, variant: string): Promise<void>;
}

export interface SplittingProvider {
  name: string;
  /** A fresh broker, with an empty source. */
  makeProbe(): Promise<Probe>;
  /** Who keeps the document; without it, the phase machine alone. */
  keep?: MakeKeeper;
  /** By number, why a scenario cannot be had with it: a sentence, printed. */
  cannot: Readonly<Record<number, string>>;
}

export const SCENARIO_COUNT = 30;

export const SCENARIOS: readonly Scenario[] = [
  ...activationScenarios,
  ...routingScenarios,
  ...crashScenarios,
  ...drainScenarios,
  ...fenceScenarios,
  ...handbackScenarios,
].sort((a, b) => a.number - b.number);

/** Runs one scenario, and the auditor after it. Throws where anything is wrong. */
export async function runScenario(
  { makeProbe, keep }: Pick<SplittingProvider, "makeProbe" | "keep">,
  scenario: Scenario,
  variant = "",
): Promise<void> {
  const probe = await makeProbe();
  try {
    const scene = await Scene.open(probe, keep);
    await scenario.run(scene, variant);
    await scene.audit(scenario.over);
  } finally {
    await probe.close();
  }
}

/** What every provider of brokered splits does. A provider's test file only wires it up. */
export function splittingSuite(provider: SplittingProvider): void {
  const { name, cannot } = provider;
  describe(`splitting: ${name}`, () => {
    for (const scenario of SCENARIOS) {
      const { number, title, variants = [""] } = scenario;
      for (const variant of variants) {
        const full = `scenario ${String(number).padStart(2, "0")} ${title}${variant && `: ${variant}`}`;
        // The last test prints what is left out, with its reason.
        if (cannot[number] === undefined) test(full, () => runScenario(provider, scenario, variant));
      }
    }

    test("every scenario is there, and each that is left out has its reason", () => {
      expect(new Set(SCENARIOS.map(({ number }) => number))).toEqual(
        new Set(Array.from({ length: SCENARIO_COUNT }, (_, index) => index + 1)),
      );
      for (const [number, reason] of Object.entries(cannot)) {
        console.log(`${name} cannot do scenario ${number}: ${reason}`);
        expect(reason.trim().length, `the reason of scenario ${number}`).toBeGreaterThan(10);
        expect(SCENARIOS.map((each) => String(each.number))).toContain(number);
      }
    });
  });
}
