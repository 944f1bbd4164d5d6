import { hostname } from "node:os";
import type { Command } from "commander";
import {
  type ConsumeErrorContext,
  giveBack,
  type Message,
  type StaleSettlement,
} from "../../client/fairlane.ts";
import { MAX_DELAY_MS, MAX_VISIBILITY_TIMEOUT_MS, MIN_VISIBILITY_TIMEOUT_MS } from "../../core/limits.ts";
import type { Cli } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { durationFlag, integerFlag, timeoutFlag } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import { counted } from "../figures.ts";
import { noteNewGroup } from "../group-check.ts";
import { messagePrinter } from "../message-printer.ts";
import { groupFlag, routeFlag, subscriberFlag } from "../name-flags.ts";
import { programRunner } from "../program-runner.ts";
import type { Run } from "../run.ts";

const MAX_CONCURRENCY = 1000;
const MAX_MESSAGES = 1_000_000_000;
/** A consumer goes on through a restart of the server. */
const RETRY_FOR_MS = 30_000;
const DEFAULT_POSTPONE_MS = 10_000;
const DEFAULT_DRAIN_MS = 30_000;

export interface ConsumeFlags {
  group: string;
  subscriber?: string;
  route?: string;
  exec?: string;
  max?: number;
  idleExit?: number;
  concurrency: number;
  unordered?: boolean;
  visibilityTimeout?: number;
  postpone: number;
  drain: number;
}

/** How a message was handled: settled, or to be given back because the run cannot go on. */
export type Handled =
  | { kind: "ack" }
  | { kind: "nack"; reason: string }
  | { kind: "postpone"; delayMs: number }
  | { kind: "give-back" };

export type Handle = (message: Message) => Promise<Handled>;

/** Receives messages, and prints them or runs a program for each. */
export function consume(cli: Cli): Command {
  return cli
    .command("consume <topic> [command...]", {
      summary: "receive messages: print each, or run a program for it",
      about:
        "Without a program each message is printed and acked; piped, the bodies alone are written, a line feed behind each. " +
        "With --exec (by the shell) or -- and a command (as it is), that runs for each message with the body on its stdin and " +
        "FAIRLANE_ID, FAIRLANE_PARTITION_KEY, FAIRLANE_TOPIC, FAIRLANE_GROUP, FAIRLANE_OFFSET, FAIRLANE_ATTEMPT, " +
        "FAIRLANE_CONTENT_TYPE, FAIRLANE_HEADERS (JSON), FAIRLANE_PUBLISHED_AT, and FAIRLANE_ROUTE with --route, in its environment. Exit code 0 acks; 75 " +
        "postpones (--postpone); any other, or a signal, nacks with the last line of its stderr as the reason. While it runs " +
        "the message stays its own. Programs of one partition run one after the other.\n\n" +
        "Ends with exit code 1 where a message was nacked, also one that came again and was acked then. Ctrl-C lets what runs " +
        "end (--drain), then leaves the group, with exit code 130; a second one ends it at once.",
      examples: [
        ["consume orders --group billing", "print and ack, until Ctrl-C"],
        ["consume orders --group billing --max 10 --idle-exit 5s --json", "a few, as JSON lines"],
        ["consume orders --group billing --exec 'jq .total >> totals'", "a shell command for each"],
        ["consume orders --group billing --concurrency 4 -- ./bill.sh --fast", "a program and its arguments"],
      ],
    })
    .requiredOption("--group <group>", "the consumer group; made if it does not exist", groupFlag)
    .option("--subscriber <name>", "this member's name; a unique one if absent", subscriberFlag)
    .option("--route <name>", "attach to this route of the group: its messages, and no others", routeFlag)
    .option("--exec <command>", "run this by the shell for each message")
    .option("--max <number>", "end after so many messages", integerFlag(1, MAX_MESSAGES))
    .option("--idle-exit <duration>", "end when nothing came for so long", timeoutFlag)
    .option("--concurrency <number>", "messages in hand at a time", integerFlag(1, MAX_CONCURRENCY), 10)
    .option("--unordered", "also messages of one partition at a time")
    .option("--visibility-timeout <duration>", "how long a delivery is ours without a word", visibilityFlag)
    .option("--postpone <duration>", "the delay that exit code 75 means", delayFlag, DEFAULT_POSTPONE_MS)
    .option("--drain <duration>", "how long programs may go on after Ctrl-C", durationFlag, DEFAULT_DRAIN_MS)
    .action(
      cli.endingAction<ConsumeFlags>(async (run, [topic = "", ...command], flags) => {
        if (flags.exec !== undefined && command.length > 0)
          throw usageError("give --exec or -- and a command");
        const handle =
          flags.exec === undefined && command.length === 0
            ? messagePrinter(run)
            : programRunner(run, command.length > 0 ? command : (flags.exec as string), flags);
        const consuming = new Consuming(run, flags, handle);
        await consuming.run(topic);
      }),
    );
}

function delayFlag(text: string): number {
  const ms = durationFlag(text);
  if (ms > MAX_DELAY_MS) throw usageError("--postpone must be at most 7d");
  return ms;
}

