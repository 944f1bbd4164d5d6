import { describe, expect, test } from "vitest";
import { AGENT_AWAY_MS, PHASE_DEADLINE_MS } from "../../../../src/splitting/state/deadlines.ts";
import { FAILURE_KINDS } from "../../../../src/splitting/state/failure-kind.ts";
import { nextSafeAction } from "../../../../src/splitting/state/next-safe-action.ts";
import { PHASES } from "../../../../src/splitting/state/phase.ts";
import { step } from "../../../../src/splitting/state/phase-machine.ts";
import { commandOf, taskOf } from "../../../../src/splitting/state/recovery.ts";
import type { AgentReport } from "../../../../src/splitting/state/split-event.ts";
import { MAX_REASON_CHARS } from "../../../../src/splitting/state/split-limits.ts";
import {
  declared,
  degradedIn,
  NOW_MS,
  next,
  REPORTS,
  refusal,
  report,
  reported,
  SOURCES,
  splitIn,
} from "./splits.ts";

const refuse = (state: ReturnType<typeof declared>, event: AgentReport) =>
  refusal(step(state, reported(state, event), NOW_MS));

describe("a report ends a phase only when it is about all of it", () => {
  const partly = (kind: "appGone" | "quiesced" | "aborted") => ({
    ...REPORTS[kind],
    proofs: REPORTS[kind].proofs.slice(0, 1),
  });

  test("each source has to be spoken of, and no other", () => {
    expect(refuse(splitIn("QuiescingApp"), partly("appGone"))).toBe(
      "incomplete: nothing is said of queue audit",
    );
    expect(refuse(splitIn("QuiescingHandback"), partly("quiesced"))).toMatch(/^incomplete/);
    expect(refuse(splitIn("AbortingActivation"), partly("aborted"))).toMatch(/^incomplete/);
    const more = [...REPORTS.appGone.proofs, { queue: "other", evidence: "seen" }];
    expect(refuse(splitIn("QuiescingApp"), { kind: "appGone", proofs: more })).toMatch(/^incomplete/);
    const checkpoints = REPORTS.prepared.checkpoints.slice(1);
    expect(refuse(splitIn("Preparing"), { kind: "prepared", checkpoints })).toMatch(/^incomplete/);
  });

  test("without evidence there is no proof", () => {
    const proofs = SOURCES.map(({ queue }) => ({ queue, evidence: " " }));
    expect(refuse(splitIn("QuiescingApp"), { kind: "appGone", proofs })).toMatch(/^incomplete: nothing was/);
    expect(refuse(splitIn("DrainingApp"), { kind: "drained", proofs })).toMatch(/^incomplete/);
  });

  test("draining ends only with a frontier for each source, and without routes", () => {
    const state = next(splitIn("Active"), { kind: "stop" });
    expect(refuse(state, REPORTS.drained)).toMatch(/^incomplete: the pump was not stopped/);
    const stopped = report(state, REPORTS.pumpStopped);
    expect(refuse(stopped, REPORTS.drained)).toBe("incomplete: route alice is not drained");
  });

  test("an abort ends only without routes", () => {
    const state = next(splitIn("RedirectingApp"), { kind: "stop" });
    expect(state.routes.map((route) => route.state)).toEqual(["draining", "draining"]);
    expect(refuse(state, REPORTS.aborted)).toBe("incomplete: route alice is not drained");
  });

  test("a frontier that was told does not move, and is what is handed back", () => {
    const moved = SOURCES.map(({ queue }) => ({ queue, frontier: "elsewhere" }));
    expect(refuse(splitIn("DrainingApp"), { kind: "pumpStopped", frontiers: moved })).toMatch(/^conflict/);
    expect(refuse(splitIn("HandingBack"), { kind: "handedBack", frontiers: moved })).toMatch(/^conflict/);
  });

  test("checkpoints and frontiers are kept as they were told until nothing is split any more", () => {
    const { sources } = splitIn("RestoringApp");
    expect(sources.map(({ checkpoint }) => checkpoint)).toEqual(['{"at":"orders"}', '{"at":"audit"}']);
    expect(sources.map(({ frontier }) => frontier)).toEqual(['{"end":"orders"}', '{"end":"audit"}']);
    const state = splitIn("CleaningUp");
    const name = state.resources[0]?.name ?? "";
    const kept = report(state, { kind: "retained", name, reason: "r" });
    expect(report(kept, { kind: "cleaned" }).sources).toMatchObject([
      { checkpoint: null, frontier: null },
      { checkpoint: null, frontier: null },
    ]);
  });
});

