import type { Command } from "commander";
import type { Cli } from "../cli.ts";

/** Where the dashboard is. */
export function ui(cli: Cli): Command {
  return cli
    .command("ui", {
      summary: "print the dashboard's address, with the token",
      about:
        "The token stands behind the #: a browser does not send that part. Keep the address to yourself.",
      examples: [
        ["ui", "open what it prints in a browser"],
        ["ui --json", 'prints {"url"}'],
      ],
    })
    .action(
      cli.action(async (run) => {
        const { url, tenant, token, withheld } = run.target;
        const given = new URLSearchParams({ ...(token === null ? {} : { token }), tenant });
        const address = `${url}/ui#${given}`;
        if (token === null) run.out.note(`without a token${withheld ? `: ${withheld}` : ""}`);
        await run.out.result({ url: address }, () => address);
      }),
    );
}
