import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { bytesText } from "../figures.ts";
import { idFlag, keyFlag } from "../name-flags.ts";
import { relativeText } from "../times.ts";

interface Flags {
  key: string;
  id: string;
  yes?: boolean;
}

/** Deletes one message. */
export function deleteMessage(cli: Cli): Command {
  return cli
    .command("delete <topic>", {
      summary: "delete one message",
      about: "No group receives it any more, and its ID is forgotten: published again, it is a new message.",
      examples: [
        ["delete orders --key order-1 --id order-1/created", "asks first"],
        ["delete orders --key order-1 --id order-1/created --yes", "for scripts"],
      ],
    })
    .requiredOption("--key <key>", "its partition key", keyFlag)
    .requiredOption("--id <id>", "its ID", idFlag)
    .option("--yes", "do not ask")
    .action(
      cli.action<Flags>(async (run, [topic = ""], { key, id, yes }) => {
        const place = { partitionKey: key, id };
        const { bodyBytes, publishedAt } = await run.fairlane.admin.getMessage(topic, place);
        const about = `${bytesText(bodyBytes)}, published ${relativeText(publishedAt, run.nowMs)}`;
        const { tenant } = run.target;
        await run.confirm(
          `This deletes message ${id} of partition ${key} (${about}) from topic ${topic} of tenant ${tenant}.`,
          yes,
        );
        await run.fairlane.admin.deleteMessage(topic, place);
        await run.out.done({ deleted: 1 }, `deleted ${run.out.name(id)}`);
      }),
    );
}
