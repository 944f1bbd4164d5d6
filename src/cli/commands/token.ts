import { createHmac } from "node:crypto";
import type { Command } from "commander";
import { tenantProblem } from "../../core/names.ts";
import type { Cli } from "../cli.ts";
import { CliError, usageError } from "../cli-error.ts";
import { durationFlag } from "../durations.ts";
import { EXIT } from "../exit-codes.ts";
import { localFile } from "../local-folder.ts";
import { configPath, readProfiles } from "../profiles.ts";
import type { Run } from "../run.ts";
import { variable } from "../shell.ts";

const SCOPES = ["publish", "consume", "admin"];
const EVERY_TENANT = "*";
const DEFAULT_TTL_MS = 3_600_000;

/** Mints an access token. */
export function token(cli: Cli): Command {
  return cli
    .command("token", {
      summary: "mint an access token",
      about:
        "Signs with AUTH_SECRET, or with the secret of the local server's data folder (FAIRLANE_DATA, or .fairlane here or " +
        "in a folder above). Nothing is sent. --tenant is one tenant, or * for every one.",
      examples: [
        ["token --tenant acme --scope 'publish consume' --ttl 7d", "prints the token alone"],
        [
          "fairlane token --tenant acme --scope publish | fairlane profile set acme --url https://queue.example.com --token-stdin",
          "keeps it in a profile",
        ],
        ["token --tenant '*' --json", 'prints {"token", "tenant", "scope", "expiresAt"}'],
      ],
    })
    .option("--scope <words>", `some of: ${SCOPES.join(" ")}`, SCOPES.join(" "))
    .option("--ttl <duration>", "how long it lasts", durationFlag, DEFAULT_TTL_MS)
    .action(
      cli.action<{ scope: string; ttl: number }>(async (run, _names, flags) => {
        const tenant = tenantOf(run);
        const scope = scopeOf(flags.scope);
        if (flags.ttl < 1000) throw usageError("--ttl must be at least 1s");
        const iat = Math.floor(run.nowMs / 1000);
        const exp = iat + Math.floor(flags.ttl / 1000);
        const signed = signToken(secretOf(run), { tenant, scope, iat, exp });
        await run.out.result({ token: signed, tenant, scope, expiresAt: exp * 1000 }, () => signed);
      }),
    );
}

function tenantOf(run: Run): string {
  const { shell, flags } = run;
  const named = flags.tenant ?? variable(shell, "FAIRLANE_TENANT") ?? profileTenant(run);
  if (named === undefined)
    throw usageError("for which tenant?", "name it with --tenant, or '*' for every one");
  const problem = named === EVERY_TENANT ? null : tenantProblem(named);
  if (problem !== null) throw usageError(`the tenant's name ${problem}, or be * for every one`);
  return named;
}

function profileTenant({ shell, flags }: Run): string | undefined {
  const { current, profiles } = readProfiles(configPath(shell));
  return profiles.get(flags.profile ?? variable(shell, "FAIRLANE_PROFILE") ?? current ?? "")?.tenant;
}

function scopeOf(text: string): string {
  const words = new Set(text.split(/[\s,]+/).filter((word) => word !== ""));
  const unknown = [...words].find((word) => !SCOPES.includes(word));
  if (words.size > 0 && unknown === undefined) return [...words].join(" ");
  throw usageError(`--scope must be some of: ${SCOPES.join(" ")}`);
}

function secretOf({ shell }: Run): string {
  const secret = variable(shell, "AUTH_SECRET") ?? localFile(shell, "secret")?.text;
  if (secret) return secret;
  throw new CliError(
    "there is no secret to sign with",
    EXIT.failed,
    "set AUTH_SECRET, or run npm start once, or name its data folder with FAIRLANE_DATA",
  );
}

/** A JWT with HS256 (RFC 7519), as the server checks it. */
function signToken(secret: string, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}
