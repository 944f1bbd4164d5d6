import type { Command } from "commander";
import { tenantProblem } from "../../core/names.ts";
import type { Cli } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { facts } from "../figures.ts";
import {
  checkProfileName,
  configPath,
  type Profile,
  type Profiles,
  readProfiles,
  writeProfiles,
} from "../profiles.ts";
import { readToEnd } from "../read-input.ts";
import type { Run } from "../run.ts";
import { variable } from "../shell.ts";
import { checkToken, checkUrl, LOCAL_URL, localUrl } from "../target.ts";
import { momentText } from "../times.ts";
import { tokenClaims } from "../token-claims.ts";

const MAX_TOKEN_BYTES = 16 * 1024;
const COLUMNS = [
  { title: "" },
  { title: "PROFILE" },
  { title: "URL" },
  { title: "TENANT" },
  { title: "TOKEN" },
];

/** Saved servers. */
export function profile(cli: Cli): Command {
  const command = cli
    .command("profile", {
      summary: "saved servers: URL, tenant and token under a name",
      about:
        "Kept in $XDG_CONFIG_HOME/fairlane/config.json, or ~/.config/fairlane/config.json, readable for you alone. A " +
        "profile's token is sent to the profile's URL and nowhere else. Flags and variables go before a profile.",
      examples: [
        ["profile set prod --url https://queue.example.com --tenant acme --token-stdin < token", "saves one"],
        ["profile use prod", "takes it from now on; one run: --profile prod"],
      ],
    })
    .enablePositionalOptions();
  return command
    .addCommand(list(cli), { isDefault: true })
    .addCommand(show(cli))
    .addCommand(set(cli))
    .addCommand(use(cli))
    .addCommand(remove(cli));
}

function list(cli: Cli): Command {
  return cli
    .command("list", { summary: "list the profiles", examples: [["profile list", "* marks the one in use"]] })
    .action(
      cli.action(async (run) => {
        const { current, profiles } = readProfiles(configPath(run.shell));
        const all = [...profiles].map(([name, one]) => ({ name, ...shown(one), current: name === current }));
        const rows = all.map((one) => [
          one.current ? "*" : "",
          one.name,
          one.url ?? "",
          one.tenant ?? "",
          one.token ?? "",
        ]);
        await run.out.result({ profiles: all }, () =>
          rows.length === 0 ? "" : run.out.table(COLUMNS, rows),
        );
        if (rows.length === 0) run.out.note("no profile yet: fairlane profile set <name> --url …");
      }),
    );
}

function show(cli: Cli): Command {
  return cli
    .command("show [name]", {
      summary: "show a profile, without its token's secret part",
      examples: [["profile show prod", "the one in use where none is named"]],
    })
    .action(
      cli.action(async (run, [name]) => {
        const { current, profiles } = readProfiles(configPath(run.shell));
        const chosen = name ?? run.flags.profile ?? variable(run.shell, "FAIRLANE_PROFILE") ?? current;
        if (chosen === null)
          throw new CliError("no profile is in use", EXIT.notFound, "see: fairlane profile list");
        const one = existing(profiles, chosen);
        const claims = one.token === undefined ? null : tokenClaims(one.token);
        const { tenant, scope, exp } = claims ?? {};
        const tokenIs = { ...(claims && { tokenTenant: tenant, scope, expiresAt: exp && exp * 1000 }) };
        await run.out.result({ name: chosen, ...shown(one), current: chosen === current, ...tokenIs }, () =>
          facts([
            ["profile", run.out.name(chosen)],
            ["url", run.out.name(one.url ?? localUrl(run.shell).value)],
            ["tenant", one.tenant === undefined ? null : run.out.name(one.tenant)],
            ["token", shown(one).token ?? "none"],
            ["token is for", claims?.tenant === undefined ? null : run.out.name(claims.tenant)],
            ["scope", claims?.scope === undefined ? null : run.out.name(claims.scope)],
            ["expires", claims?.exp === undefined ? null : momentText(claims.exp * 1000, run.nowMs)],
          ]),
        );
      }),
    );
}