function visibilityFlag(text: string): number {
  const ms = durationFlag(text);
  if (ms >= MIN_VISIBILITY_TIMEOUT_MS && ms <= MAX_VISIBILITY_TIMEOUT_MS) return ms;
  throw usageError("--visibility-timeout must be from 1s to 12h");
}

/** One consuming: counts what it handles, and ends at --max, --idle-exit, an interruption, or what cannot go on. */
class Consuming {
  readonly #run: Run;
  readonly #flags: ConsumeFlags;
  readonly #handle: Handle;
  readonly #stop = new AbortController();
  readonly #counts = { ack: 0, nack: 0, postpone: 0 };
  #started = 0;
  #inHand = 0;
  #idle: NodeJS.Timeout | null = null;
  #failure: { error: unknown } | null = null;

  constructor(run: Run, flags: ConsumeFlags, handle: Handle) {
    this.#run = run;
    this.#flags = flags;
    this.#handle = handle;
  }

  async run(topic: string): Promise<void> {
    const { group, max = Number.POSITIVE_INFINITY, concurrency, visibilityTimeout, drain } = this.#flags;
    const { signal, out } = this.#run;
    const fairlane = this.#run.connect(RETRY_FOR_MS);
    const { subscriber = subscriberName(), route } = this.#flags;
    await noteNewGroup(this.#run, fairlane, topic, group);
    if (this.#run.shell.stderr.isTTY)
      out.note(
        `consuming ${topic} for ${group}${route ? ` on route ${route}` : ""} as ${subscriber}; Ctrl-C ends it`,
      );
    this.#waitIdle();
    await fairlane.consume(topic, {
      group,
      subscriber,
      route,
      handler: (message) => this.#one(message),
      concurrency: Math.min(concurrency, max),
      ordered: this.#flags.unordered !== true,
      visibilityTimeoutMs: visibilityTimeout,
      signal: AbortSignal.any([signal, this.#stop.signal]),
      drainMs: drain,
      onStale: (stale) => out.warn(staleText(stale)),
      onError: (error, context) => this.#trouble(error, context),
    });
    if (this.#idle) clearTimeout(this.#idle);
    // Those that were told to end have a moment, then they are ended: none is left behind.
    await Promise.allSettled(this.#run.programs);
    out.note(this.#summary());
    if (this.#failure) throw this.#failure.error;
    signal.throwIfAborted();
    if (this.#counts.nack > 0) {
      throw new CliError(
        `${counted(this.#counts.nack, "message")} nacked`,
        EXIT.failed,
        `what becomes of them: fairlane explain ${topic} ${group} --key <key> --id <id>`,
      );
    }
  }

  async #one(message: Message): Promise<unknown> {
    const { max = Number.POSITIVE_INFINITY } = this.#flags;
    if (this.#started >= max || this.#stop.signal.aborted) return giveBack;
    this.#started += 1;
    if (this.#started >= max) this.#stop.abort();
    this.#inHand += 1;
    if (this.#idle) clearTimeout(this.#idle);
    try {
      return this.#settle(message, await this.#handle(message));
    } catch (error) {
      // Not the message's fault: it is left as it was, and nothing more is taken.
      this.#failure ??= { error };
      this.#stop.abort();
      return giveBack;
    } finally {
      this.#inHand -= 1;
      if (this.#inHand === 0) this.#waitIdle();
    }
  }

  #settle(message: Message, handled: Handled): unknown {
    if (handled.kind === "give-back") return giveBack;
    this.#counts[handled.kind] += 1;
    if (handled.kind === "ack") return message.ack();
    if (handled.kind === "postpone") return message.postpone(handled.delayMs);
    this.#run.out.note(`nacked ${message.id} of ${message.partitionKey}: ${handled.reason}`);
    return message.nack(handled.reason);
  }

  #waitIdle(): void {
    const { idleExit } = this.#flags;
    if (idleExit === undefined) return;
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#inHand === 0) this.#stop.abort();
    }, idleExit);
  }

  /** Consuming goes on after it. A handler of ours never throws. */
  #trouble(error: unknown, { phase }: ConsumeErrorContext): void {
    const what = error instanceof Error ? error.message : String(error);
    this.#run.out.note(`${phase}: ${what}; trying again`);
  }

  #summary(): string {
    const { ack, nack, postpone } = this.#counts;
    const others = [nack > 0 ? `${nack} nacked` : "", postpone > 0 ? `${postpone} postponed` : ""];
    return [`${counted(ack, "message")} acked`, ...others].filter((part) => part !== "").join(", ");
  }
}

function staleText({ message, action, status }: StaleSettlement): string {
  const what = `the ${action} of ${message.id} in partition ${message.partitionKey}`;
  return status === "unknown"
    ? `${what} was not answered: it may come again`
    : `${what} came too late (${status}): it was, or will be, delivered again`;
}

/** Says in `fairlane subscribers` whose it is. */
function subscriberName(): string {
  const host =
    hostname()
      .toLowerCase()
      .replace(/[^a-z0-9-]/g, "-")
      .slice(0, 60)
      .replace(/^-+/, "") || "host";
  const unique = crypto.randomUUID().slice(0, 8);
  return `cli-${host}-${process.pid}-${unique}`;
}
