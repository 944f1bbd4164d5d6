import type { SplitState } from "./split-state.ts";

/** Whose split it is, as its manager knows it. */
export interface SplitIdentity {
  tenant: string;
  workload: string;
}

/** What a deleted split leaves behind, so that no generation and no epoch is given twice. */
export interface Floors {
  generation: number;
  agentEpoch: number;
}

/** Before the first declaration. It is not yet a document: that needs sources. */
export function newSplit({ tenant, workload }: SplitIdentity, floors: Floors, prefix: string): SplitState {
  return {
    schemaVersion: 1,
    tenant,
    workload,
    prefix,
    splitId: "",
    generation: floors.generation,
    agentEpoch: floors.agentEpoch,
    phase: { name: "Inactive" },
    // Of the write that makes it a document.
    enteredGeneration: floors.generation + 1,
    deadlineAtMs: null,
    sources: [],
    routes: [],
    resources: [],
    retained: [],
  };
}
