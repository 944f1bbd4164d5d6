import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { integerFlag } from "../durations.ts";
import { relativeText } from "../times.ts";

const MAX_LANES = 100;
const MAX_SUMMARY_CHARS = 100;
const COLUMNS = [
  { title: "PARTITION KEY" },
  { title: "UNSETTLED", align: "right" },
  { title: "OFFSET", align: "right" },
  { title: "STATE" },
  { title: "NEXT CHANGE" },
  { title: "WHY", maxChars: MAX_SUMMARY_CHARS },
] as const;

/** Lanes of which nothing is delivered. */
export function waiting(cli: Cli): Command {
  return cli
    .command("waiting <topic> <group>", {
      summary: "lanes that wait, and why",
      about: "Each with its first message that is not delivered. More about one: fairlane explain",
      examples: [
        ["waiting orders billing", "the first of them"],
        ["waiting orders billing --limit 100 --json", "each with its whole explanation"],
      ],
    })
    .option("--limit <number>", `at most so many, 1 to ${MAX_LANES}`, integerFlag(1, MAX_LANES))
    .action(
      cli.action<{ limit?: number }>(async (run, [topic = "", group = ""], { limit }) => {
        const reply = await run.fairlane.admin.waitingLanes(topic, group, { limit });
        const rows = reply.lanes.map(({ partitionKey, unsettled, explanation }) => [
          partitionKey,
          unsettled,
          explanation.offset ?? "",
          explanation.state,
          explanation.nextChangeAt === null ? "" : relativeText(explanation.nextChangeAt, explanation.at),
          explanation.summary,
        ]);
        await run.out.result(reply, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, rows)));
        if (rows.length === 0) run.out.note(`no lane of group ${group} waits`);
        if (reply.more) run.out.note(`there are more: --limit ${MAX_LANES}`);
      }),
    );
}
