import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { offsetFlag } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import { bytesText, facts } from "../figures.ts";
import { exactJsonOf, readMessage, type WholeMessage } from "../message-text.ts";
import { idFlag, keyFlag } from "../name-flags.ts";
import type { Run } from "../run.ts";
import { momentText } from "../times.ts";

interface Flags {
  key?: string;
  id?: string;
  offset?: number;
  raw?: boolean;
}

/** One message with its body. */
export function inspect(cli: Cli): Command {
  return cli
    .command("inspect <topic>", {
      summary: "show one message with its body",
      examples: [
        ["inspect orders --key order-1 --id order-1/created", "by partition key and ID"],
        ["inspect orders --offset 218137900000000", "by offset; also with its --key, as explain takes it"],
        ["inspect orders --key order-1 --id order-1/created --raw > body", "its body alone, byte for byte"],
        ["inspect orders_dlq --key order-1 --id order-1/created", "a dead letter, and why it is one"],
      ],
    })
    .option("--key <key>", "its partition key", keyFlag)
    .option("--id <id>", "its ID", idFlag)
    .option("--offset <offset>", "its offset: in place of --id, or which of several of this ID", offsetFlag)
    .option("--raw", "write the body's bytes and nothing else")
    .action(
      cli.action<Flags>(async (run, [topic = ""], flags) => {
        if (flags.raw && run.out.json) throw usageError("--raw and --json do not go together");
        const message = await readMessage(run, topic, await placeOf(run, topic, flags));
        if (flags.raw) return run.out.write(message.bytes);
        if (run.out.json) return run.out.document(exactJsonOf(message));
        await run.out.result(null, () => words(run, message));
      }),
    );
}

/** The API finds a message by key and ID; an offset alone is looked up in the list. */
async function placeOf(run: Run, topic: string, { key, id, offset }: Flags) {
  if (key !== undefined && id !== undefined) return { partitionKey: key, id, offset };
  if (id !== undefined || offset === undefined) {
    throw usageError("which message?", "give --key and --id, or --offset, alone or with --key");
  }
  const after = Math.max(0, offset - 1);
  const page = await run.fairlane.admin.listMessages(topic, { partitionKey: key, after, limit: 1 });
  const [found] = page.messages;
  if (found?.offset !== offset) {
    const where = key === undefined ? `topic ${topic}` : `partition ${key} of topic ${topic}`;
    throw new CliError(`${where} has no message at offset ${offset}`, EXIT.notFound);
  }
  return { partitionKey: found.partitionKey, id: found.id, offset };
}

function words(run: Run, { view, text, bytes }: WholeMessage): string {
  const { out, nowMs } = run;
  const { deadLetter } = view;
  const about = facts([
    ["id", out.name(view.id)],
    ["partition key", out.name(view.partitionKey)],
    ["offset", String(view.offset)],
    ["published", momentText(view.publishedAt, nowMs)],
    ["due", view.dueAt > view.publishedAt ? momentText(view.dueAt, nowMs) : null],
    ["for", view.targetGroup === undefined ? null : `group ${out.name(view.targetGroup)} only`],
    ["body", `${bytesText(view.bodyBytes)}, ${out.name(view.contentType)}`],
    ...Object.entries(view.headers).map(
      ([name, value]) => [`header ${out.name(name)}`, out.name(value)] as const,
    ),
    ...(deadLetter
      ? ([
          ["failed by", `group ${out.name(deadLetter.group)} of topic ${out.name(deadLetter.originalTopic)}`],
          ["failed", `${momentText(deadLetter.failedAt, nowMs)}, attempt ${deadLetter.attempts}`],
          ["reason", out.name(deadLetter.reason)],
        ] as const)
      : []),
  ]);
  const shown =
    text ?? (out.terminal ? new TextDecoder().decode(bytes) : Buffer.from(bytes).toString("utf8"));
  return `${about}\n\n${out.text(shown)}`;
}
