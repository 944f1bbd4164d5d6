import { AGENT_CLOSE } from "../../protocol/split-agent.ts";
import { AGENT_SILENCE_MS, HELLO_WITHIN_MS } from "./agent-timing.ts";
import { lastHeardMs } from "./ports.ts";
import type { Split } from "./split.ts";

/** What time does, and all of it may come early, late or twice: silent agents go, routes end, what is overdue is held. */
export function alarmPass(split: Split): void {
  closeSilent(split);
  const loaded = split.store.load();
  // Without a document that is understood nothing is due: not even a deadline of it.
  if (loaded.kind !== "ok") return;
  if (split.agent(loaded.state.agentEpoch) === null) split.apply({ kind: "agentLost" });
  // Each is refused where nothing is due.
  split.apply({ kind: "routesExpired" });
  split.apply({ kind: "deadlinePassed" });
}

function closeSilent(split: Split): void {
  const nowMs = split.nowMs();
  for (const socket of split.ports.agents.open()) {
    const { epoch, connectedAtMs } = socket.memory;
    const isSilent =
      epoch === null
        ? connectedAtMs <= nowMs - HELLO_WITHIN_MS
        : lastHeardMs(socket) <= nowMs - AGENT_SILENCE_MS;
    if (isSilent) socket.close(AGENT_CLOSE.silent, "nothing was heard of it");
  }
}
