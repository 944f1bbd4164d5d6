import type { Command } from "commander";
import { MAX_PAGE } from "../../core/limits.ts";
import type { Cli } from "../cli.ts";
import { integerFlag, offsetFlag } from "../durations.ts";
import { failedTopic } from "../failed-topic.ts";
import { ageCell } from "../figures.ts";

const MAX_REASON_CHARS = 60;
const COLUMNS = [
  { title: "OFFSET", align: "right" },
  { title: "PARTITION KEY" },
  { title: "ID" },
  { title: "GROUP" },
  { title: "ATTEMPTS", align: "right" },
  { title: "FAILED" },
  { title: "REASON", maxChars: MAX_REASON_CHARS },
] as const;

/** What of a topic failed for good. */
export function deadLetters(cli: Cli): Command {
  return cli
    .command("dead-letters <topic>", {
      summary: "list a topic's dead letters",
      about: "The topic is the one that they failed in. Each is kept with its body in <topic>_dlq.",
      examples: [
        ["dead-letters orders", "what failed, for which group, and why"],
        ["inspect orders_dlq --key order-1 --id order-1/created", "one of them with its body"],
      ],
    })
    .option("--after <offset>", "go on behind this offset", offsetFlag)
    .option("--limit <number>", `at most so many, 1 to ${MAX_PAGE}`, integerFlag(1, MAX_PAGE))
    .action(
      cli.action<{ after?: number; limit?: number }>(async (run, [named = ""], { after, limit }) => {
        const topic = failedTopic(run, named);
        const page = await run.fairlane.admin.deadLetters(topic, { after, limit });
        const rows = page.deadLetters.map((letter) => [
          letter.offset,
          letter.partitionKey,
          letter.id,
          letter.group,
          letter.attempts,
          ageCell(run, letter.failedAt),
          letter.reason,
        ]);
        await run.out.result(page, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, rows)));
        if (rows.length === 0) run.out.note("no dead letters");
        if (page.next !== null) run.out.note(`there are more: --after ${page.next}`);
      }),
    );
}
