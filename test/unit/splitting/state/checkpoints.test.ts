import { describe, expect, test } from "vitest";
import { PHASES } from "../../../../src/splitting/state/phase.ts";
import { step } from "../../../../src/splitting/state/phase-machine.ts";
import { position } from "../../../../src/splitting/state/position.ts";
import type { SplitState } from "../../../../src/splitting/state/split-state.ts";
import { degradedIn, NOW_MS, next, REPORTS, refusal, report, reported, splitIn } from "./splits.ts";

const LATER = { kind: "checkpointed", queue: "audit", checkpoint: '{"at":9}' } as const;
const checkpoints = ({ sources }: SplitState) => sources.map(({ checkpoint }) => checkpoint);

describe("a later checkpoint", () => {
  test("takes the place of that of its queue, and of nothing else", () => {
    const before = splitIn("Active");
    const after = report(before, LATER);
    expect(checkpoints(after)).toEqual([checkpoints(before)[0], '{"at":9}']);
    const { sources: _, generation: __, ...rest } = before;
    expect(after).toMatchObject(rest);
  });

  test("may be the first: an engine remembers what it prepares before it has prepared all", () => {
    const state = report(splitIn("Preparing"), LATER);
    expect(checkpoints(state)).toEqual([null, '{"at":9}']);
    expect(checkpoints(report(state, REPORTS.prepared))).toEqual(['{"at":"orders"}', '{"at":"audit"}']);
  });

  test("that is there already changes nothing, in whichever phase", () => {
    for (const phase of PHASES) {
      const state = splitIn(phase);
      const [, audit] = state.sources;
      if (audit?.checkpoint == null) continue;
      const same = reported(state, { ...LATER, checkpoint: audit.checkpoint });
      expect(step(state, same, NOW_MS), phase).toEqual({ kind: "unchanged" });
    }
    const held = degradedIn("Active");
    const same = reported(held, { ...LATER, checkpoint: '{"at":"audit"}' });
    expect(step(held, same, NOW_MS)).toEqual({ kind: "unchanged" });
  });

  test("outlives what follows, up to the end of the split", () => {
    let state = report(next(splitIn("Active"), { kind: "stop" }), LATER);
    state = next(report(state, REPORTS.failed), { kind: "resume" });
    state = next(state, { kind: "agentJoined" });
    state = report(state, REPORTS.pumpStopped);
    expect(checkpoints(state)[1]).toBe('{"at":9}');
    expect(checkpoints(report(state, { ...LATER, checkpoint: '{"at":10}' }))[1]).toBe('{"at":10}');
  });

  test("of no queue of the workload, of an older agent or of an earlier stay is refused", () => {
    const state = splitIn("Active");
    const event = reported(state, LATER);
    expect(refusal(step(state, reported(state, { ...LATER, queue: "other" }), NOW_MS))).toMatch(/^not-found/);
    expect(refusal(step(next(state, { kind: "agentJoined" }), event, NOW_MS))).toMatch(/^fenced/);
    expect(refusal(step(next(state, { kind: "stop" }), event, NOW_MS))).toMatch(/^stale/);
    // Not even one that would change nothing: its sender has to hear that it is out.
    const same = reported(state, { ...LATER, checkpoint: '{"at":"audit"}' });
    expect(refusal(step(next(state, { kind: "agentJoined" }), same, NOW_MS))).toMatch(/^fenced/);
  });
});

describe("a position where it comes in", () => {
  test.each<[string, string, boolean]>([
    ["as large as it may be", "x".repeat(16 * 1024), true],
    ["one byte larger", "x".repeat(16 * 1024 + 1), false],
    ["of as many units, in more bytes", "é".repeat(16 * 1024), false],
    ["of as many bytes, in fewer units", "é".repeat(8 * 1024), true],
    ["empty", "", false],
  ])("%s", (_, text, fits) => {
    expect(position.safeParse(text).success).toBe(fits);
  });
});
