import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usageError } from "../cli-error.ts";
import { offsetFlag } from "../durations.ts";
import { explanationText } from "../explanation-text.ts";
import { counted } from "../figures.ts";
import { idFlag, keyFlag } from "../name-flags.ts";
import type { Run } from "../run.ts";
import { similarNames } from "../similar-names.ts";

const MAX_OTHERS_SHOWN = 3;

interface Flags {
  key: string;
  id?: string;
  offset?: number;
}

/** Why a message is, or is not, being delivered. */
export function explain(cli: Cli): Command {
  return cli
    .command("explain <topic> <group>", {
      summary: "why a message is, or is not, being delivered",
      about:
        "By the rules of dispatch itself. A message that does not exist is an answer as well (state not-found, exit code 0).",
      examples: [
        ["explain orders billing --key order-1 --id order-1/created", "one message, for one group"],
        ["explain orders billing --key order-1 --offset 218137900000000 --json", "its state for a script"],
        ["waiting orders billing", "where to begin: every lane that waits"],
      ],
    })
    .requiredOption("--key <key>", "its partition key", keyFlag)
    .option("--id <id>", "its ID", idFlag)
    .option("--offset <offset>", "in place of --id: its offset", offsetFlag)
    .action(
      cli.action<Flags>(async (run, [topic = "", group = ""], { key, id, offset }) => {
        if ((id === undefined) === (offset === undefined))
          throw usageError("give exactly one of --id and --offset");
        const explanation = await run.fairlane.admin.explain(topic, group, { partitionKey: key, id, offset });
        await run.out.result(explanation, () => explanationText(run.out, explanation, run.nowMs));
        const isAlone = explanation.blockers.some(
          (blocker) => blocker.kind === "no-subscriber" && blocker.route === undefined,
        );
        if (isAlone && !run.out.json && !run.out.quiet) await noteOtherGroups(run, topic, group);
      }),
    );
}

/** Whoever waits for a subscriber may have started one, under another group's name. */
async function noteOtherGroups(run: Run, topic: string, group: string): Promise<void> {
  const { groups } = await run.fairlane.admin.getTopic(topic);
  const live = groups.filter((one) => one.group !== group && one.subscribers > 0);
  const similar = similarNames(
    group,
    live.map((one) => one.group),
  );
  const rankOf = (name: string) => (similar.includes(name) ? similar.indexOf(name) : similar.length);
  const shown = live.sort((a, b) => rankOf(a.group) - rankOf(b.group)).slice(0, MAX_OTHERS_SHOWN);
  for (const one of shown) {
    const has = `group ${one.group} of this topic has ${counted(one.subscribers, "live subscriber")}`;
    run.out.note(`${has}: is it the one you mean?`);
  }
  if (live.length > shown.length)
    run.out.note(`and ${live.length - shown.length} more: fairlane topic-stats ${topic}`);
}
