import type { Command } from "commander";
import type { Explanation } from "../../client/fairlane.ts";
import type { Cli } from "../cli.ts";
import { integerFlag } from "../durations.ts";
import { counted } from "../figures.ts";
import type { Run } from "../run.ts";
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
  { title: "ROUTE" },
] as const;

/** Lanes of which nothing is delivered. */
export function waiting(cli: Cli): Command {
  return cli
    .command("waiting <topic> <group>", {
      summary: "lanes that wait, and why",
      about:
        "Each with its first message that is not delivered; also those in which all is under way, and for longer than the " +
        "group's visibility timeout. More about one: fairlane explain",
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
          changeCell(explanation),
          explanation.summary,
          explanation.route ?? "",
        ]);
        await run.out.result(reply, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, rows)));
        if (rows.length === 0 && !run.out.json && !run.out.quiet) await noteBacklog(run, topic, group);
        if (reply.more) run.out.note(`there are more: --limit ${MAX_LANES}`);
      }),
    );
}

function changeCell({ nextChangeAt, nextState, at }: Explanation): string {
  if (nextChangeAt === null) return "";
  return `${relativeText(nextChangeAt, at)}${nextState === null ? "" : `: ${nextState}`}`;
}

/** That no lane waits does not mean that all is done. */
async function noteBacklog(run: Run, topic: string, group: string): Promise<void> {
  const { groups } = await run.fairlane.admin.getTopic(topic);
  const { backlog = 0, atLeast } = groups.find((one) => one.group === group) ?? {};
  run.out.note(`no lane of group ${group} waits`);
  if (backlog === 0) return;
  const are = backlog === 1 && !atLeast ? "is" : "are";
  run.out.note(
    `${counted(backlog, "message", atLeast)} ${are} in flight, delayed or about to be delivered: ` +
      `fairlane lag ${topic} ${group}, or explain one by its ID`,
  );
}
