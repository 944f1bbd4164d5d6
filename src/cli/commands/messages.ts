import type { Command } from "commander";
import type { StoredMessage } from "../../client/fairlane.ts";
import { MAX_PAGE } from "../../core/limits.ts";
import type { Cli } from "../cli.ts";
import { usageError } from "../cli-error.ts";
import { integerFlag, offsetFlag } from "../durations.ts";
import { ageCell, bytesText } from "../figures.ts";
import { keyFlag } from "../name-flags.ts";
import type { Run } from "../run.ts";

const COLUMNS = [
  { title: "OFFSET", align: "right" },
  { title: "PARTITION KEY" },
  { title: "ID" },
  { title: "PUBLISHED" },
  { title: "SIZE", align: "right" },
  { title: "CONTENT TYPE" },
  { title: "NOTE" },
] as const;

interface Flags {
  key?: string;
  after?: number;
  limit?: number;
  last?: number;
}

/** Messages that a topic holds, without bodies. */
export function messages(cli: Cli): Command {
  return cli
    .command("messages <topic>", {
      summary: "list stored messages, without bodies",
      examples: [
        ["messages orders --last 20", "those at the end"],
        ["messages orders --key order-1", "those of one partition, from the beginning"],
        ["messages orders --after 218137900000000 --json", "a page behind an offset, as the API answers it"],
      ],
    })
    .option("--key <key>", "only this partition", keyFlag)
    .option("--after <offset>", "go on behind this offset", offsetFlag)
    .option("--limit <number>", `at most so many, 1 to ${MAX_PAGE}`, integerFlag(1, MAX_PAGE))
    .option(
      "--last <number>",
      `in place of --after and --limit: so many at the end`,
      integerFlag(1, MAX_PAGE),
    )
    .action(
      cli.action<Flags>(async (run, [topic = ""], { key, after, limit, last }) => {
        if (last !== undefined && (after !== undefined || limit !== undefined)) {
          throw usageError("--last stands in place of --after and --limit");
        }
        const page = await run.fairlane.admin.listMessages(topic, {
          partitionKey: key,
          after,
          limit,
          last,
        });
        await run.out.result(page, () =>
          page.messages.length === 0 ? "" : messagesTable(run, page.messages),
        );
        if (page.messages.length === 0) run.out.note("no messages");
        if (page.next !== null && last === undefined) run.out.note(`there are more: --after ${page.next}`);
      }),
    );
}

export function messagesTable(run: Run, rows: readonly StoredMessage[]): string {
  return run.out.table(
    COLUMNS,
    rows.map((message) => [
      message.offset,
      message.partitionKey,
      message.id,
      ageCell(run, message.publishedAt),
      run.out.terminal ? bytesText(message.bodyBytes) : message.bodyBytes,
      message.contentType,
      noteOn(run, message),
    ]),
  );
}

function noteOn(run: Run, { dueAt, targetGroup, deadLetter }: StoredMessage): string {
  if (deadLetter) return `failed by ${deadLetter.group}: ${deadLetter.reason}`;
  if (targetGroup !== undefined) return `for ${targetGroup} only`;
  return dueAt > run.nowMs ? `due ${ageCell(run, dueAt)}` : "";
}
