import { fail } from "../../../core/failure.ts";
import { AGENT_CLOSE } from "../../../protocol/split-agent.ts";
import type { Split } from "../split.ts";

/** Only while nothing is split. `force`: also while something was left behind, which is then nobody's to remember. */
export function deleteSplit(split: Split, { force }: { force: boolean }): null {
  const state = split.state();
  if (state.phase.name !== "Inactive") {
    fail("conflict", `a split is deleted only while it is inactive, and it is in ${state.phase.name}`);
  }
  if (state.retained.length > 0 && !force) {
    fail("conflict", "resources were left behind, and are still to be looked at");
  }
  if (!split.store.remove(state)) fail("conflict", "others change the split at the same time: try again");
  for (const socket of split.ports.agents.open()) socket.close(AGENT_CLOSE.gone, "the split was deleted");
  return null;
}
