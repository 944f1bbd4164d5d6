import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { counted } from "../figures.ts";

/** Deletes what a topic holds. */
export function purge(cli: Cli): Command {
  return cli
    .command("purge <topic>", {
      summary: "delete every message of a topic",
      about: "What is published after it began stays. The topic, its groups and their settings stay as well.",
      examples: [
        ["purge orders", "says how many, and asks first"],
        ["purge orders --yes --json", 'for scripts: prints {"deleted": number}'],
      ],
    })
    .option("--yes", "do not ask")
    .action(
      cli.action<{ yes?: boolean }>(async (run, [topic = ""], { yes }) => {
        const { messages, atLeast, groups } = await run.fairlane.admin.getTopic(topic);
        const unsettled = groups.filter(({ backlog }) => backlog > 0).map(({ group }) => group);
        const lost = unsettled.length > 0 ? ` Not settled yet by: ${unsettled.join(", ")}.` : "";
        const { tenant } = run.target;
        await run.confirm(
          `This deletes ${counted(messages, "message", atLeast)} from topic ${topic} of tenant ${tenant}.${lost}`,
          yes,
        );
        run.out.progress("deleting …");
        const reply = await run.fairlane.admin.purgeMessages(topic);
        await run.out.done(reply, `deleted ${counted(reply.deleted, "message")}`);
      }),
    );
}
