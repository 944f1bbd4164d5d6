import type { Command } from "commander";
import type { GroupSummary } from "../../client/fairlane.ts";
import type { Cli } from "../cli.ts";
import { durationText } from "../durations.ts";
import { ageCell, countText, facts } from "../figures.ts";
import type { Run } from "../run.ts";

const COLUMNS = [
  { title: "GROUP" },
  { title: "BACKLOG", align: "right" },
  { title: "IN FLIGHT", align: "right" },
  { title: "SUBSCRIBERS", align: "right" },
  { title: "OLDEST UNSETTLED" },
  { title: "EXPIRED", align: "right" },
  { title: "DROPPED", align: "right" },
] as const;

/** What a topic holds, and how far its groups are. */
export function topicStats(cli: Cli): Command {
  return cli
    .command("topic-stats <topic>", {
      summary: "what a topic holds and how far its groups are",
      about: "Numbers of messages are exact to 10000; 10000+ means that there are more.",
      examples: [
        ["topic-stats orders", "messages, partitions, settings, and a line for each group"],
        ["topic-stats orders --json | jq '.groups[].backlog'", "the backlog of each group"],
      ],
    })
    .action(
      cli.action(async (run, [topic = ""]) => {
        const stats = await run.fairlane.admin.getTopic(topic);
        await run.out.result(stats, () => {
          const about = facts([
            ["messages", countText(stats.messages, stats.atLeast)],
            ["partitions", String(stats.partitions)],
            ["oldest", ageCell(run, stats.oldestPublishedAt)],
            [
              "retention",
              `${durationText(stats.retentionMs)}, at most ${durationText(stats.maxRetentionMs)}`,
            ],
          ]);
          if (stats.groups.length === 0) return `${about}\n\nno group reads this topic`;
          return `${about}\n\n${groupsTable(run, stats.groups)}`;
        });
      }),
    );
}

/** A line for each group. */
export function groupsTable(run: Run, groups: readonly GroupSummary[]): string {
  const rows = groups.map((group) => [
    group.group,
    countText(group.backlog, group.atLeast),
    group.inFlight,
    group.subscribers,
    ageCell(run, group.oldestUnsettledAt),
    group.expired,
    group.dropped,
  ]);
  return run.out.table(COLUMNS, rows);
}