function set(cli: Cli): Command {
  return cli
    .command("set <name>", {
      summary: "save a profile, or change it",
      about:
        "What is not given stays. A token stays with the URL that it was given for: another URL without another token " +
        "leaves the profile without one. The first profile saved is the one in use.",
      examples: [
        ["profile set prod --url https://queue.example.com --tenant acme --token-stdin < token", "all of it"],
        ["profile set prod --tenant globex", "changes the tenant"],
      ],
    })
    .option(
      "--token-stdin",
      "read the token from stdin: a command line is seen by others and kept in a history",
    )
    .action(
      cli.action<{ tokenStdin?: boolean }>(async (run, [name = ""], { tokenStdin }) => {
        checkProfileName(name);
        const { url, tenant } = run.flags;
        const token = await givenToken(run, tokenStdin === true);
        if (url === undefined && tenant === undefined && token === undefined) {
          throw usageError("nothing to save", "give --url, --tenant, --token-stdin or --token");
        }
        if (url !== undefined) checkUrl({ value: url, from: "--url" });
        const problem = tenant === undefined ? null : tenantProblem(tenant);
        if (problem !== null) throw usageError(`the tenant's name ${problem}`);
        const path = configPath(run.shell);
        const before = readProfiles(path);
        const old = before.profiles.get(name) ?? {};
        const next: Profile = {
          ...old,
          ...(url === undefined ? {} : { url }),
          ...(tenant === undefined ? {} : { tenant }),
          ...(token === undefined ? {} : { token }),
        };
        const moved = originOf(old) !== originOf(next);
        if (moved && token === undefined && old.token !== undefined) {
          delete next.token;
          run.out.warn(`the token was for ${originOf(old)} and is forgotten: give one for ${originOf(next)}`);
        }
        before.profiles.set(name, next);
        writeProfiles(path, { ...before, current: before.current ?? name });
        await run.out.done({ name, ...shown(next) }, `saved profile ${name} in ${path}`);
      }),
    );
}

function use(cli: Cli): Command {
  return cli
    .command("use <name>", {
      summary: "take a profile from now on",
      examples: [["profile use prod", "for every command without --profile or FAIRLANE_PROFILE"]],
    })
    .action(
      cli.action(async (run, [name = ""]) => {
        const path = configPath(run.shell);
        const all = readProfiles(path);
        existing(all.profiles, name);
        writeProfiles(path, { ...all, current: name });
        await run.out.done({ name, current: true }, `in use: ${name}`);
      }),
    );
}

function remove(cli: Cli): Command {
  return cli
    .command("remove <name>", {
      summary: "forget a profile and its token",
      examples: [["profile remove prod", "the server knows nothing of it"]],
    })
    .action(
      cli.action(async (run, [name = ""]) => {
        const path = configPath(run.shell);
        const { current, profiles } = readProfiles(path);
        existing(profiles, name);
        profiles.delete(name);
        writeProfiles(path, { current: current === name ? null : current, profiles });
        await run.out.done({ name, removed: true }, `removed ${name}`);
      }),
    );
}

function existing(profiles: Profiles["profiles"], name: string): Profile {
  const one = profiles.get(name);
  if (one) return one;
  const known = [...profiles.keys()].join(", ");
  throw new CliError(
    `there is no profile ${JSON.stringify(name)}`,
    EXIT.notFound,
    known === "" ? "see: fairlane profile set --help" : `there are: ${known}`,
  );
}

async function givenToken(run: Run, fromStdin: boolean): Promise<string | undefined> {
  const { token } = run.flags;
  if (!fromStdin) return token === undefined ? undefined : checkToken(token, "--token").value;
  if (token !== undefined) throw usageError("give --token or --token-stdin");
  const bytes = await readToEnd(run.shell.stdin, MAX_TOKEN_BYTES);
  return checkToken(Buffer.from(bytes).toString("utf8").trim(), "stdin").value;
}

function originOf({ url = LOCAL_URL }: Profile): string {
  return checkUrl({ value: url, from: "the profile" }).origin;
}

/** A profile as it may be printed: of a token, that there is one. */
function shown({ url, tenant, token }: Profile): { url?: string; tenant?: string; token?: string } {
  return {
    ...(url === undefined ? {} : { url }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(token === undefined ? {} : { token: "••••••" }),
  };
}
