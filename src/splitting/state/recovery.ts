import type { Phase, SplitPhase } from "./phase.ts";
import type { SplitResource, SplitRoute, SplitSource, SplitState } from "./split-state.ts";

/**
 * What the agent is to do, by the persisted phase alone and never by what happens to exist on the broker: after each step, and
 * again whenever an agent joins or the manager starts. Each can be given twice.
 */
export const TASKS = [
  /** Make the shadows and the checkpoint; consume nothing. */
  "prepare",
  /** Wait for the application to be gone from the source. */
  "quiesceApp",
  /** Take the fence, check ownership, resume from the engine's own position and only else from the checkpoint, and pump. */
  "startPump",
  /** Keep pumping, and wait for every consumer to carry the override's generation. */
  "redirectApp",
  /** Verify, keep pumping by the table of routes, and drain those that ended. */
  "pump",
  /** Fence, do not pump, put everything back; the application may be on the source only once that is proved. */
  "abort",
  /** Stop the pump, drain what is left of routes, and wait for the live proof that the application's shadow is done. */
  "drain",
  /** Look again whether anything or anybody came back. */
  "quiesce",
  /** Commit the frontier, idempotently, and read it back. */
  "handBack",
  /** Wait until no consumer carries the override. */
  "restoreApp",
  /** Delete recorded names only, each verified anew. */
  "cleanUp",
  /** Neither pump nor delete: a person decides. */
  "hold",
  /** Nothing is split. */
  "rest",
] as const;
export type Task = (typeof TASKS)[number];

/** Whether the engine may move messages from the source while it has this task. */
const PUMPING: readonly Task[] = ["startPump", "redirectApp", "pump"];

const TASK_OF_PHASE: Readonly<Record<Phase, Task>> = {
  Preparing: "prepare",
  QuiescingApp: "quiesceApp",
  StartingPump: "startPump",
  RedirectingApp: "redirectApp",
  Active: "pump",
  AbortingActivation: "abort",
  DrainingApp: "drain",
  QuiescingHandback: "quiesce",
  HandingBack: "handBack",
  RestoringApp: "restoreApp",
  CleaningUp: "cleanUp",
  Inactive: "rest",
};

/** A task with all that is needed to do it. The generation orders commands: an agent keeps to the highest it has seen. */
export interface AgentCommand {
  task: Task;
  generation: number;
  /** To be repeated in reports. */
  enteredGeneration: number;
  agentEpoch: number;
  splitId: string;
  mayPump: boolean;
  /** Where it is held, with the reason: an engine that begins anew goes by it. */
  phase: SplitPhase;
  sources: SplitSource[];
  routes: SplitRoute[];
  resources: SplitResource[];
}

export function taskOf({ phase }: SplitState): Task {
  return phase.name === "Degraded" ? "hold" : TASK_OF_PHASE[phase.name];
}

export function mayPump(task: Task): boolean {
  return PUMPING.includes(task);
}

export function commandOf(state: SplitState): AgentCommand {
  const { generation, enteredGeneration, agentEpoch, splitId, phase, sources, routes, resources } = state;
  const task = taskOf(state);
  return {
    task,
    generation,
    enteredGeneration,
    agentEpoch,
    splitId,
    mayPump: mayPump(task),
    phase,
    sources,
    routes,
    resources,
  };
}
