/**
 * The phases of a brokered split, in the order in which they are passed. Which step is legal says `phase-machine.ts`;
 * what is to be done in each after a restart says `recovery.ts`.
 */
export const PHASES = [
  "Preparing",
  "QuiescingApp",
  "StartingPump",
  "RedirectingApp",
  "Active",
  "AbortingActivation",
  "DrainingApp",
  "QuiescingHandback",
  "HandingBack",
  "RestoringApp",
  "CleaningUp",
  "Inactive",
] as const;

export type Phase = (typeof PHASES)[number];
/** A phase that can be held, and gone on with. */
export type WorkingPhase = Exclude<Phase, "Inactive">;

/** Held, with what a person can safely do next. It goes on in `resumePhase` and nowhere else. */
export interface Degraded {
  name: "Degraded";
  resumePhase: WorkingPhase;
  reason: string;
}

export type SplitPhase = { name: Phase } | Degraded;

/** From these an activation can still be called off. */
export const ACTIVATION_PHASES = ["Preparing", "QuiescingApp", "StartingPump", "RedirectingApp"] as const;
export type ActivationPhase = (typeof ACTIVATION_PHASES)[number];

export function isActivation(phase: Phase): phase is ActivationPhase {
  return (ACTIVATION_PHASES as readonly Phase[]).includes(phase);
}

/** The phase that the split is in, or goes on in. */
export function heldPhase(phase: SplitPhase): Phase {
  return phase.name === "Degraded" ? phase.resumePhase : phase.name;
}
