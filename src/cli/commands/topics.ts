import type { Command } from "commander";
import { FairlaneApiError, type TopicOverview, type TopicSettingsChange } from "../../client/fairlane.ts";
import type { Cli } from "../cli.ts";
import { durationFlag, durationText } from "../durations.ts";
import { ageCell, countText, facts } from "../figures.ts";
import { pages } from "../pages.ts";
import type { Run } from "../run.ts";

const COLUMNS = [
  { title: "TOPIC" },
  { title: "MESSAGES", align: "right" },
  { title: "OLDEST" },
  { title: "DEAD LETTERS", align: "right" },
  { title: "GROUPS" },
  { title: "BACKLOG", align: "right" },
] as const;

/** The tenant's topics, and their settings. */
export function topics(cli: Cli): Command {
  const command = cli
    .command("topics", {
      summary: "the tenant's topics",
      examples: [
        ["topics", "a line for each topic, with figures that are some seconds old at most"],
        ["topics --json", 'prints {"topics": [{"topic", "messages", "deadLetters", "groups": […], …}]}'],
        ["topics set orders --retention 1d --max-retention 14d", "makes or changes a topic"],
      ],
    })
    .enablePositionalOptions();
  return command.addCommand(list(cli), { isDefault: true }).addCommand(set(cli));
}

function list(cli: Cli): Command {
  return cli
    .command("list", {
      summary: "list the topics",
      about:
        "Dead-letter topics, <topic>_dlq, are among the names; their messages are counted beside the topic. A topic that " +
        "has no figures yet has its name alone.",
      examples: [["topics list", "the same as: fairlane topics"]],
    })
    .action(
      cli.action(async (run) => {
        const { topics: names } = await run.fairlane.admin.listTopics();
        const seen = names.length === 0 ? new Map<string, TopicOverview>() : await figuresOf(run);
        const all = names.map((topic) => seen.get(topic) ?? { topic });
        await run.out.result({ topics: all }, () =>
          names.length === 0
            ? ""
            : run.out.table(
                COLUMNS,
                names.map((topic) => rowOf(run, topic, seen.get(topic))),
              ),
        );
        if (names.length === 0)
          run.out.note(`tenant ${run.target.tenant} has no topic yet: publishing to one makes it`);
      }),
    );
}

/** A topic made a moment ago, or a server that cannot tell, leaves names without figures. */
async function figuresOf(run: Run): Promise<Map<string, TopicOverview>> {
  const seen = new Map<string, TopicOverview>();
  try {
    for await (const page of pages((after?: string) =>
      run.fairlane.admin.overview({ ...(after ? { after } : {}) }),
    )) {
      for (const topic of page.topics) seen.set(topic.topic, topic);
    }
  } catch (error) {
    if (!(error instanceof FairlaneApiError)) throw error;
    run.out.warn(`figures are missing: ${error.detail}`);
  }
  return seen;
}

function rowOf(run: Run, topic: string, figures: TopicOverview | undefined): string[] {
  if (!figures) return [topic, "", "", "", "", ""];
  const { messages, atLeast, deadLetters, deadLettersAtLeast, groups } = figures;
  return [
    topic,
    countText(messages, atLeast),
    ageCell(run, figures.oldestPublishedAt),
    countText(deadLetters, deadLettersAtLeast),
    groups.map(({ group, paused }) => (paused ? `${group} (paused)` : group)).join(", "),
    groups.map(({ backlog, atLeast: more }) => countText(backlog, more)).join(", "),
  ];
}

function set(cli: Cli): Command {
  return cli
    .command("set <topic>", {
      summary: "make a topic, or change how long it keeps messages",
      examples: [
        ["topics set orders", "makes it with the defaults, and prints its settings"],
        ["topics set orders --retention 1d", "remembers IDs for a day"],
      ],
    })
    .option("--retention <duration>", "keep a message and its ID at least so long", durationFlag)
    .option("--max-retention <duration>", "a message goes after so long, settled or not", durationFlag)
    .action(
      cli.action<{ retention?: number; maxRetention?: number }>(async (run, [topic = ""], flags) => {
        const change: TopicSettingsChange = {
          ...(flags.retention === undefined ? {} : { retentionMs: flags.retention }),
          ...(flags.maxRetention === undefined ? {} : { maxRetentionMs: flags.maxRetention }),
        };
        const settings = await run.fairlane.admin.putTopic(topic, change);
        await run.out.done(
          settings,
          facts([
            ["retention", durationText(settings.retentionMs)],
            ["max retention", durationText(settings.maxRetentionMs)],
          ]),
        );
      }),
    );
}
