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

/** Held, with what a person can safely do next. It goes on in `resumePhase` and nowhere else. */
export interface Degraded {
  name: "Degraded";
  resumePhase: Exclude<Phase, "Inactive">;
  reason: string;
}

export type SplitPhase = { name: Phase } | Degraded;
