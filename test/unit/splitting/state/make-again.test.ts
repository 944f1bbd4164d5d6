import { describe, expect, test } from "vitest";
import { PHASES, type Phase, type WorkingPhase } from "../../../../src/splitting/state/phase.ts";
import { step } from "../../../../src/splitting/state/phase-machine.ts";
import type { ResourceKind, SplitState } from "../../../../src/splitting/state/split-state.ts";
import { NOW_MS, next, REPORTS, refusal, report, splitIn } from "./splits.ts";

const KINDS: readonly ResourceKind[] = ["app-shadow", "route-shadow", "fence", "checkpoint"];
const WORKING = PHASES.filter((phase): phase is WorkingPhase => phase !== "Inactive");

/** Where one of each kind was made, held in this phase. */
function heldIn(phase: WorkingPhase): SplitState {
  const resources = KINDS.map((kind) => ({
    kind,
    queue: "orders",
    slot: kind === "route-shadow" ? 0 : null,
  }));
  const recorded = report(splitIn("Preparing"), { kind: "record", resources });
  const made = report(recorded, { kind: "created", names: recorded.resources.map(({ name }) => name) });
  return report({ ...splitIn(phase), resources: made.resources }, REPORTS.failed);
}

function nameOf(state: SplitState, kind: ResourceKind): string {
  return state.resources.find((one) => one.kind === kind)?.name ?? expect.fail(`a ${kind}`);
}

const again = (state: SplitState, ...kinds: ResourceKind[]) =>
  step(state, { kind: "resume", makeAgain: kinds.map((kind) => nameOf(state, kind)) }, NOW_MS);

const SHADOWS_NEEDED: readonly Phase[] = [
  "Preparing",
  "QuiescingApp",
  "StartingPump",
  "RedirectingApp",
  "Active",
  "DrainingApp",
  "QuiescingHandback",
  "HandingBack",
];
const ALLOWED: Partial<Record<ResourceKind, readonly Phase[]>> = {
  "app-shadow": SHADOWS_NEEDED,
  "route-shadow": [...SHADOWS_NEEDED, "AbortingActivation"],
};

describe("a resume that has a shadow made again", () => {
  test.each(WORKING)("held in %s: of the kinds that are needed there", (phase) => {
    const held = heldIn(phase);
    for (const kind of KINDS) {
      const result = again(held, kind);
      if (!ALLOWED[kind]?.includes(phase)) {
        expect(refusal(result), kind).toMatch(/^(phase|conflict)/);
        continue;
      }
      const state = result.kind === "next" ? result.state : expect.fail(`${kind}: ${JSON.stringify(result)}`);
      expect(state.phase).toEqual({ name: phase });
      const kept = held.resources.map((one) => (one.kind === kind ? { ...one, state: "recorded" } : one));
      expect(state.resources).toEqual(kept);
      expect(result).toMatchObject({ actions: [{ command: { resources: kept } }] });
    }
  });

  test("takes all of the names or none, and goes on only then", () => {
    const held = heldIn("Active");
    const both = again(held, "app-shadow", "route-shadow");
    expect(both).toMatchObject({ kind: "next", state: { phase: { name: "Active" } } });
    expect(refusal(again(held, "app-shadow", "fence"))).toBe("conflict: a fence is not made again");
    const makeAgain = [nameOf(held, "app-shadow"), "fairlane-look-alike"];
    expect(refusal(step(held, { kind: "resume", makeAgain }, NOW_MS))).toMatch(/^not-found/);
  });

  test("without names leaves the inventory as it is", () => {
    const held = heldIn("Active");
    expect(next(held, { kind: "resume" }).resources).toEqual(held.resources);
    expect(next(held, { kind: "resume", makeAgain: [] }).resources).toEqual(held.resources);
  });

  test("is for a held split: a second one changes nothing, and one that comes too late or early is told so", () => {
    const held = heldIn("Active");
    const makeAgain = [nameOf(held, "app-shadow")];
    const resumed = next(held, { kind: "resume", makeAgain });
    expect(step(resumed, { kind: "resume", makeAgain }, NOW_MS)).toEqual({ kind: "unchanged" });
    const made = report(resumed, { kind: "created", names: makeAgain });
    expect(refusal(step(made, { kind: "resume", makeAgain }, NOW_MS))).toMatch(/^phase: it is not held/);
    expect(refusal(step(made, { kind: "resume", makeAgain: ["nobody"] }, NOW_MS))).toMatch(/^not-found/);
  });

  test("nothing that is about to be deleted", () => {
    const cleaning = splitIn("CleaningUp");
    const name = cleaning.resources[0]?.name ?? "";
    const deleting = report(cleaning, { kind: "deleting", name, evidence: "empty" });
    const held = report(deleting, REPORTS.failed);
    expect(refusal(step(held, { kind: "resume", makeAgain: [name] }, NOW_MS))).toMatch(/^phase/);
  });
});
