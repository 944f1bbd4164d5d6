import { Command } from "commander";
import { type Cli, withCommonFlags } from "./cli.ts";
import { consume } from "./commands/consume.ts";
import { deadLetters } from "./commands/dead-letters.ts";
import { deleteMessage } from "./commands/delete.ts";
import { explain } from "./commands/explain.ts";
import { gc } from "./commands/gc.ts";
import { groups } from "./commands/groups.ts";
import { inspect } from "./commands/inspect.ts";
import { lag } from "./commands/lag.ts";
import { leases } from "./commands/leases.ts";
import { messages } from "./commands/messages.ts";
import { offsets } from "./commands/offsets.ts";
import { profile } from "./commands/profile.ts";
import { publish } from "./commands/publish.ts";
import { purge } from "./commands/purge.ts";
import { purgeDeadLetters } from "./commands/purge-dead-letters.ts";
import { redrive } from "./commands/redrive.ts";
import { releaseLease } from "./commands/release-lease.ts";
import { resetOffset } from "./commands/reset-offset.ts";
import { split } from "./commands/split.ts";
import { status } from "./commands/status.ts";
import { subscribers } from "./commands/subscribers.ts";
import { tail } from "./commands/tail.ts";
import { token } from "./commands/token.ts";
import { topicStats } from "./commands/topic-stats.ts";
import { topics } from "./commands/topics.ts";
import { ui } from "./commands/ui.ts";
import { waiting } from "./commands/waiting.ts";
import { exitCodesHelp } from "./exit-codes.ts";

const GROUPS: readonly [heading: string, commands: readonly ((cli: Cli) => Command)[]][] = [
  ["Publish and consume:", [publish, consume, tail]],
  ["Look:", [topics, topicStats, messages, inspect, deadLetters]],
  ["Why is nothing delivered:", [explain, waiting, lag, offsets, leases, subscribers]],
  ["Operate:", [groups, redrive, resetOffset, releaseLease, gc]],
  ["Split:", [split]],
  ["Delete:", [deleteMessage, purge, purgeDeadLetters]],
  ["Servers and tokens:", [status, ui, token, profile]],
];

const AFTER = `
Without any setting, commands go to the server of npm start, as tenant demo, with the URL and the token in its data
folder (FAIRLANE_DATA, or .fairlane here or in a folder above). Flags go before variables, variables before the profile.
Every command has --json: results are then the API's own replies, one document, or a line for each result of consume,
tail and publish --lines. Errors are JSON then as well, on stderr: {"error": {"code", "message", "exitCode", …}}.
Offsets are integers; durations are like 500ms, 5s, 10m, 2h or 7d.

${exitCodesHelp()}
`;

/** The whole command line. */
export function programOf(cli: Cli): Command {
  const program = new Command("fairlane")
    .description("Publish, consume and look after messages of a Fairlane server.")
    .usage("<command> [options]")
    .enablePositionalOptions()
    .helpCommand("help [command]", "show a command's help")
    .addHelpText("after", AFTER);
  for (const [heading, commands] of GROUPS) {
    for (const make of commands) program.addCommand(make(cli).helpGroup(heading));
  }
  return withCommonFlags(program);
}
