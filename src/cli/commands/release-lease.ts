import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { keyFlag } from "../name-flags.ts";

/** Frees a partition. */
export function releaseLease(cli: Cli): Command {
  return cli
    .command("release-lease <topic> <group>", {
      summary: "free a partition from its subscriber",
      about: "Another subscriber may take it at once. Deliveries under way are not touched.",
      examples: [
        ["release-lease orders billing --key order-1", "asks first"],
        ["release-lease orders billing --key order-1 --yes", "for scripts"],
      ],
    })
    .requiredOption("--key <key>", "the partition key", keyFlag)
    .option("--yes", "do not ask")
    .action(
      cli.action<{ key: string; yes?: boolean }>(async (run, [topic = "", group = ""], { key, yes }) => {
        const { leases } = await run.fairlane.admin.leases(topic, group, {});
        const holder = leases.find(({ partitionKey }) => partitionKey === key)?.subscriber;
        const from = holder === undefined ? "" : ` from subscriber ${holder}`;
        await run.confirm(
          `This frees partition ${key}${from} in group ${group} of topic ${topic} of tenant ${run.target.tenant}.`,
          yes,
        );
        await run.fairlane.admin.releaseLease(topic, group, { partitionKey: key });
        await run.out.done({ released: 1 }, `released ${run.out.name(key)}`);
      }),
    );
}
