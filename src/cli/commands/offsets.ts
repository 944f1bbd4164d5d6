import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { readLag } from "../partition-lag.ts";

const COLUMNS = [
  { title: "PARTITION KEY" },
  { title: "ACKED", align: "right" },
  { title: "LATEST", align: "right" },
] as const;

/** How far a group is, in offsets. */
export function offsets(cli: Cli): Command {
  return cli
    .command("offsets <topic> <group>", {
      summary: "acked and latest offset of every partition",
      about:
        "ACKED is the watermark: everything of the partition up to it is settled. Offsets grow and have gaps: for the " +
        "number of messages between two of them, see: fairlane lag",
      examples: [["offsets orders billing", "every partition, in order of keys"]],
    })
    .action(
      cli.action(async (run, [topic = "", group = ""]) => {
        const all = await readLag(run, topic, group);
        const rows = all.partitions.map(({ partitionKey, acked, latest }) => [partitionKey, acked, latest]);
        await run.out.result(all, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, rows)));
        if (rows.length === 0) run.out.note(`topic ${topic} holds no message`);
      }),
    );
}
