import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { ageCell } from "../figures.ts";

const COLUMNS = [
  { title: "SUBSCRIBER" },
  { title: "ASKING" },
  { title: "LANES", align: "right" },
  { title: "BUSY", align: "right" },
  { title: "IN FLIGHT", align: "right" },
  { title: "OLDEST DELIVERY" },
  { title: "LAST SEEN" },
  { title: "EXPIRES" },
  { title: "ROUTE" },
] as const;

/** Who reads for a group, and what each has. */
export function subscribers(cli: Cli): Command {
  return cli
    .command("subscribers <topic> <group>", {
      summary: "live subscribers with their lanes and shares",
      about: "A lane is a partition as one subscriber holds it; busy ones have work now.",
      examples: [["subscribers orders billing", "a line for each, and the fair share"]],
    })
    .action(
      cli.action(async (run, [topic = "", group = ""]) => {
        const reply = await run.fairlane.admin.subscribers(topic, group);
        const rows = reply.subscribers.map((one) => [
          one.subscriber,
          one.asking ? "yes" : "no",
          one.lanes,
          one.busyLanes,
          one.inFlight,
          ageCell(run, one.oldestDeliveryAt),
          ageCell(run, one.lastSeenAt),
          ageCell(run, one.expiresAt),
          one.route ?? "",
        ]);
        await run.out.result(reply, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, rows)));
        run.out.note(
          rows.length === 0
            ? `group ${group} has no live subscriber`
            : `share: ${reply.share} of ${reply.busyLanes} busy lanes each; ${reply.freeLanes} of them free`,
        );
      }),
    );
}
