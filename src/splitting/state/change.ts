import type { Witness } from "../filter/witness.ts";
import type { SplitPhase } from "./phase.ts";
import type { SplitState } from "./split-state.ts";

/** What an event does to a state, as the parts of the phase machine say it to each other. */
export type Change = Changed | Unchanged | Refused;

export interface Changed {
  kind: "changed";
  set: Partial<
    Omit<SplitState, "schemaVersion" | "tenant" | "workload" | "generation" | "enteredGeneration">
  >;
  /** The phase that is entered; absent: the split stays where it is. */
  enter?: SplitPhase;
}

/** It is so already: a call or report that came twice. */
export interface Unchanged {
  kind: "unchanged";
}

/** Why an event is refused, for callers that answer by it; `reason` is for people. */
export type RefusedBecause =
  /** Not in this phase. */
  | "phase"
  /** An older agent: it has to stop for good. */
  | "fenced"
  /** Of an earlier stay in the phase, or of a time that has not come. */
  | "stale"
  /** It leaves something open that must be settled first, or speaks of what is not there. */
  | "incomplete"
  | "not-found"
  | "conflict"
  | "limit"
  | "overlap"
  | "undecided";

export interface Refused {
  kind: "refused";
  because: RefusedBecause;
  reason: string;
  /** Of an overlap, and of one that is undecided: the other route. */
  route?: string;
  /** A message that both would take. */
  witness?: Witness;
}

export function changed(set: Changed["set"], enter?: SplitPhase): Changed {
  return { kind: "changed", set, ...(enter === undefined ? {} : { enter }) };
}

export const UNCHANGED: Unchanged = { kind: "unchanged" };

export function refused(
  because: RefusedBecause,
  reason: string,
  more: Pick<Refused, "route" | "witness"> = {},
): Refused {
  return { kind: "refused", because, reason, ...more };
}
