import type { Phase } from "./phase.ts";

const MINUTE_MS = 60_000;

/**
 * How long a phase may take before somebody should look. What waits for the application takes as long as its rollout does;
 * what only talks to a broker is done in seconds. A deadline never ends a phase: it holds the split.
 */
export const PHASE_DEADLINE_MS: Readonly<Record<Phase, number | null>> = {
  Preparing: 5 * MINUTE_MS,
  QuiescingApp: 15 * MINUTE_MS,
  StartingPump: 5 * MINUTE_MS,
  RedirectingApp: 15 * MINUTE_MS,
  // It lasts as long as it is wanted. Only an agent that stays away gives it a deadline.
  Active: null,
  AbortingActivation: 15 * MINUTE_MS,
  // A backlog is worked off by the application, at its own pace.
  DrainingApp: 60 * MINUTE_MS,
  QuiescingHandback: 15 * MINUTE_MS,
  HandingBack: 5 * MINUTE_MS,
  RestoringApp: 15 * MINUTE_MS,
  CleaningUp: 30 * MINUTE_MS,
  Inactive: null,
};

/** An active split without its agent moves no messages: a restart takes seconds, so after minutes it is held. */
export const AGENT_AWAY_MS = 5 * MINUTE_MS;

/** When a phase that is entered at `nowMs` is overdue. */
export function deadlineOf(phase: Phase, nowMs: number): number | null {
  const afterMs = PHASE_DEADLINE_MS[phase];
  return afterMs === null ? null : nowMs + afterMs;
}
