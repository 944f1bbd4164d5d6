import { describe, expect, test } from "vitest";
import { PHASES, type Phase, type WorkingPhase } from "../../../../src/splitting/state/phase.ts";
import { step } from "../../../../src/splitting/state/phase-machine.ts";
import { EVENT_KINDS, type EventKind, type SplitEvent } from "../../../../src/splitting/state/split-event.ts";
import type { SplitState } from "../../../../src/splitting/state/split-state.ts";
import {
  ALICE,
  degradedIn,
  NOW_MS,
  nameOfPhase,
  REPORTS,
  report,
  reported,
  SOURCES,
  splitIn,
} from "./splits.ts";

// Every event in every phase. What the table does not name is refused, or is so already.

const LATE_MS = NOW_MS + 24 * 3600 * 1000;
const WORKING = PHASES.filter((phase): phase is WorkingPhase => phase !== "Inactive");

/** Where an event leads: to another phase, or to the same one with something changed. */
type To = Phase | "stays" | "holds";
const ACTIVATION: Phase[] = ["Preparing", "QuiescingApp", "StartingPump", "RedirectingApp"];

function edges(from: readonly Phase[], to: To): Partial<Record<Phase, To>> {
  return Object.fromEntries(from.map((phase) => [phase, to]));
}

const TABLE: Record<EventKind, Partial<Record<Phase, To>>> = {
  declare: { Inactive: "stays" },
  start: { Inactive: "Preparing" },
  stop: { ...edges(ACTIVATION, "AbortingActivation"), Active: "DrainingApp" },
  resume: {},
  putRoute: edges([...ACTIVATION, "Active"], "stays"),
  deleteRoute: edges([...ACTIVATION, "Active"], "stays"),
  record: { Preparing: "stays" },
  created: edges(
    [
      ...ACTIVATION,
      "Active",
      "AbortingActivation",
      "DrainingApp",
      "QuiescingHandback",
      "HandingBack",
      "RestoringApp",
    ],
    "stays",
  ),
  checkpointed: edges(
    [
      "Preparing",
      "StartingPump",
      "RedirectingApp",
      "Active",
      "AbortingActivation",
      "DrainingApp",
      "HandingBack",
    ],
    "stays",
  ),
  prepared: { Preparing: "QuiescingApp" },
  appGone: { QuiescingApp: "StartingPump" },
  pumpStarted: { StartingPump: "RedirectingApp" },
  appRedirected: { RedirectingApp: "Active" },
  routeDrained: {},
  pumpStopped: {},
  drained: { DrainingApp: "QuiescingHandback" },
  consumerReturned: { QuiescingHandback: "DrainingApp" },
  quiesced: { QuiescingHandback: "HandingBack" },
  handedBack: { HandingBack: "RestoringApp" },
  appRestored: { RestoringApp: "CleaningUp" },
  aborted: { AbortingActivation: "CleaningUp" },
  deleting: { CleaningUp: "stays" },
  deleted: {},
  retained: { CleaningUp: "stays" },
  cleaned: {},
  failed: edges(WORKING, "holds"),
  agentJoined: edges(PHASES, "stays"),
  agentLost: { Active: "stays" },
  deadlinePassed: edges(
    WORKING.filter((phase) => phase !== "Active"),
    "holds",
  ),
  routesExpired: edges([...ACTIVATION, "Active"], "stays"),
};

/** What is so already, and changes nothing. */
const UNCHANGED: Partial<Record<EventKind, readonly Phase[]>> = {
  start: [...ACTIVATION, "Active"],
  stop: PHASES.filter((phase) => phase !== "Active" && !ACTIVATION.includes(phase)),
  resume: PHASES,
  pumpStopped: ["DrainingApp"],
  agentLost: PHASES.filter((phase) => phase !== "Active"),
};

function eventOf(kind: EventKind, state: SplitState): SplitEvent {
  const name = state.resources[0]?.name ?? "fairlane-none";
  switch (kind) {
    case "declare":
      return { kind, prefix: "other", sources: SOURCES };
    case "start":
      return { kind, splitId: "split-2" };
    case "putRoute":
      return { kind, route: "alice", queue: "orders", filter: ALICE, ttlMs: 60_000 };
    case "deleteRoute":
      return { kind, route: "alice" };
    case "created":
      return reported(state, { kind, names: [name] });
    case "deleting":
    case "deleted":
      return reported(state, { kind, name, evidence: "seen" });
    case "retained":
      return reported(state, { kind, name, reason: "a foreign consumer" });
    case "stop":
    case "resume":
    case "agentJoined":
    case "agentLost":
    case "deadlinePassed":
    case "routesExpired":
      return { kind };
    default:
      return reported(state, REPORTS[kind]);
  }
}

/** What comes of it, in the table's words. */
function outcomeOf(state: SplitState, event: SplitEvent): string {
  const result = step(state, event, LATE_MS);
  if (result.kind !== "next") return result.kind;
  const after = nameOfPhase(result.state.phase);
  if (after === `Degraded(${nameOfPhase(state.phase)})`) return "holds";
  return after === nameOfPhase(state.phase) ? "stays" : after;
}

describe.each(EVENT_KINDS)("%s", (kind) => {
  test.each(PHASES)("in %s", (phase) => {
    const state = splitIn(phase);
    const expected = TABLE[kind][phase] ?? (UNCHANGED[kind]?.includes(phase) ? "unchanged" : "refused");
    expect(outcomeOf(state, eventOf(kind, state))).toBe(expected);
  });

  test.each(WORKING)("in Degraded(%s)", (phase) => {
    const state = degradedIn(phase);
    const routes = phase === "Active" || ACTIVATION.includes(phase);
    const outcomes: Partial<Record<EventKind, string>> = {
      resume: phase,
      agentJoined: "stays",
      agentLost: "unchanged",
      ...(routes ? { putRoute: "stays", deleteRoute: "stays" } : {}),
    };
    expect(outcomeOf(state, eventOf(kind, state))).toBe(outcomes[kind] ?? "refused");
  });
});

test("every phase but Inactive is led to by some event, and that one by a cleanup with nothing left", () => {
  const led = new Set(Object.values(TABLE).flatMap((row) => Object.values(row)));
  expect(PHASES.filter((phase) => !led.has(phase))).toEqual(["Inactive"]);
  const state = splitIn("CleaningUp");
  const name = state.resources[0]?.name ?? expect.fail("a resource");
  const kept = report(state, { kind: "retained", name, reason: "a foreign consumer" });
  expect(outcomeOf(kept, eventOf("cleaned", kept))).toBe("Inactive");
});
