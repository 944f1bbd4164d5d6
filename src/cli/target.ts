import { isIPv4 } from "node:net";
import { tenantProblem } from "../core/names.ts";
import { usageError } from "./cli-error.ts";
import { localFile } from "./local-folder.ts";
import { configPath, type Profile, readableByOthers, readProfiles } from "./profiles.ts";
import { type Shell, variable } from "./shell.ts";
import { tokenClaims } from "./token-claims.ts";

/**
 * Which server, tenant and token a run is for. Each of the three comes from the first that has it: flag, variable,
 * profile, what `npm start` leaves behind in its data folder; the URL's last resort is the default of `npm start`.
 *
 * A token goes to the server that it was named for and to no other: a profile's to the profile's URL, a variable's
 * not to another URL than the variable beside it, that of a local server to its port on this machine.
 */
export interface Target {
  /** Without a slash at the end. */
  url: string;
  urlFrom: string;
  tenant: string;
  tenantFrom: string;
  token: string | null;
  tokenFrom: string;
  /** Why a token that is there was not taken. */
  withheld: string | null;
  profile: string | null;
  warnings: readonly string[];
}

export interface TargetFlags {
  url?: string;
  tenant?: string;
  token?: string;
  profile?: string;
}

export const LOCAL_URL = "http://127.0.0.1:8787";
const LOCAL_TENANT = "demo";
/** What the server takes for one. */
const TOKEN_PATTERN = /^[A-Za-z0-9._-]{1,4096}$/;

interface Named {
  value: string;
  from: string;
}

/** Throws a CliError with exit code 2 where something is missing or cannot be. */
export function findTarget(shell: Shell, flags: TargetFlags): Target {
  const chosen = chosenProfile(shell, flags);
  const profileFrom = chosen ? `profile ${chosen.name}` : "";
  const pick = (flag: string | undefined, flagName: string, env: string, own: string | undefined) =>
    firstNamed([
      [flag, flagName],
      [variable(shell, env), env],
      [own, profileFrom],
    ]);
  const local = localUrl(shell);
  const url = pick(flags.url, "--url", "FAIRLANE_URL", chosen?.profile.url) ?? local;
  const base = checkUrl(url);
  const { token, withheld } = findToken(shell, flags, chosen && { ...chosen, url: local.value }, base);
  const tenant =
    pick(flags.tenant, "--tenant", "FAIRLANE_TENANT", chosen?.profile.tenant) ??
    defaultTenant(token?.value ?? null, base);
  checkTenant(tenant);
  return {
    url: base.href.replace(/\/+$/, ""),
    urlFrom: url.from,
    tenant: tenant.value,
    tenantFrom: tenant.from,
    token: token?.value ?? null,
    tokenFrom: token?.from ?? "nowhere",
    withheld,
    profile: chosen?.name ?? null,
    warnings: warningsOf(shell, chosen, base, token !== null),
  };
}

/** What is on this machine: nobody can listen in, and a local server's token may go there. */
export function isLoopbackUrl(url: URL): boolean {
  const host = url.hostname;
  return host === "localhost" || host === "[::1]" || (isIPv4(host) && host.startsWith("127."));
}

/**
 * Where the local server listens: as it wrote itself when it was started last, on this machine alone, else where it
 * listens without any setting.
 */
export function localUrl(shell: Shell): Named {
  const server = localServer(shell);
  return server === null
    ? { value: LOCAL_URL, from: "the default" }
    : { value: server.url.origin, from: server.path };
}

function localServer(shell: Shell): { url: URL; path: string } | null {
  const written = localFile(shell, "url");
  const url = written === null ? null : parseUrl(written.text);
  const isUsable = url?.protocol === "http:" && isLoopbackUrl(url) && url.href === `${url.origin}/`;
  return written !== null && isUsable ? { url, path: written.path } : null;
}

/** Of this machine's addresses each has the same ports, as far as a server of ours is concerned. */
function portOf({ port, protocol }: URL): string {
  return port || (protocol === "https:" ? "443" : "80");
}

interface Chosen {
  name: string;
  profile: Profile;
}

