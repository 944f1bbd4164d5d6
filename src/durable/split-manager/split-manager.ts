import { DurableObject } from "cloudflare:workers";
import { type Failure, FairlaneError } from "../../core/failure.ts";
import { AGENT_CLOSE } from "../../protocol/split-agent.ts";
import type { SplitCalls, SplitRef } from "../../protocol/split-calls.ts";
import type { Outcome } from "../../protocol/tenant-calls.ts";
import type { SplitIdentity } from "../../splitting/state/new-split.ts";
import { migrate } from "../migrate.ts";
import { Platform } from "../platform.ts";
import { onAgentGone, onAgentMessage } from "./agent-session.ts";
import { deleteSplit } from "./commands/delete-split.ts";
import { deleteSplitRoute } from "./commands/delete-split-route.ts";
import { getSplit } from "./commands/get-split.ts";
import { getSplitRoute } from "./commands/get-split-route.ts";
import { listSplitRoutes } from "./commands/list-split-routes.ts";
import { putSplit } from "./commands/put-split.ts";
import { putSplitRoute } from "./commands/put-split-route.ts";
import { resumeSplit } from "./commands/resume-split.ts";
import { startSplit } from "./commands/start-split.ts";
import { stopSplit } from "./commands/stop-split.ts";
import { PlatformAgents } from "./platform-agents.ts";
import { Split } from "./split.ts";
import { alarmPass } from "./split-alarm.ts";
import { SPLIT_SCHEMA, SplitTable } from "./split-table.ts";

interface Opened {
  platform: Platform;
  agents: PlatformAgents;
  /** null: nothing was ever declared here, so the object is nobody's yet. */
  split: Split | null;
}

const RETRY_ALARM_MS = 1000;
/** Codes that only tell how a connection ended, and that a close may not carry. */
const NOT_FOR_SENDING = [1005, 1006, 1015];

/**
 * The manager of one workload's brokered split: only wires the platform to what decides. It is a cache of its own disk, and
 * the connections of its agents outlive its memory.
 */
export class SplitManager extends DurableObject implements SplitCalls {
  private opening: Promise<Opened> | null = null;

  putSplit(...call: Parameters<SplitCalls["putSplit"]>): ReturnType<SplitCalls["putSplit"]> {
    return this.run("putSplit", putSplit, ...call);
  }
  getSplit(...call: Parameters<SplitCalls["getSplit"]>): ReturnType<SplitCalls["getSplit"]> {
    return this.run("getSplit", getSplit, ...call);
  }
  deleteSplit(...call: Parameters<SplitCalls["deleteSplit"]>): ReturnType<SplitCalls["deleteSplit"]> {
    return this.run("deleteSplit", deleteSplit, ...call);
  }
  startSplit(...call: Parameters<SplitCalls["startSplit"]>): ReturnType<SplitCalls["startSplit"]> {
    return this.run("startSplit", startSplit, ...call);
  }
  stopSplit(...call: Parameters<SplitCalls["stopSplit"]>): ReturnType<SplitCalls["stopSplit"]> {
    return this.run("stopSplit", stopSplit, ...call);
  }
  resumeSplit(...call: Parameters<SplitCalls["resumeSplit"]>): ReturnType<SplitCalls["resumeSplit"]> {
    return this.run("resumeSplit", resumeSplit, ...call);
  }
  putSplitRoute(...call: Parameters<SplitCalls["putSplitRoute"]>): ReturnType<SplitCalls["putSplitRoute"]> {
    return this.run("putSplitRoute", putSplitRoute, ...call);
  }
  getSplitRoute(...call: Parameters<SplitCalls["getSplitRoute"]>): ReturnType<SplitCalls["getSplitRoute"]> {
    return this.run("getSplitRoute", getSplitRoute, ...call);
  }
  deleteSplitRoute(
    ...call: Parameters<SplitCalls["deleteSplitRoute"]>
  ): ReturnType<SplitCalls["deleteSplitRoute"]> {
    return this.run("deleteSplitRoute", deleteSplitRoute, ...call);
  }
  listSplitRoutes(
    ...call: Parameters<SplitCalls["listSplitRoutes"]>
  ): ReturnType<SplitCalls["listSplitRoutes"]> {
    return this.run("listSplitRoutes", listSplitRoutes, ...call);
  }

