import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { splitPatch } from "./split-patch.ts";
import { splitList, splitRenew, splitShow, splitStop } from "./split-routes.ts";
import { splitStart } from "./split-start.ts";
import { splitValidate } from "./split-validate.ts";

/** Lending a developer the messages that carry their header. */
export function split(cli: Cli): Command {
  return cli
    .command("split", {
      summary: "lend a developer the messages that carry their header",
      examples: [
        ["split start orders billing alice x-dev=alice", "alice's messages wait for alice, until Ctrl-C"],
        ["split list orders billing", "who has which, and how many"],
        ["split validate -f worker.yaml", "is a workload declared so that its queues can be split?"],
        ["split patch -f worker.yaml", "what points it at its shadows"],
      ],
    })
    .enablePositionalOptions()
    .addCommand(splitStart(cli))
    .addCommand(splitList(cli))
    .addCommand(splitShow(cli))
    .addCommand(splitRenew(cli))
    .addCommand(splitStop(cli))
    .addCommand(splitValidate(cli))
    .addCommand(splitPatch(cli));
}
