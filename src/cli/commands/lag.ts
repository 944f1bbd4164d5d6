import type { Command } from "commander";
import type { PartitionLag } from "../../client/fairlane.ts";
import type { Cli } from "../cli.ts";
import { counted, countText } from "../figures.ts";
import { readLag } from "../partition-lag.ts";

const DEFAULT_SHOWN = 20;
const COLUMNS = [
  { title: "PARTITION KEY" },
  { title: "LAG", align: "right" },
  { title: "ACKED", align: "right" },
  { title: "LATEST", align: "right" },
] as const;

/** How far behind a group is. */
export function lag(cli: Cli): Command {
  return cli
    .command("lag <topic> <group>", {
      summary: "partitions in which a group is behind",
      about:
        "LAG is the number of messages that the group has not settled; ACKED and LATEST are offsets, which have gaps: " +
        "their difference says nothing. The largest lag comes first.",
      examples: [
        ["lag orders billing", `the ${DEFAULT_SHOWN} partitions with the largest lag, and the total`],
        ["lag orders billing --all --json", "every partition, as the API answers it"],
      ],
    })
    .option("--all", "every partition with messages, also those without a lag")
    .action(
      cli.action<{ all?: boolean }>(async (run, [topic = "", group = ""], { all }) => {
        const { partitions, next } = await readLag(run, topic, group);
        const behind = (all ? partitions : partitions.filter(({ lag: count }) => count > 0)).sort(byLag);
        const shown = all || run.out.json ? behind : behind.slice(0, DEFAULT_SHOWN);
        await run.out.result({ partitions: shown, next }, () =>
          shown.length === 0 ? "" : run.out.table(COLUMNS, shown.map(rowOf)),
        );
        const total = behind.reduce((sum, { lag: count }) => sum + count, 0);
        const isBound = behind.some(({ atLeast }) => atLeast);
        const others =
          behind.length > shown.length ? `, ${behind.length - shown.length} of them not shown` : "";
        run.out.note(
          behind.length === 0
            ? `group ${group} has settled everything in ${topic}`
            : `${counted(total, "message", isBound)} in ${counted(behind.length, "partition")}${others}`,
        );
      }),
    );
}

function byLag(a: PartitionLag, b: PartitionLag): number {
  return b.lag - a.lag;
}

function rowOf({ partitionKey, lag: count, atLeast, acked, latest }: PartitionLag) {
  return [partitionKey, countText(count, atLeast), acked, latest];
}
