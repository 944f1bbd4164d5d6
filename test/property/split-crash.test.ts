import { describe, expect, test } from "vitest";
import { abortedLife } from "../conformance/splitting/aborted-life.ts";
import { wholeLife } from "../conformance/splitting/whole-life.ts";
import { type EngineFaults, NO_FAULTS } from "../model-broker/engine-faults.ts";
import type { ModelAgent } from "../model-broker/model-agent.ts";
import { type ModelOptions, ModelProbe } from "../model-broker/model-probe.ts";
import type { QueueKind } from "../model-broker/queue.ts";
import type { Crash } from "../model-broker/scheduler.ts";
import { Prng } from "../sim/prng.ts";

const KINDS: readonly QueueKind[] = ["queue", "log"];
/** Another seed gives other orders and other pairs: SPLIT_SEED picks it, SPLIT_PAIRS how many pairs of crashes. */
const SEED = integerFrom("SPLIT_SEED", 20_261_130);
const PAIRS = integerFrom("SPLIT_PAIRS", 60);
/** Before the n-th step is hardly another place than after the one before it: so fewer of them. */
const SEEDS_FOR_A_FAULT = 3;
const STRIDE = { before: 4, after: 1, cut: 3 };

interface Outcome {
  wrong: string[];
  /** Of the agents, in their order. */
  steps: number[];
}

type Script = (probe: ModelProbe) => Promise<string[]>;

/** A life in which the n-th agent dies where the n-th crash says. */
async function liveWith(
  options: ModelOptions,
  crashes: readonly Crash[],
  live: Script = wholeLife,
): Promise<Outcome> {
  const probe = new ModelProbe(options);
  const agents: ModelAgent[] = [];
  probe.onAgent = (agent) => {
    const crash = crashes[agents.length];
    agents.push(agent);
    if (crash) agent.crashBy(crash);
  };
  const wrong = await live(probe);
  await probe.close();
  return { wrong, steps: agents.map(({ process }) => process.steps) };
}

/** What the first life that goes wrong says, of those without a crash and with one at each step; "": none does. */
async function firstWrong(options: ModelOptions): Promise<string> {
  for (let seed = SEED; seed < SEED + SEEDS_FOR_A_FAULT; seed++) {
    const { wrong, steps } = await liveWith({ ...options, seed }, []);
    if (wrong[0]) return wrong[0];
    for (let step = 1; step <= (steps[0] ?? 0); step++) {
      const { wrong } = await liveWith({ ...options, seed }, [{ at: { step }, when: "after" }]);
      if (wrong[0]) return `after step ${step}: ${wrong[0]}`;
    }
  }
  return "";
}

function integerFrom(name: string, otherwise: number): number {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} must be a positive integer`);
  return value;
}

console.log(`SPLIT_SEED=${SEED}`);

/** Everything that is wrong with lives that crash at one step each, from the first to the last. */
async function wrongAtAnyStep(options: ModelOptions, when: Crash["when"], live?: Script): Promise<string[]> {
  const { steps, wrong } = await liveWith(options, [], live);
  const count = steps[0] ?? 0;
  if (count < 50) wrong.push(`a life of ${count} steps is too short to tell anything`);
  for (let step = 1; step <= count; step += STRIDE[when]) {
    const outcome = await liveWith(options, [{ at: { step }, when }], live);
    wrong.push(...outcome.wrong.map((what) => `${when} step ${step}: ${what}`));
    // A crash that did not come proves nothing. One at the very last step, or that cuts no connection, may be nobody's.
    const died = outcome.steps.length === 2 || step === count || when === "cut";
    if (!died) wrong.push(`${when} step ${step}: ${outcome.steps.length} agents lived`);
  }
  return wrong;
}

describe.each(KINDS)("a split of a %s", (kind) => {
  test("goes right without a crash, in many orders", async () => {
    for (let seed = SEED; seed < SEED + 10; seed++) {
      const { wrong, steps } = await liveWith({ kind, seed }, []);
      expect({ wrong, agents: steps.length }, `seed ${seed}`).toEqual({ wrong: [], agents: 1 });
    }
  });

  test.each(["after", "before", "cut"] as const)("goes right with a crash at any step: %s", async (when) => {
    expect(await wrongAtAnyStep({ kind, seed: SEED }, when)).toEqual([]);
  });

  test.each([false, true])(
    "is called off rightly with a crash at any step; redirected: %s",
    async (redirected) => {
      const live: Script = (probe) => abortedLife(probe, redirected);
      expect(await wrongAtAnyStep({ kind, seed: SEED }, "after", live)).toEqual([]);
    },
  );

  test("goes right with two crashes, the second while the first is recovered from or later", async () => {
    const random = new Prng(SEED);
    const { steps } = await liveWith({ kind, seed: SEED }, []);
    for (let pair = 0; pair < PAIRS; pair++) {
      const crashes: Crash[] = [steps[0] ?? 0, random.chance(0.5) ? 12 : 90].map((most) => ({
        at: { step: random.int(1, most) },
        when: random.pick(["before", "after", "cut"]),
      }));
      const seed = random.int(1, 1e9);
      const { wrong } = await liveWith({ kind, seed }, crashes);
      expect(wrong, `pair ${pair}, seed ${seed}: ${JSON.stringify(crashes)}`).toEqual([]);
    }
  });
});

describe("the auditor finds", () => {
  /** Those that a life of plain messages on such a source can show. The others have scenarios of their own. */
  const SHOWN: Record<string, { kinds: readonly QueueKind[]; as: RegExp }> = {
    settlesBeforePublish: { kinds: KINDS, as: /is lost/ },
    seedsAgain: { kinds: ["log"], as: /times/ },
    forgetsBeforeDelete: { kinds: KINDS, as: /forgotten and is still there/ },
    createsBeforeRecord: { kinds: KINDS, as: /made and is not recorded/ },
    switchesAtOnce: { kinds: ["queue"], as: /is in two shadows/ },
  };
  const cases = Object.entries(SHOWN).flatMap(([fault, { kinds, as }]) =>
    kinds.map((kind) => ({ fault, kind, as })),
  );

  test.each(cases)("$fault on a $kind", async ({ fault, kind, as }) => {
    expect(NO_FAULTS).toHaveProperty(fault, false);
    const faults: Partial<EngineFaults> = { [fault]: true };
    expect(await firstWrong({ kind, faults })).toMatch(as);
  });
});