describe("reports of those who may not speak", () => {
  test("an older agent is fenced, whatever it says", () => {
    const state = splitIn("DrainingApp");
    const event = reported(state, REPORTS.drained);
    const after = next(state, { kind: "agentJoined" });
    expect(refusal(step(after, event, NOW_MS))).toMatch(/^fenced/);
    expect(after.agentEpoch).toBe(state.agentEpoch + 1);
  });

  test("an epoch that was never given is no agent's", () => {
    const state = splitIn("DrainingApp");
    const event = { ...reported(state, REPORTS.drained), epoch: state.agentEpoch + 1 };
    expect(refusal(step(state, event, NOW_MS))).toMatch(/^conflict/);
  });

  test("an old proof of the same phase is stale once the phase was left and entered again", () => {
    const draining = splitIn("DrainingApp");
    const proof = reported(draining, REPORTS.drained);
    const back = report(next(draining, proof), REPORTS.consumerReturned);
    expect(back.phase).toEqual({ name: "DrainingApp" });
    expect(refusal(step(back, proof, NOW_MS))).toMatch(/^stale/);
    expect(report(back, REPORTS.drained).phase).toEqual({ name: "QuiescingHandback" });
  });

  test("so is one from before the split was held", () => {
    const state = splitIn("QuiescingApp");
    const proof = reported(state, REPORTS.appGone);
    const resumed = next(report(state, REPORTS.failed), { kind: "resume" });
    expect(refusal(step(resumed, proof, NOW_MS))).toMatch(/^stale/);
  });
});

describe("what holds a split", () => {
  test.each(FAILURE_KINDS)("%s holds an active one, and it goes on nowhere else", (failure) => {
    const held = report(splitIn("Active"), { kind: "failed", failure, detail: "a detail" });
    expect(held.phase).toEqual({ name: "Degraded", resumePhase: "Active", reason: `${failure}: a detail` });
    expect(held.deadlineAtMs).toBeNull();
    expect(taskOf(held)).toBe("hold");
    expect(commandOf(held).mayPump).toBe(false);
    expect(next(held, { kind: "resume" }).phase).toEqual({ name: "Active" });
  });

  test("before the handback what came back is drained first", () => {
    for (const failure of ["NeedsDrain", "ConsumerAttached"] as const) {
      const state = report(splitIn("QuiescingHandback"), { kind: "failed", failure, detail: "one message" });
      expect(state.phase).toEqual({ name: "DrainingApp" });
      expect(state.sources.every(({ frontier }) => frontier !== null)).toBe(true);
    }
    const state = report(splitIn("CleaningUp"), { kind: "failed", failure: "NeedsDrain", detail: "one" });
    expect(state.phase).toMatchObject({ name: "Degraded", resumePhase: "CleaningUp" });
  });

  test("a reason is cut, and whole characters of it", () => {
    const detail = `${"a".repeat(MAX_REASON_CHARS - 14)}🚚🚚`;
    const { phase } = report(splitIn("Active"), { kind: "failed", failure: "Unprovable", detail });
    const reason = phase.name === "Degraded" ? phase.reason : "";
    expect(reason.length).toBeLessThanOrEqual(MAX_REASON_CHARS);
    expect(reason.isWellFormed()).toBe(true);
  });

  test("a deadline holds at its time and not before", () => {
    const state = splitIn("Preparing");
    const atMs = NOW_MS + (PHASE_DEADLINE_MS.Preparing ?? 0);
    expect(state.deadlineAtMs).toBe(atMs);
    expect(refusal(step(state, { kind: "deadlinePassed" }, atMs - 1))).toMatch(/^stale/);
    expect(next(state, { kind: "deadlinePassed" }, atMs).phase).toEqual({
      name: "Degraded",
      resumePhase: "Preparing",
      reason: "Overdue: Preparing was not done within 5 minutes",
    });
  });

  test("each stay in a phase has its own time", () => {
    const laterMs = NOW_MS + 1_000_000;
    const resumed = next(degradedIn("HandingBack"), { kind: "resume" }, laterMs);
    expect(resumed.deadlineAtMs).toBe(laterMs + (PHASE_DEADLINE_MS.HandingBack ?? 0));
  });

  test("an agent that stays away holds an active split; one that comes in time does not", () => {
    const lost = next(splitIn("Active"), { kind: "agentLost" });
    expect(lost.deadlineAtMs).toBe(NOW_MS + AGENT_AWAY_MS);
    expect(step(lost, { kind: "agentLost" }, NOW_MS + 1)).toEqual({ kind: "unchanged" });
    expect(next(lost, { kind: "agentJoined" }).deadlineAtMs).toBeNull();
    expect(next(lost, { kind: "deadlinePassed" }, NOW_MS + AGENT_AWAY_MS).phase).toMatchObject({
      resumePhase: "Active",
      reason: "AgentAway: no queue agent was there for 5 minutes",
    });
  });

  test("a new agent does not put off the deadline of a phase", () => {
    const state = splitIn("DrainingApp");
    expect(next(state, { kind: "agentJoined" }, NOW_MS + 5).deadlineAtMs).toBe(state.deadlineAtMs);
  });
});