  /** An agent's connection. Whether there is a split is asked before, by `getSplit`: this only takes it in. */
  override async fetch(): Promise<Response> {
    const { agents, split } = await this.open();
    if (split === null) return new Response(null, { status: 404 });
    const response = agents.accept(split.nowMs());
    split.arm();
    return response;
  }

  override async webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): Promise<void> {
    const { agents, split, platform } = await this.open();
    const agent = agents.of(socket);
    try {
      if (split === null) agent.close(AGENT_CLOSE.gone, "there is no split to work on");
      else onAgentMessage(split, agent, data);
    } catch (error) {
      platform.report("agent message", error);
      agent.close(AGENT_CLOSE.internal, "the manager failed");
    }
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    // Answered only where the platform has not done it by itself.
    if (socket.readyState === WebSocket.CLOSING) socket.close(NOT_FOR_SENDING.includes(code) ? 1000 : code);
    await this.agentGone(socket);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.agentGone(socket);
  }

  /** May come twice, early, or before any call after a restart; it never throws, since one that does dies after a few tries. */
  override async alarm(): Promise<void> {
    const { platform, split } = await this.open();
    platform.alarm.fired();
    if (split === null) return;
    try {
      alarmPass(split);
      split.arm();
    } catch (error) {
      platform.report("alarm", error);
      platform.alarm.set(split.nowMs() + RETRY_ALARM_MS);
    }
  }

  private async agentGone(socket: WebSocket): Promise<void> {
    const { agents, split, platform } = await this.open();
    try {
      if (split !== null) onAgentGone(split, agents.of(socket).memory.epoch);
    } catch (error) {
      platform.report("agent gone", error);
    }
  }

  private async run<Input, Value>(
    name: keyof SplitCalls,
    command: (split: Split, input: Input) => Value,
    of: SplitRef,
    input: Input,
  ): Promise<Outcome<Value>> {
    const opened = await this.open();
    try {
      const split = splitOf(opened, of);
      const value = command(split, input);
      // Only what is stored makes the object somebody's: a question about nothing must not.
      if (split.store.load().kind !== "absent") opened.split = split;
      split.arm();
      return { ok: true, value };
    } catch (error) {
      return { ok: false, error: failureOf(opened.platform, name, error) };
    }
  }

  private open(): Promise<Opened> {
    this.opening ??= this.openOnce().catch((error: unknown) => {
      // The next call tries again; this one fails as a whole.
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  private async openOnce(): Promise<Opened> {
    const platform = await Platform.open(this.ctx.storage);
    const agents = new PlatformAgents(this.ctx);
    migrate(platform.sql, platform.clock, SPLIT_SCHEMA);
    const identity = new SplitTable(platform.sql).identity();
    return { platform, agents, split: identity === null ? null : makeSplit(platform, agents, identity) };
  }
}

function makeSplit(platform: Platform, agents: PlatformAgents, identity: SplitIdentity): Split {
  const { sql, clock, chance, alarm, report } = platform;
  return new Split({ sql, clock, chance, alarm, report, agents }, identity);
}

function splitOf({ platform, agents, split }: Opened, { tenant, workload }: SplitRef): Split {
  if (split === null) return makeSplit(platform, agents, { tenant, workload });
  const { identity } = split.store;
  if (identity.tenant !== tenant || identity.workload !== workload) {
    throw new FairlaneError({ code: "internal", detail: "the call reached another workload's object" });
  }
  return split;
}

function failureOf(platform: Platform, name: string, error: unknown): Failure {
  if (error instanceof FairlaneError) return error.failure;
  platform.report(name, error);
  return { code: "internal", detail: "the request failed for a reason of our own" };
}
