import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { countDeadLetters } from "../dead-letter-count.ts";
import { checkFailedTopic } from "../failed-topic.ts";
import { counted } from "../figures.ts";

/** Deletes what failed for good. */
export function purgeDeadLetters(cli: Cli): Command {
  return cli
    .command("purge-dead-letters <topic>", {
      summary: "delete every dead letter of a topic",
      examples: [
        ["purge-dead-letters orders", "says how many, and asks first"],
        ["purge-dead-letters orders --yes", "for scripts"],
      ],
    })
    .option("--yes", "do not ask")
    .action(
      cli.action<{ yes?: boolean }>(async (run, [topic = ""], { yes }) => {
        checkFailedTopic("purge-dead-letters", topic);
        const { count, atLeast } = await countDeadLetters(run, topic);
        const { tenant } = run.target;
        await run.confirm(
          `This deletes ${counted(count, "dead letter", atLeast)} of topic ${topic} of tenant ${tenant}, with their bodies.`,
          yes,
        );
        run.out.progress("deleting …");
        const reply = await run.fairlane.admin.purgeDeadLetters(topic);
        await run.out.done(reply, `deleted ${counted(reply.deleted, "dead letter")}`);
      }),
    );
}