describe("declaring and starting", () => {
  test("a declaration has sources, each once", () => {
    const declare = (sources: readonly (typeof SOURCES)[number][]) =>
      refusal(step(declared(), { kind: "declare", prefix: "fairlane", sources }, NOW_MS));
    expect(declare([])).toMatch(/^limit/);
    expect(declare([SOURCES[0], SOURCES[0]])).toMatch(/^conflict/);
    expect(declare([SOURCES[0], { ...SOURCES[0], queue: "orders-2" } as never])).toMatch(/^conflict/);
    expect(declare(Array.from({ length: 17 }, () => SOURCES[0]))).toMatch(/^limit/);
  });

  test("declaring the same again changes nothing", () => {
    const same = { kind: "declare", prefix: "fairlane", sources: SOURCES } as const;
    expect(step(declared(), same, NOW_MS)).toEqual({ kind: "unchanged" });
  });

  test("what was left behind keeps a new start out, and the prefix that it is named by", () => {
    const state = splitIn("CleaningUp");
    const name = state.resources[0]?.name ?? "";
    const kept = report(report(state, { kind: "retained", name, reason: "foreign consumer" }), {
      kind: "cleaned",
    });
    expect(kept.retained).toMatchObject([{ name, reason: "foreign consumer" }]);
    expect(refusal(step(kept, { kind: "start", splitId: "split-2" }, NOW_MS))).toMatch(/^conflict/);
    const other = { kind: "declare", prefix: "other", sources: SOURCES } as const;
    expect(refusal(step(kept, other, NOW_MS))).toMatch(/^conflict/);
    expect(nextSafeAction(kept)).toContain("left behind");
  });

  test("each activation has an ID of its own", () => {
    const state = { ...declared(), splitId: "split-1" };
    expect(refusal(step(state, { kind: "start", splitId: "split-1" }, NOW_MS))).toMatch(/^conflict/);
    expect(next(state, { kind: "start", splitId: "split-2" }).splitId).toBe("split-2");
  });
});

describe("what follows a step", () => {
  test("is the command of the new state, and a new agent displaces all before it", () => {
    const state = splitIn("Active");
    const joined = step(state, { kind: "agentJoined" }, NOW_MS);
    expect(joined).toMatchObject({
      actions: [
        { kind: "displaceAgents", belowEpoch: state.agentEpoch + 1 },
        { kind: "command", command: { task: "pump", agentEpoch: state.agentEpoch + 1 } },
      ],
    });
    const stopped = step(state, { kind: "stop" }, NOW_MS);
    expect(stopped).toMatchObject({ actions: [{ kind: "command", command: { task: "drain" } }] });
  });

  test("only these may move messages from the source", () => {
    expect(PHASES.filter((phase) => commandOf(splitIn(phase)).mayPump)).toEqual([
      "StartingPump",
      "RedirectingApp",
      "Active",
    ]);
  });

  test("each phase has a task of its own, by the phase alone", () => {
    const tasks = PHASES.map((phase) => taskOf(splitIn(phase)));
    expect(new Set(tasks).size).toBe(PHASES.length);
    for (const phase of PHASES) {
      const bare = { ...declared(), phase: { name: phase } };
      expect(taskOf(bare)).toBe(taskOf(splitIn(phase)));
    }
  });

  test("each phase and each reason says what can safely be done next", () => {
    const said = PHASES.map((phase) => nextSafeAction(splitIn(phase)));
    for (const failure of FAILURE_KINDS) {
      said.push(nextSafeAction(report(splitIn("Active"), { kind: "failed", failure, detail: "d" })));
    }
    const phase = { name: "Degraded", resumePhase: "Active", reason: "of another version" } as const;
    said.push(nextSafeAction({ ...splitIn("Active"), phase }));
    expect(new Set(said).size).toBe(said.length);
    for (const words of said) expect(words).toMatch(/^[A-Z].*\.$/);
  });

  test("the state before is not touched", () => {
    const state = splitIn("Active");
    const before = structuredClone(state);
    step(state, { kind: "stop" }, NOW_MS);
    step(state, { kind: "deleteRoute", route: "alice" }, NOW_MS);
    expect(state).toEqual(before);
  });
});
