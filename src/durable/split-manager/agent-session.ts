import { FairlaneError } from "../../core/failure.ts";
import { issuesOf } from "../../protocol/issues.ts";
import {
  AGENT_CLOSE,
  type AgentMessage,
  agentMessage,
  MAX_AGENT_MESSAGE_CHARS,
} from "../../protocol/split-agent.ts";
import { MAX_BURST, MAX_MESSAGES_PER_SECOND } from "./agent-timing.ts";
import type { AgentMemory, AgentSocket } from "./ports.ts";
import { type Split, tell } from "./split.ts";

/**
 * A queue agent's connection:
 *
 *     connected -hello→ joined (an epoch of its own) -closed→ gone
 *     joined -a newer one joined→ displaced, for good
 *     connected or joined -a message with a lower epoch than the highest, or a hello of an agent that was followed→ fenced, for good
 *     either -silence, too many or too large messages→ closed; it may come back by a hello
 *
 * - Whoever acts has the highest epoch that was ever given, and it was stored before it was told.
 * - An agent tells which epoch it had before: one that slept through its successor's coming is not let in again.
 * - A message that is not understood is refused, and does nothing.
 */
export function onAgentMessage(split: Split, socket: AgentSocket, data: string | ArrayBuffer): void {
  const message = admitted(split, socket, data);
  if (message === null) return;
  try {
    if (message.type === "hello") hello(split, socket, message);
    else report(split, socket, message);
  } catch (error) {
    // There is no document, or none that anything may be done by.
    if (!(error instanceof FairlaneError)) throw error;
    tell(socket, { type: "refused", id: null, because: "held", reason: error.failure.detail });
    socket.close(AGENT_CLOSE.gone, "there is no split to work on");
  }
}

/** The message, or null where the connection was told already why it is none. */
function admitted(split: Split, socket: AgentSocket, data: string | ArrayBuffer): AgentMessage | null {
  if (typeof data !== "string") {
    socket.close(AGENT_CLOSE.unsupported, "messages are texts");
    return null;
  }
  if (data.length > MAX_AGENT_MESSAGE_CHARS) {
    socket.close(AGENT_CLOSE.tooLarge, `a message has at most ${MAX_AGENT_MESSAGE_CHARS} characters`);
    return null;
  }
  const memory = afterOneMore(socket.memory, split.nowMs());
  if (memory === null) {
    socket.close(AGENT_CLOSE.tooFast, "too many messages");
    return null;
  }
  socket.remember(memory);
  const read = readMessage(data);
  if (read.ok) return read.message;
  tell(socket, { type: "refused", id: null, because: "invalid", reason: read.reason });
  return null;
}

/** The memory of a connection of which one more message came; null: it had none left. */
function afterOneMore(memory: AgentMemory, nowMs: number): AgentMemory | null {
  const passedMs = Math.max(0, nowMs - memory.heardAtMs);
  const tokens = Math.min(MAX_BURST, memory.tokens + (passedMs * MAX_MESSAGES_PER_SECOND) / 1000) - 1;
  return tokens < 0 ? null : { ...memory, heardAtMs: nowMs, tokens };
}

function readMessage(data: string): { ok: true; message: AgentMessage } | { ok: false; reason: string } {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return { ok: false, reason: "a message is JSON" };
  }
  const read = agentMessage.safeParse(value);
  if (read.success) return { ok: true, message: read.data };
  const [issue] = issuesOf(read.error);
  const place = issue === undefined || issue.path === "" ? "" : ` at ${issue.path}`;
  return { ok: false, reason: `not a message of this protocol${place}: ${issue?.message ?? "unknown"}` };
}

type Hello = Extract<AgentMessage, { type: "hello" }>;
type Report = Extract<AgentMessage, { type: "report" }>;

function hello(split: Split, socket: AgentSocket, { previousEpoch }: Hello): void {
  if (socket.memory.epoch !== null) {
    tell(socket, { type: "refused", id: null, because: "invalid", reason: "it has said hello before" });
    return;
  }
  const { agentEpoch } = split.state();
  if (previousEpoch !== null && previousEpoch < agentEpoch) {
    fence(socket, agentEpoch);
    return;
  }
  const applied = split.apply({ kind: "agentJoined" });
  if (applied.kind !== "applied") throw new Error("an agent's joining was not carried out");
  const epoch = applied.state.agentEpoch;
  socket.remember({ ...socket.memory, epoch });
  tell(socket, { type: "welcome", epoch });
  split.sendCommand(applied.state);
}

function report(split: Split, socket: AgentSocket, { id, epoch, enteredGeneration, report }: Report): void {
  const state = split.state();
  if (epoch < state.agentEpoch) {
    fence(socket, state.agentEpoch);
    return;
  }
  if (socket.memory.epoch !== epoch) {
    const reason = "the connection was not given this epoch";
    tell(socket, { type: "refused", id, because: "invalid", reason });
    return;
  }
  const applied = split.apply({ ...report, epoch, enteredGeneration });
  switch (applied.kind) {
    case "applied":
      // The new command went out with the change.
      tell(socket, { type: "accepted", id, generation: applied.state.generation });
      break;
    case "unchanged":
      tell(socket, { type: "accepted", id, generation: state.generation });
      split.sendCommand(state);
      break;
    case "refused":
      tell(socket, { type: "refused", id, because: applied.because, reason: applied.reason });
      split.sendCommand(state);
      break;
  }
}

function fence(socket: AgentSocket, epoch: number): void {
  tell(socket, { type: "fenced", epoch });
  socket.close(AGENT_CLOSE.fenced, "a newer queue agent was there");
}

/** Its absence is noted at once where nothing else would hold the split. */
export function onAgentGone(split: Split, epoch: number | null): void {
  const loaded = split.store.load();
  if (loaded.kind !== "ok" || epoch !== loaded.state.agentEpoch) return;
  if (split.agent(epoch) === null) split.apply({ kind: "agentLost" });
}
