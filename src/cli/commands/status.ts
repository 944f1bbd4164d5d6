import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { facts } from "../figures.ts";

/** Is the server there, and with what would a command go to it? */
export function status(cli: Cli): Command {
  return cli
    .command("status", {
      summary: "whether the server answers, and what commands would send it",
      examples: [
        ["status", "checks the server of npm start, or of the profile in use"],
        [
          "status --url https://queue.example.com --json",
          'prints {"status", "version", "url", "tenant", "tokenFrom", …}',
        ],
      ],
    })
    .alias("healthz")
    .action(
      cli.action(async (run) => {
        const { target } = run;
        const health = await run.fairlane.admin.health();
        const token =
          target.token === null
            ? `none${target.withheld ? ` (${target.withheld})` : ""}`
            : `from ${target.tokenFrom}`;
        const { url, urlFrom, tenant, tenantFrom, tokenFrom, profile } = target;
        const known = {
          url,
          urlFrom,
          tenant,
          tenantFrom,
          hasToken: target.token !== null,
          tokenFrom,
          profile,
        };
        await run.out.result({ ...health, ...known }, () =>
          facts([
            ["status", health.status],
            ["version", run.out.name(health.version)],
            ["url", `${target.url} (${target.urlFrom})`],
            ["tenant", `${target.tenant} (${target.tenantFrom})`],
            ["token", token],
            ["profile", target.profile],
          ]),
        );
      }),
    );
}
