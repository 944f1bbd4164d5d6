import type { Command } from "commander";
import type { Group } from "../../client/fairlane.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../cli-error.ts";
import { durationText } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import { counted, facts } from "../figures.ts";
import { groupChange, type SettingsFlags, withSettingsFlags } from "../group-settings.ts";
import { groupsTable } from "./topic-stats.ts";

/** A topic's consumer groups, and their settings. */
export function groups(cli: Cli): Command {
  const command = cli
    .command("groups", {
      summary: "a topic's consumer groups",
      examples: [
        ["groups orders", "a line for each group"],
        ["groups get orders billing", "its settings"],
        ["groups set orders billing --strict --max-attempts 5", "makes or changes it"],
        ["groups pause orders billing", "delivers nothing until: fairlane groups resume orders billing"],
        ["groups delete orders billing", "forgets it; asks first"],
      ],
    })
    .enablePositionalOptions();
  return command
    .addCommand(list(cli), { isDefault: true })
    .addCommand(get(cli))
    .addCommand(set(cli))
    .addCommand(pause(cli, true))
    .addCommand(pause(cli, false))
    .addCommand(remove(cli));
}

function list(cli: Cli): Command {
  return cli
    .command("list <topic>", {
      summary: "list a topic's groups",
      examples: [["groups list orders", "the same as: fairlane groups orders"]],
    })
    .action(
      cli.action(async (run, [topic = ""]) => {
        const { groups: all } = await run.fairlane.admin.getTopic(topic);
        await run.out.result({ groups: all }, () => (all.length === 0 ? "" : groupsTable(run, all)));
        if (all.length === 0) run.out.note(`no group reads topic ${topic}: the first receive makes one`);
      }),
    );
}

function get(cli: Cli): Command {
  return cli
    .command("get <topic> <group>", {
      summary: "show a group's settings",
      examples: [["groups get orders billing", "every setting"]],
    })
    .action(
      cli.action(async (run, [topic = "", group = ""]) => {
        const settings = await run.fairlane.admin.getGroup(topic, group);
        await run.out.result(settings, () => settingsText(settings));
      }),
    );
}

function set(cli: Cli): Command {
  const command = cli.command("set <topic> <group>", {
    summary: "make a group, or change its settings",
    about:
      "Settings that are not given keep their value; a new group, and a new topic, begin with the defaults.",
    examples: [
      ["groups set orders billing", "makes it with the defaults, and prints its settings"],
      ["groups set orders billing --strict", "one message of a partition after the other"],
      ["groups set orders billing --visibility-timeout 2m --backoff 5s --max-backoff 10m", "slow handlers"],
      ["groups set orders audit --start-from latest", "a new group that sees only what comes from now on"],
    ],
  });
  return withSettingsFlags(command).action(
    cli.action<SettingsFlags>(async (run, [topic = "", group = ""], flags) => {
      const settings = await run.fairlane.admin.putGroup(topic, group, groupChange(flags));
      await run.out.done(settings, settingsText(settings));
    }),
  );
}

function pause(cli: Cli, paused: boolean): Command {
  const word = paused ? "pause" : "resume";
  return cli
    .command(`${word} <topic> <group>`, {
      summary: paused ? "deliver nothing to a group for now" : "deliver to a paused group again",
      examples: [
        [`groups ${word} orders billing`, paused ? "deliveries under way may still be settled" : "at once"],
      ],
    })
    .action(
      cli.action(async (run, [topic = "", group = ""]) => {
        // A PUT would make a group whose name is misspelt.
        await run.fairlane.admin.getGroup(topic, group);
        const settings = await run.fairlane.admin.putGroup(topic, group, { paused });
        await run.out.done(
          settings,
          `group ${group} of ${topic} is ${settings.paused ? "paused" : "not paused"}`,
        );
      }),
    );
}

function remove(cli: Cli): Command {
  return cli
    .command("delete <topic> <group>", {
      summary: "forget a group",
      about:
        "It no longer holds messages back from collection, and a new group of its name begins anew. With live " +
        "subscribers the server refuses, unless --force is given.",
      examples: [
        ["groups delete orders billing", "says what it has not settled, and asks first"],
        ["groups delete orders billing --force --yes", "for scripts, also while somebody reads for it"],
      ],
    })
    .option("--force", "also while the group has live subscribers")
    .option("--yes", "do not ask")
    .action(
      cli.action<{ force?: boolean; yes?: boolean }>(
        async (run, [topic = "", group = ""], { force, yes }) => {
          await run.fairlane.admin.getGroup(topic, group);
          const stats = (await run.fairlane.admin.getTopic(topic)).groups.find((one) => one.group === group);
          const { backlog = 0, atLeast, subscribers = 0 } = stats ?? {};
          // The server refuses as well; nobody should be asked in vain.
          if (subscribers > 0 && !force) {
            const who = counted(subscribers, "live subscriber");
            throw new CliError(`group ${group} has ${who}`, EXIT.failed, "stop them first, or add --force");
          }
          await run.confirm(
            `This forgets group ${group} of topic ${topic} of tenant ${run.target.tenant}: its settings, its progress, and ` +
              `${counted(backlog, "message", atLeast)} that it has not settled.`,
            yes,
          );
          await run.fairlane.admin.deleteGroup(topic, group, { force });
          await run.out.done({ deleted: 1 }, `deleted group ${group} of ${topic}`);
        },
      ),
    );
}

function settingsText(group: Group): string {
  const { retry } = group;
  return facts([
    ["paused", group.paused ? "yes" : "no"],
    [
      "in flight a partition",
      group.maxInFlightPerPartition === 1 ? "1 (strict)" : String(group.maxInFlightPerPartition),
    ],
    ["visibility timeout", durationText(group.visibilityTimeoutMs)],
    ["lease duration", durationText(group.leaseDurationMs)],
    ["attempts", String(group.maxAttempts)],
    [
      "backoff",
      `${durationText(retry.initialBackoffMs)}, times ${retry.multiplier}, at most ${durationText(retry.maxBackoffMs)}`,
    ],
    ["dead letters", group.deadLetters ? "kept" : "off: dropped and counted"],
    ["started from", group.startFrom],
    ["made by", group.createdBy === "receive" ? "its first receive" : "an operator"],
  ]);
}
