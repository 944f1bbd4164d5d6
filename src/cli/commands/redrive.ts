import type { Command } from "commander";
import type { DeadLetter } from "../../client/fairlane.ts";
import { MAX_BATCH_MESSAGES } from "../../core/limits.ts";
import { deadLetterTopicOf } from "../../core/settings.ts";
import type { Cli } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { countDeadLetters } from "../dead-letter-count.ts";
import { EXIT } from "../exit-codes.ts";
import { checkFailedTopic } from "../failed-topic.ts";
import { counted } from "../figures.ts";
import { collect } from "../flag-values.ts";
import { groupFlag } from "../name-flags.ts";
import { pages } from "../pages.ts";
import type { Run } from "../run.ts";

interface Flags {
  id?: string[];
  key?: string[];
  group?: string;
  all?: boolean;
  yes?: boolean;
}

/** Puts dead letters back for the groups that failed them. */
export function redrive(cli: Cli): Command {
  return cli
    .command("redrive <topic>", {
      summary: "put dead letters back for the group that failed them",
      about:
        "Each goes to the end of its partition, attempt 1, for the group that failed it alone. Those of a group that " +
        "is no more stay. --group and --all take what is there when the command begins, so it ends also where messages " +
        "fail once more at once.",
      examples: [
        ["redrive orders --key order-1 --id order-1/created", "one message"],
        ["redrive orders --key a --id a1 --key b --id b1", "two of them: --key and --id in pairs"],
        ["redrive orders --group billing", "all that group billing failed; asks first"],
        ["redrive orders --all --yes", "all, for scripts"],
      ],
    })
    .option("--id <id>", "a message's ID, with its --key; may be repeated", collect)
    .option("--key <key>", "a message's partition key, with its --id; may be repeated", collect)
    .option("--group <group>", "only what this group failed", groupFlag)
    .option("--all", "every dead letter of the topic")
    .option("--yes", "do not ask")
    .action(
      cli.action<Flags>(async (run, [topic = ""], flags) => {
        checkFailedTopic("redrive", topic);
        const ids = pairsOf(flags);
        const redriven = ids ? await byIds(run, topic, ids, flags.group) : await everyOne(run, topic, flags);
        await run.out.done({ redriven }, `redriven: ${counted(redriven, "message")}`);
        if (ids && redriven < ids.length) {
          throw new CliError(
            `${counted(ids.length - redriven, "dead letter")} of those named ${redriven === ids.length - 1 ? "is" : "are"} not there`,
            redriven === 0 ? EXIT.notFound : EXIT.failed,
            `see: fairlane dead-letters ${topic}`,
          );
        }
      }),
    );
}

function pairsOf({ id, key, all, group }: Flags): { id: string; partitionKey: string }[] | null {
  if (id === undefined && key === undefined) {
    if (all || group !== undefined) return null;
    throw usageError("which dead letters?", "give --key and --id, --group, or --all");
  }
  if (all) throw usageError("--all does not go together with --id");
  if (id?.length !== key?.length) throw usageError("each --id needs its --key, and each --key its --id");
  return (id ?? []).map((one, index) => ({ id: one, partitionKey: key?.[index] ?? "" }));
}

async function byIds(
  run: Run,
  topic: string,
  ids: readonly { id: string; partitionKey: string }[],
  group: string | undefined,
): Promise<number> {
  let redriven = 0;
  for (let at = 0; at < ids.length; at += MAX_BATCH_MESSAGES) {
    const reply = await run.fairlane.admin.redrive(topic, {
      ids: ids.slice(at, at + MAX_BATCH_MESSAGES),
      group,
    });
    redriven += reply.redriven;
  }
  return redriven;
}

async function everyOne(run: Run, topic: string, { group, yes }: Flags): Promise<number> {
  const { count, atLeast } = await countDeadLetters(run, topic);
  if (count === 0) return 0;
  const which = group === undefined ? "" : `, those that group ${group} failed,`;
  const { tenant } = run.target;
  await run.confirm(
    `This puts dead letters${which} back into topic ${topic} of tenant ${tenant}; there are ${counted(count, "dead letter", atLeast)} in all.`,
    yes,
  );
  const newest = await newestOffset(run, topic);
  let redriven = 0;
  for await (const page of pages((after?: number) => run.fairlane.admin.deadLetters(topic, { after }))) {
    const wanted = page.deadLetters.filter((letter) => isWanted(letter, newest, group));
    const ids = wanted.map(({ id, partitionKey }) => ({ id, partitionKey }));
    if (ids.length > 0) redriven += await byIds(run, topic, ids, group);
    run.out.progress(`redriven: ${redriven} …`);
    if ((page.deadLetters.at(-1)?.offset ?? newest) >= newest) break;
  }
  return redriven;
}

function isWanted(letter: DeadLetter, newest: number, group: string | undefined): boolean {
  return letter.offset <= newest && (group === undefined || letter.group === group);
}

/** What fails again meanwhile comes behind it. */
async function newestOffset(run: Run, topic: string): Promise<number> {
  const { messages } = await run.fairlane.admin.listMessages(deadLetterTopicOf(topic), { last: 1 });
  return messages.at(-1)?.offset ?? 0;
}
