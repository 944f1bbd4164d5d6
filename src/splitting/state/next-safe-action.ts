import { degradedKindOf } from "./degraded-reason.ts";
import type { DegradedKind } from "./failure-kind.ts";
import type { Phase } from "./phase.ts";
import type { SplitState } from "./split-state.ts";

/** What a person can do now without harm, for each phase and each reason to hold a split. For people; it may change. */

const OF_PHASE: Readonly<Record<Phase, string>> = {
  Preparing: "Wait: shadows are being made and nothing is consumed. A stop calls it off.",
  QuiescingApp:
    "Stop the application's consumers on the source, or wait for its rollout: the split goes on when they are gone. A stop calls it off.",
  StartingPump: "Wait: the queue agent is taking the source over. A stop calls it off.",
  RedirectingApp:
    "Roll the override out to every consumer of the application: messages wait in its shadow. A stop calls it off.",
  Active: "Nothing needs to be done. A stop drains the shadows and gives the source back.",
  AbortingActivation: "Wait: what was begun is being undone. Do not start the application on the source yet.",
  DrainingApp:
    "Let the application work off its shadow, its last delivery included, and then take its consumers off the shadow.",
  QuiescingHandback: "Wait, with no consumer on the source or on the shadow.",
  HandingBack: "Wait: the source's position is being committed. Keep the application off the source.",
  RestoringApp: "Take the override off every consumer of the application: the source is its own again.",
  CleaningUp: "Wait: shadows that are proved to be empty and unattended are being deleted.",
  Inactive: "Nothing is split. A start begins a split.",
};

const OF_REASON: Readonly<Record<DegradedKind, string>> = {
  Fenced:
    "Another instance took the source over. See to it that only one queue agent runs for this workload, and resume.",
  OwnershipViolated:
    "Somebody else consumes from the source or from a shadow. Find that consumer, stop it, and resume.",
  NeedsDrain: "Let the application work off what is left in the shadow, and resume.",
  ConsumerAttached: "Take the consumer off, and resume.",
  HandoffRefused:
    "Compare the source's position with the recorded frontier, take consumers off the source, and resume.",
  Unprovable:
    "Look at the named resource on the broker: nothing was deleted. Make it as it should be, and resume.",
  SourceChanged:
    "The source is not what was taken over. Do not commit a position by hand before it is known what happened to it; then resume.",
  ShadowUnsafe:
    "Take the policy or limit off the shadow, and resume: nothing was acknowledged that is not stored. Where the shadow was deleted, what was in it is lost: name it in the resume's `makeAgain`, and it is made again.",
  BrokerUnavailable: "Make the broker reachable for the queue agent, and resume.",
  Overdue: "See what the phase waits for, and resume: it goes on where it was held.",
  AgentAway: "Start the queue agent, and resume: it goes on from its own position.",
};

/** What the phase goes on with after a resume, in the words of the phase itself. */
export function nextSafeAction({ phase, retained }: SplitState): string {
  if (phase.name === "Degraded") {
    const kind = degradedKindOf(phase.reason);
    const words = kind === null ? "Find out what the reason means, and resume." : OF_REASON[kind];
    return `${words} It goes on in ${phase.resumePhase}.`;
  }
  if (phase.name === "Inactive" && retained.length > 0) {
    return "Look at the resources that were left behind and delete them by hand; then delete the split with force, and declare it again.";
  }
  return OF_PHASE[phase.name];
}

/** Of a document that cannot be read, whose phase is therefore not known. */
export const ACTION_WHEN_HELD =
  "Nothing is done by a document that is not understood. Deploy the version that wrote it, or have it examined; it is not overwritten.";
