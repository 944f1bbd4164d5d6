import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { FairlaneApiError, FairlaneNetworkError, type StoredMessage } from "../../client/fairlane.ts";
import { MAX_PAGE } from "../../core/limits.ts";
import type { Cli } from "../cli.ts";
import { integerFlag } from "../durations.ts";
import { bytesText } from "../figures.ts";
import { exactJsonOf, readMessage, type WholeMessage } from "../message-text.ts";
import { keyFlag } from "../name-flags.ts";
import type { Run } from "../run.ts";
import { SeenOffsets } from "../seen-offsets.ts";
import { timeText } from "../times.ts";

const DEFAULT_LAST = 10;
const POLL_MS = 500;
/** While the server does not answer. */
const RETRY_MS = 2000;

interface Flags {
  last: number;
  key?: string;
  bodies?: boolean;
  follow: boolean;
}

/** Shows messages as they come, and takes none. */
export function tail(cli: Cli): Command {
  return cli
    .command("tail <topic>", {
      summary: "look at messages as they come, without consuming them",
      about:
        "Reads the log as an operator does (scope admin): no group and no subscriber is touched. With a database a message " +
        "may become visible after a later one; it is shown when it comes, within some seconds.",
      examples: [
        ["tail orders", `the last ${DEFAULT_LAST}, then what comes, until Ctrl-C`],
        ["tail orders -n 50 --no-follow --bodies", "the last 50 with their bodies"],
        ["tail orders --key order-1 --json", "one partition, as JSON lines"],
      ],
    })
    .option(
      "-n, --last <number>",
      `begin with so many, 0 to ${MAX_PAGE}`,
      integerFlag(0, MAX_PAGE),
      DEFAULT_LAST,
    )
    .option("--key <key>", "only this partition", keyFlag)
    .option("--bodies", "read and show the body of each")
    .option("--no-follow", "end after those that are there")
    .action(
      cli.action<Flags>(async (run, [topic = ""], flags) => {
        // More than are shown: what becomes visible among them later is new.
        const { messages } = await run.fairlane.admin.listMessages(topic, {
          partitionKey: flags.key,
          last: MAX_PAGE,
        });
        const seen = new SeenOffsets(messages.map(({ offset }) => offset));
        for (const message of messages.slice(Math.max(0, messages.length - flags.last))) {
          await show(run, message, flags);
        }
        while (flags.follow) await showNew(run, topic, flags, seen);
      }),
    );
}

/** What came since the last look. A server that is away for a while is waited for. */
async function showNew(run: Run, topic: string, flags: Flags, seen: SeenOffsets): Promise<void> {
  await pause(POLL_MS, undefined, { signal: run.signal });
  try {
    let after: number | null = seen.readFrom;
    while (after !== null) {
      const page: { messages: StoredMessage[]; next: number | null } = await run.fairlane.admin.listMessages(
        topic,
        { partitionKey: flags.key, after },
      );
      for (const message of page.messages) {
        if (seen.add(message.offset)) await show(run, message, flags);
      }
      after = page.next;
    }
  } catch (error) {
    if (!isPassing(error)) throw error;
    run.out.note(`${error instanceof Error ? error.message : error}; trying again`);
    await pause(RETRY_MS, undefined, { signal: run.signal });
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof FairlaneNetworkError) return true;
  return error instanceof FairlaneApiError && (error.status === 429 || error.status >= 500);
}

async function show(run: Run, message: StoredMessage, { bodies }: Flags): Promise<void> {
  const { out } = run;
  const whole = bodies ? await withBody(run, message) : null;
  if (out.json) return out.document(whole === null ? JSON.stringify(message) : exactJsonOf(whole));
  const at = out.terminal
    ? timeText(message.publishedAt, run.nowMs)
    : new Date(message.publishedAt).toISOString();
  const cells = [
    at,
    String(message.offset),
    message.partitionKey,
    message.id,
    out.terminal ? bytesText(message.bodyBytes) : String(message.bodyBytes),
  ];
  const line = out.terminal ? out.name(cells.join("  ")) : out.table([], [cells]);
  if (whole === null) return out.write(`${line}\n`);
  const body = whole.text ?? Buffer.from(whole.bytes).toString("utf8");
  await out.write(`${out.styled("dim", line)}\n${out.text(body)}\n`);
}

/** Deleted since it was listed: it is shown without its body. */
async function withBody(run: Run, message: StoredMessage): Promise<WholeMessage | null> {
  try {
    return await readMessage(run, message.topic, message);
  } catch (error) {
    if (error instanceof FairlaneApiError && error.code === "not-found") return null;
    throw error;
  }
}