function chosenProfile(shell: Shell, flags: TargetFlags): Chosen | null {
  const { current, profiles } = readProfiles(configPath(shell));
  const name = flags.profile ?? variable(shell, "FAIRLANE_PROFILE") ?? current;
  if (name === null) return null;
  const profile = profiles.get(name);
  if (profile) return { name, profile };
  const known = [...profiles.keys()];
  throw usageError(
    `there is no profile ${JSON.stringify(name)}`,
    known.length > 0
      ? `there are: ${known.join(", ")}`
      : `make it: fairlane profile set ${name} --url https://…`,
  );
}

function firstNamed(candidates: readonly [string | null | undefined, string][]): Named | null {
  for (const [value, from] of candidates) if (value) return { value, from };
  return null;
}

function findToken(
  shell: Shell,
  flags: TargetFlags,
  chosen: (Chosen & { url: string }) | null,
  base: URL,
): { token: Named | null; withheld: string | null } {
  if (flags.token !== undefined) return { token: checkToken(flags.token, "--token"), withheld: null };
  let withheld: string | null = null;
  const fromEnv = variable(shell, "FAIRLANE_TOKEN");
  if (fromEnv !== null) {
    const namedFor = variable(shell, "FAIRLANE_URL");
    if (namedFor === null || sameOrigin(namedFor, base)) {
      return { token: checkToken(fromEnv, "FAIRLANE_TOKEN"), withheld: null };
    }
    withheld = `FAIRLANE_TOKEN is for ${originShown(namedFor)}, which FAIRLANE_URL names`;
  }
  const own = chosen?.profile.token;
  if (chosen && own !== undefined) {
    const namedFor = chosen.profile.url ?? chosen.url;
    if (sameOrigin(namedFor, base)) {
      return { token: checkToken(own, `profile ${chosen.name}`), withheld: null };
    }
    withheld ??= `the token of profile ${chosen.name} is for ${originShown(namedFor)}`;
  }
  const local = localFile(shell, "token");
  if (local !== null) {
    const server = localServer(shell);
    // Whoever else listens on this machine, such as the end of a tunnel, must not get it.
    if (isLoopbackUrl(base) && (server === null || portOf(server.url) === portOf(base))) {
      return { token: checkToken(local.text, local.path), withheld: null };
    }
    withheld ??= `the token in ${local.path} is for ${server?.url.origin ?? "a server on this machine"}`;
  }
  return { token: null, withheld };
}

export function checkUrl({ value, from }: Named): URL {
  const url = URL.parse ? URL.parse(value) : parseUrl(value);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw usageError(`the URL (${from}) must be like https://queue.example.com`);
  }
  if (url.username !== "" || url.password !== "") {
    throw usageError(`the URL (${from}) must not hold a user name or password`, "tokens go into --token");
  }
  if (url.search !== "" || url.hash !== "") throw usageError(`the URL (${from}) must end with its path`);
  return url;
}

function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

function sameOrigin(text: string, base: URL): boolean {
  return parseUrl(text)?.origin === base.origin;
}

/** A URL that may be quoted: without what may stand before its host or behind it. */
function originShown(text: string): string {
  return parseUrl(text)?.origin ?? "another URL";
}

export function checkToken(value: string, from: string): Named {
  if (TOKEN_PATTERN.test(value)) return { value, from };
  throw usageError(`what ${from} holds is not a token`);
}

function defaultTenant(token: string | null, base: URL): Named {
  const claimed = token === null ? undefined : tokenClaims(token)?.tenant;
  if (claimed !== undefined && claimed !== "*") return { value: claimed, from: "the token" };
  if (isLoopbackUrl(base)) return { value: LOCAL_TENANT, from: "the default" };
  throw usageError(
    "no tenant is named",
    "name one with --tenant or FAIRLANE_TENANT, or keep it in a profile: fairlane profile set",
  );
}

function checkTenant({ value, from }: Named): void {
  const problem = tenantProblem(value);
  if (problem !== null) throw usageError(`the tenant's name (${from}) ${problem}`);
}

function warningsOf(shell: Shell, chosen: Chosen | null, base: URL, hasToken: boolean): string[] {
  const warnings: string[] = [];
  if (hasToken && base.protocol === "http:" && !isLoopbackUrl(base)) {
    warnings.push(`${base.origin} is not https: whoever is on the way can read the token`);
  }
  const path = configPath(shell);
  if (chosen?.profile.token !== undefined && readableByOthers(path)) {
    warnings.push(`others can read the tokens in ${path}: chmod 600 it`);
  }
  return warnings;
}
