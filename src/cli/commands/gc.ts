import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { counted } from "../figures.ts";

/** Passes of one run: each deletes some ten thousand messages at most. */
const MAX_PASSES = 1000;

/** Collects what every group has settled. */
export function gc(cli: Cli): Command {
  return cli
    .command("gc", {
      summary: "run one collection pass for the tenant",
      about:
        "The server does it by itself, every ten minutes for each tenant. Only what is settled by every group and older than its topic's retention goes, and what is older than its longest retention.",
      examples: [
        ["gc", "one pass"],
        ["gc --until-done", "passes until nothing is left to collect"],
      ],
    })
    .option("--until-done", "go on until there is nothing more to do")
    .action(
      cli.action<{ untilDone?: boolean }>(async (run, _names, { untilDone }) => {
        let reply = await run.fairlane.admin.collect();
        const total = { ...reply };
        for (let pass = 1; untilDone && reply.stopped === "limit" && pass < MAX_PASSES; pass += 1) {
          run.out.progress(`deleted ${counted(total.deletedMessages, "message")} …`);
          reply = await run.fairlane.admin.collect();
          total.deletedMessages += reply.deletedMessages;
          total.releasedPartitions += reply.releasedPartitions;
          total.stopped = reply.stopped;
        }
        const more = total.stopped === "limit" ? "; there is more to collect" : "";
        await run.out.done(
          total,
          `deleted ${counted(total.deletedMessages, "message")}, released ${counted(total.releasedPartitions, "partition")}${more}`,
        );
      }),
    );
}
