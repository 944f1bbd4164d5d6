import type { Command } from "commander";
import { MAX_PAGE } from "../../core/limits.ts";
import type { Cli } from "../cli.ts";
import { usageError } from "../cli-error.ts";
import { offsetFlag } from "../durations.ts";
import { counted } from "../figures.ts";
import { oneOf } from "../flag-values.ts";
import { keyFlag } from "../name-flags.ts";

interface Flags {
  key: string;
  offset?: number;
  to?: "earliest" | "latest";
  yes?: boolean;
}

/** Sets where a group goes on in a partition. */
export function resetOffset(cli: Cli): Command {
  return cli
    .command("reset-offset <topic> <group>", {
      summary: "set where a group goes on in a partition",
      about:
        "Deliveries of the partition start behind the offset: what lies after it comes again, what lies before it and " +
        "was not settled never comes. Deliveries under way end.",
      examples: [
        [
          "reset-offset orders billing --key order-1 --to earliest",
          "delivers the whole partition again; asks first",
        ],
        ["reset-offset orders billing --key order-1 --to latest --yes", "skips what is there, for scripts"],
        ["reset-offset orders billing --key order-1 --offset 218137900000000", "goes on behind that message"],
      ],
    })
    .requiredOption("--key <key>", "the partition key", keyFlag)
    .option("--offset <offset>", "the offset to go on behind; 0 is the beginning", offsetFlag)
    .option("--to <end>", "in place of --offset: earliest or latest", oneOf("earliest", "latest"))
    .option("--yes", "do not ask")
    .action(
      cli.action<Flags>(async (run, [topic = "", group = ""], { key, offset, to, yes }) => {
        if ((offset === undefined) === (to === undefined))
          throw usageError("give exactly one of --offset and --to");
        // Beyond everything the topic holds means its end.
        const target = offset ?? (to === "earliest" ? 0 : Number.MAX_SAFE_INTEGER);
        await run.fairlane.admin.getGroup(topic, group);
        const { messages, next } = await run.fairlane.admin.listMessages(topic, {
          partitionKey: key,
          after: target,
          limit: MAX_PAGE,
        });
        const behind = counted(messages.length, "message", next !== null);
        const where = to === undefined ? `behind offset ${target}` : `at the ${to}`;
        await run.confirm(
          `This has group ${group} of topic ${topic} of tenant ${run.target.tenant} go on ${where} in partition ${key}, ` +
            `where ${behind} will be delivered, also those that it has settled; deliveries under way end.`,
          yes,
        );
        const reply = await run.fairlane.admin.resetOffset(topic, group, {
          partitionKey: key,
          offset: target,
        });
        await run.out.done(
          reply,
          `group ${group} goes on behind offset ${reply.acked} in ${run.out.name(key)}`,
        );
      }),
    );
}
