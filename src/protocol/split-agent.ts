import { z } from "zod";
import { MAX_ROUTE_CHARS } from "../core/limits.ts";
import { splitPhase, splitResource, splitRoute, splitSource } from "../splitting/state/document.ts";
import { FAILURE_KINDS } from "../splitting/state/failure-kind.ts";
import { position } from "../splitting/state/position.ts";
import { type AgentCommand, TASKS } from "../splitting/state/recovery.ts";
import type { AgentReport } from "../splitting/state/split-event.ts";
import {
  MAX_EVIDENCE_CHARS,
  MAX_GENERATION,
  MAX_LABEL_CHARS,
  MAX_POSITION_BYTES,
  MAX_REASON_CHARS,
  MAX_RESOURCES,
  MAX_ROUTES_PER_QUEUE,
  MAX_SOURCES,
  MAX_SPLIT_ID_CHARS,
} from "../splitting/state/split-limits.ts";
import { operation } from "./operation.ts";

/**
 * What a queue agent and its manager say to each other on their WebSocket: JSON texts, one message each.
 *
 * The agent begins with `hello`, and gets `welcome` with its epoch, or `fenced` and the end of the connection. Then it gets a
 * `command` at once and after each change; it does what the newest one says, and reports. Each report is answered by `accepted`
 * or `refused` with its `id`. A message that is not one of these is refused. The text `ping` is answered `pong`.
 */
export const agentConnection = operation({
  method: "GET",
  path: "/v1/tenants/{tenant}/splits/{workload}/agent",
  scopes: ["admin"],
  summary: "The queue agent's WebSocket",
  query: z.strictObject({}),
  body: { kind: "none" },
  replies: { 101: { description: "The WebSocket" } },
});

/** The checkpoints of all sources at once, with room for what JSON adds. */
export const MAX_AGENT_MESSAGE_CHARS = 2 * MAX_SOURCES * MAX_POSITION_BYTES;
export const AGENT_PING = "ping";
export const AGENT_PONG = "pong";

/** Why the manager ended a connection. From 4000 on the numbers are the application's own. */
export const AGENT_CLOSE = {
  /** A newer agent is there. For good: it must not come back. */
  displaced: 4001,
  /** It spoke with an epoch that is over. For good as well. */
  fenced: 4003,
  /** Nothing was heard of it. It may come back. */
  silent: 4008,
  /** There is no split any more, or its document cannot be read. */
  gone: 4004,
  /** More connections than one agent and its successor need. */
  crowded: 4029,
  unsupported: 1003,
  tooFast: 1008,
  tooLarge: 1009,
  internal: 1011,
} as const;

const label = z.string().min(1).max(MAX_LABEL_CHARS);
const evidence = z.string().min(1).max(MAX_EVIDENCE_CHARS);
const proof = z.strictObject({ queue: label, evidence });
const proofs = z.array(proof).max(MAX_SOURCES);
const frontiers = z.array(z.strictObject({ queue: label, frontier: position })).max(MAX_SOURCES);
const names = z.array(label).min(1).max(MAX_RESOURCES);
const slot = z
  .int()
  .min(0)
  .max(MAX_ROUTES_PER_QUEUE - 1);
const counter = z.int().min(0).max(MAX_GENERATION);

export const agentReport = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("record"),
    resources: z
      .array(
        z.strictObject({
          kind: z.enum(["app-shadow", "route-shadow", "fence", "checkpoint"]),
          queue: label,
          slot: slot.nullable(),
        }),
      )
      .min(1)
      .max(MAX_RESOURCES),
  }),
  z.strictObject({ kind: z.literal("created"), names }),
  z.strictObject({ kind: z.literal("checkpointed"), queue: label, checkpoint: position }),
  z.strictObject({
    kind: z.literal("prepared"),
    checkpoints: z.array(z.strictObject({ queue: label, checkpoint: position })).max(MAX_SOURCES),
  }),
  z.strictObject({ kind: z.literal("appGone"), proofs }),
  z.strictObject({ kind: z.literal("pumpStarted"), proofs }),
  z.strictObject({ kind: z.literal("appRedirected"), proofs }),
  z.strictObject({ kind: z.literal("routeDrained"), route: z.string().min(1).max(MAX_ROUTE_CHARS), proof }),
  z.strictObject({ kind: z.literal("pumpStopped"), frontiers }),
  z.strictObject({ kind: z.literal("drained"), proofs }),
  z.strictObject({ kind: z.literal("consumerReturned"), queue: label }),
  z.strictObject({ kind: z.literal("quiesced"), proofs }),
  z.strictObject({ kind: z.literal("handedBack"), frontiers }),
  z.strictObject({ kind: z.literal("appRestored"), proofs }),
  z.strictObject({ kind: z.literal("aborted"), proofs }),
  z.strictObject({ kind: z.literal("deleting"), name: label, evidence }),
  z.strictObject({ kind: z.literal("deleted"), name: label, evidence }),
  z.strictObject({
    kind: z.literal("retained"),
    name: label,
    reason: z.string().min(1).max(MAX_REASON_CHARS),
  }),
  z.strictObject({ kind: z.literal("cleaned") }),
  z.strictObject({
    kind: z.literal("failed"),
    failure: z.enum(FAILURE_KINDS),
    detail: z.string().min(1).max(MAX_EVIDENCE_CHARS),
  }),
]) satisfies z.ZodType<AgentReport>;

export const agentMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("hello"),
    /** Of this protocol. */
    version: z.literal(1),
    /** The epoch that the same process was given before; null: it is new. One that was displaced is not let in again. */
    previousEpoch: counter.nullable(),
  }),
  z.strictObject({
    type: z.literal("report"),
    /** Chosen by the agent, repeated in the answer. */
    id: counter,
    epoch: counter,
    /** Of the command that the report is about. */
    enteredGeneration: counter,
    report: agentReport,
  }),
]);
export type AgentMessage = z.output<typeof agentMessage>;

/** What the manager says. `command` may come twice. */
export type ManagerMessage =
  | { type: "welcome"; epoch: number }
  | { type: "fenced"; epoch: number }
  | ({ type: "command" } & AgentCommand)
  | { type: "accepted"; id: number; generation: number }
  | { type: "refused"; id: number | null; because: string; reason: string };

/** A document's worth of command, in words that its own schema has bounded; a filter is for its parser to judge. */
export const managerMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("welcome"), epoch: counter }),
  z.strictObject({ type: z.literal("fenced"), epoch: counter }),
  z.strictObject({
    type: z.literal("command"),
    task: z.enum(TASKS),
    generation: counter,
    enteredGeneration: counter,
    agentEpoch: counter,
    splitId: z.string().max(MAX_SPLIT_ID_CHARS),
    mayPump: z.boolean(),
    phase: splitPhase,
    sources: z.array(splitSource).max(MAX_SOURCES),
    routes: z.array(splitRoute).max(MAX_SOURCES * MAX_ROUTES_PER_QUEUE),
    resources: z.array(splitResource).max(MAX_RESOURCES),
  }),
  z.strictObject({ type: z.literal("accepted"), id: counter, generation: counter }),
  z.strictObject({
    type: z.literal("refused"),
    id: counter.nullable(),
    because: z.string().min(1),
    reason: z.string().min(1),
  }),
]) satisfies z.ZodType<ManagerMessage>;
