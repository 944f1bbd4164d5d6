import { type Failure, FairlaneError } from "../core/failure.ts";
import type { MessageLog } from "../log/message-log.ts";
import type { ObjectLog } from "../log/object/object-log.ts";
import type { Outcome } from "../protocol/tenant-calls.ts";
import { collect } from "./commands/collect.ts";
import { deadLetters, purgeDeadLetters, redrive } from "./commands/dead-letters.ts";
import { explain, waitingLanes } from "./commands/explain.ts";
import { deleteGroup, getGroup, putGroup } from "./commands/groups.ts";
import { lag } from "./commands/lag.ts";
import { leases, releaseLease } from "./commands/leases.ts";
import { subscribers } from "./commands/list-subscribers.ts";
import { deleteMessage, getMessage, listMessages, purgeMessages } from "./commands/messages.ts";
import { notify } from "./commands/notify.ts";
import { overview } from "./commands/overview.ts";
import { publish } from "./commands/publish.ts";
import { reportReads } from "./commands/report-reads.ts";
import { resetOffset } from "./commands/reset-offset.ts";
import { deleteRoute, getRoute, listRoutes, putRoute } from "./commands/routes.ts";
import { settle } from "./commands/settle.ts";
import { giveBack, heartbeat, leave } from "./commands/subscribers.ts";
import { take } from "./commands/take.ts";
import { getTopic } from "./commands/topic-stats.ts";
import { listTopics, putTopic } from "./commands/topics.ts";
import type { Ports } from "./ports.ts";
import { Tenant } from "./tenant.ts";

/**
 * The tenant object without the platform: what workerd's class and the simulator both run. Deleting it and
 * making a new one on the same rows changes nothing but latency.
 */
const COMMANDS = {
  publish,
  notify,
  take,
  reportReads,
  giveBack,
  settle,
  heartbeat,
  leave,
  putGroup,
  getGroup,
  deleteGroup,
  putTopic,
  getTopic,
  listTopics,
  listMessages,
  getMessage,
  deleteMessage,
  purgeMessages,
  lag,
  resetOffset,
  leases,
  releaseLease,
  putRoute,
  getRoute,
  listRoutes,
  deleteRoute,
  explain,
  waitingLanes,
  subscribers,
  overview,
  deadLetters,
  redrive,
  purgeDeadLetters,
  collect,
};

export type CommandName = keyof typeof COMMANDS;
export type CommandInput<N extends CommandName> =
  Parameters<(typeof COMMANDS)[N]> extends [Tenant, infer I] ? I : Record<string, never>;
export type CommandValue<N extends CommandName> = Awaited<ReturnType<(typeof COMMANDS)[N]>>;

const CAUSE_REPORT_INTERVAL_MS = 1000;

export class Engine {
  readonly tenant: Tenant;
  private causeReportedAtMs = Number.NEGATIVE_INFINITY;

  constructor(name: string, ports: Ports, log: MessageLog, embedded: ObjectLog | null) {
    this.tenant = new Tenant(name, ports, log, embedded);
  }

  /** Runs one command. Never throws: failures are values, and what is not ours becomes `internal`. */
  async call<N extends CommandName>(name: N, input: CommandInput<N>): Promise<Outcome<CommandValue<N>>> {
    try {
      const command = COMMANDS[name] as unknown as (
        tenant: Tenant,
        input: CommandInput<N>,
      ) => Promise<CommandValue<N>>;
      return { ok: true, value: await command(this.tenant, input) };
    } catch (error) {
      return { ok: false, error: this.failureOf(name, error) };
    }
  }

  /** The alarm: does what is due and arms again. Never throws, since a throwing alarm dies after a few tries. */
  async alarm(): Promise<void> {
    try {
      await this.tenant.wake.pass();
    } catch (error) {
      this.tenant.ports.report("alarm", error);
      this.tenant.ports.alarm.set(this.tenant.nowMs() + 1000);
    }
  }

  /** What failed in the log, for operators: at most a line a second, since while it is down every call fails. */
  private reportCause(name: string, { cause }: FairlaneError): void {
    const nowMs = this.tenant.nowMs();
    const sinceMs = nowMs - this.causeReportedAtMs;
    if (cause === undefined || (sinceMs >= 0 && sinceMs < CAUSE_REPORT_INTERVAL_MS)) return;
    this.causeReportedAtMs = nowMs;
    this.tenant.ports.report(name, cause);
  }

  private failureOf(name: string, error: unknown): Failure {
    if (error instanceof FairlaneError) {
      this.reportCause(name, error);
      return error.failure;
    }
    this.tenant.ports.report(name, error);
    return { code: "internal", detail: "the request failed for a reason of our own" };
  }
}
