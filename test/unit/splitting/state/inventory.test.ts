import { describe, expect, test } from "vitest";
import { resourceName } from "../../../../src/splitting/state/names.ts";
import { step } from "../../../../src/splitting/state/phase-machine.ts";
import type { ResourceRef } from "../../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../../src/splitting/state/split-state.ts";
import { IDENTITY, NOW_MS, next, refusal, report, reported, splitIn } from "./splits.ts";

const ref = (kind: ResourceRef["kind"], queue = "orders", slot: number | null = null) => ({
  kind,
  queue,
  slot,
});
const record = (state: SplitState, ...resources: ResourceRef[]) =>
  step(state, reported(state, { kind: "record", resources }), NOW_MS);
const nameOf = ({ kind, queue, slot }: ResourceRef) =>
  resourceName({ prefix: "fairlane", ...IDENTITY, kind, queue, slot });

describe("the inventory", () => {
  test("records by names of its own, before anything is made, and once", () => {
    const refs = [ref("fence"), ref("checkpoint"), ref("route-shadow", "orders", 1)];
    const state = report(splitIn("Preparing"), { kind: "record", resources: refs });
    expect(state.resources.slice(1)).toEqual(
      refs.map((one) => ({ ...one, name: nameOf(one), state: "recorded" })),
    );
    expect(record(state, ...refs)).toEqual({ kind: "unchanged" });
    const names = state.resources.map(({ name }) => name);
    const made = report(state, { kind: "created", names });
    expect(made.resources.map((one) => one.state)).toEqual(Array(4).fill("created"));
    expect(step(made, reported(made, { kind: "created", names }), NOW_MS)).toEqual({ kind: "unchanged" });
  });

  test("what was recorded may be said again in any phase, and what is new only where it is made", () => {
    expect(record(splitIn("Active"), ref("app-shadow"))).toEqual({ kind: "unchanged" });
    expect(refusal(record(splitIn("Active"), ref("app-shadow", "audit")))).toMatch(/^phase/);
    expect(refusal(record(splitIn("DrainingApp"), ref("route-shadow", "orders", 0)))).toMatch(/^phase/);
    expect(refusal(record(splitIn("CleaningUp"), ref("fence")))).toMatch(/^phase/);
    expect(record(splitIn("AbortingActivation"), ref("fence"))).toMatchObject({ kind: "next" });
    expect(record(splitIn("Active"), ref("route-shadow", "orders", 0))).toMatchObject({ kind: "next" });
  });

  test("refuses what no part of the split is", () => {
    const state = splitIn("Preparing");
    expect(refusal(record(state, ref("fence", "other")))).toMatch(/^not-found/);
    expect(refusal(record(state, ref("fence", "orders", 0)))).toMatch(/^incomplete/);
    expect(refusal(record(state, ref("route-shadow")))).toMatch(/^incomplete/);
    expect(refusal(record(state, ref("route-shadow", "orders", 7)))).toMatch(/^not-found/);
    const unknown = reported(state, { kind: "created", names: ["fairlane-look-alike"] });
    expect(refusal(step(state, unknown, NOW_MS))).toMatch(/^not-found/);
  });

  test("all or nothing of a report is recorded", () => {
    const state = splitIn("Preparing");
    expect(record(state, ref("fence"), ref("fence", "other")).kind).toBe("refused");
  });
});

describe("deleting", () => {
  const name = nameOf(ref("app-shadow"));
  const say = (state: SplitState, kind: "deleting" | "deleted", evidence = "empty") =>
    step(state, reported(state, { kind, name, evidence }), NOW_MS);

  test("takes two proofs: that it may be, and that it was", () => {
    const state = splitIn("CleaningUp");
    expect(refusal(say(state, "deleted"))).toMatch(/^incomplete/);
    expect(refusal(say(state, "deleting", " "))).toMatch(/^incomplete/);
    const deleting = report(state, { kind: "deleting", name, evidence: "empty" });
    expect(deleting.resources).toMatchObject([{ name, state: "deleting" }]);
    expect(say(deleting, "deleting")).toEqual({ kind: "unchanged" });
    const deleted = report(deleting, { kind: "deleted", name, evidence: "gone" });
    expect(deleted.resources).toEqual([]);
    expect(refusal(say(deleted, "deleted"))).toMatch(/^not-found/);
    expect(report(deleted, { kind: "cleaned" })).toMatchObject({
      phase: { name: "Inactive" },
      resources: [],
    });
  });

  test("nothing of a look-alike", () => {
    const state = splitIn("CleaningUp");
    const other = reported(state, { kind: "deleting", name: `${name}x`, evidence: "empty" });
    expect(refusal(step(state, other, NOW_MS))).toMatch(/^not-found.*left alone/);
  });

  test("nothing while the application is not restored", () => {
    expect(refusal(say(splitIn("RestoringApp"), "deleting"))).toMatch(/^phase/);
    expect(refusal(say(report(splitIn("CleaningUp"), failed), "deleting"))).toMatch(/^phase/);
  });
  const failed = { kind: "failed", failure: "NeedsDrain", detail: "a delivery is held" } as const;

  test("a cleanup with something left does not end; a resource that cannot be proved is retained with its reason", () => {
    const state = splitIn("CleaningUp");
    expect(refusal(step(state, reported(state, { kind: "cleaned" }), NOW_MS))).toMatch(/^incomplete/);
    const kept = report(state, { kind: "retained", name, reason: "somebody consumes from it" });
    expect(kept.resources).toEqual([]);
    expect(kept.retained).toEqual([{ ...ref("app-shadow"), name, reason: "somebody consumes from it" }]);
  });

  test("goes on after it was held and resumed", () => {
    const deleting = report(splitIn("CleaningUp"), { kind: "deleting", name, evidence: "empty" });
    const resumed = next(report(deleting, failed), { kind: "resume" });
    expect(report(resumed, { kind: "deleted", name, evidence: "gone" }).resources).toEqual([]);
  });
});
