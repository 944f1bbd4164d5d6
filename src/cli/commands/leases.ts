import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { durationFlag } from "../durations.ts";
import { ageCell } from "../figures.ts";

const COLUMNS = [
  { title: "PARTITION KEY" },
  { title: "SUBSCRIBER" },
  { title: "EPOCH", align: "right" },
  { title: "ACQUIRED" },
  { title: "RENEWED" },
  { title: "EXPIRES" },
] as const;

/** Who holds which partition. */
export function leases(cli: Cli): Command {
  return cli
    .command("leases <topic> <group>", {
      summary: "who holds which partition",
      examples: [
        ["leases orders billing", "every lease of the group"],
        ["leases orders billing --stale-for 20s", "those whose subscriber was quiet for 20 seconds"],
      ],
    })
    .option("--stale-for <duration>", "only leases not renewed for so long", durationFlag)
    .action(
      cli.action<{ staleFor?: number }>(async (run, [topic = "", group = ""], { staleFor }) => {
        const reply = await run.fairlane.admin.leases(topic, group, { staleForMs: staleFor });
        const rows = reply.leases.map((lease) => [
          lease.partitionKey,
          lease.subscriber,
          lease.epoch,
          ageCell(run, lease.acquiredAt),
          ageCell(run, lease.renewedAt),
          ageCell(run, lease.expiresAt),
        ]);
        await run.out.result(reply, () => (rows.length === 0 ? "" : run.out.table(COLUMNS, rows)));
        if (rows.length === 0) run.out.note("nobody holds a partition");
      }),
    );
}
