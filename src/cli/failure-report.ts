import { FairlaneApiError, FairlaneNetworkError, RouteGoneError, type Witness } from "../client/fairlane.ts";
import { witnessText } from "../splitting/filter/witness.ts";
import { CliError } from "./cli-error.ts";
import { connectionProblem } from "./connection-problem.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { fieldAsFlag } from "./field-flags.ts";
import { Interrupted } from "./interrupts.ts";
import { isLoopbackUrl, type Target } from "./target.ts";
import { relativeText } from "./times.ts";
import { tokenClaims } from "./token-claims.ts";

/** Why a run failed, for its user and for a script. */
export interface FailureReport {
  exitCode: ExitCode;
  /** One word or two: the API's code where the server refused, else ours. */
  code: string;
  message: string;
  /** What to do next. */
  hint: string | null;
  issues: readonly { path: string; message: string }[];
  status: number | null;
  requestId: string | null;
  /** Of two routes that would take the same message: the other one, and the message. */
  route?: string | null;
  witness?: Witness | null;
}

/** A run as far as it came. */
export interface FailedRun {
  /** null: it failed before that was known. */
  target: Target | null;
  /** It sent something that changes what the server has. */
  mayHaveChanged: boolean;
  /** That it was about. */
  route: string | null;
}

export function reportFailure(
  error: unknown,
  { target, mayHaveChanged, route }: FailedRun,
  nowMs: number,
): FailureReport {
  const plain = { issues: [], status: null, requestId: null };
  if (error instanceof FairlaneApiError) {
    const { code } = error;
    if (code === "route-overlap" || code === "route-undecided")
      return reportOverlap(error, route ?? "this one");
    return reportRefusal(error, target, nowMs);
  }
  if (error instanceof RouteGoneError) {
    const hint = "start it with: fairlane split start";
    return { ...plain, exitCode: EXIT.notFound, code: "not-found", message: error.message, hint };
  }
  if (error instanceof FairlaneNetworkError) {
    const { message, hint } = unreachable(error, target, mayHaveChanged);
    return { ...plain, exitCode: EXIT.unavailable, code: "unreachable", message, hint };
  }
  if (error instanceof CliError) {
    const { exitCode, message, hint } = error;
    return { ...plain, exitCode, code: codeOf(exitCode), message, hint };
  }
  if (error instanceof Interrupted) {
    return { ...plain, exitCode: EXIT.interrupted, code: "interrupted", message: "interrupted", hint: null };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { ...plain, exitCode: EXIT.failed, code: "failed", message, hint: null };
}

export function reportJson(report: FailureReport): unknown {
  const { exitCode, code, message, hint, issues, status, requestId, route = null, witness = null } = report;
  return {
    error: {
      code,
      message,
      exitCode,
      ...(hint === null ? {} : { hint }),
      ...(issues.length === 0 ? {} : { issues }),
      ...(status === null ? {} : { status }),
      ...(requestId === null ? {} : { requestId }),
      ...(route === null ? {} : { route }),
      ...(witness === null ? {} : { witness }),
    },
  };
}

export function reportText({ message, hint, issues, requestId }: FailureReport): string {
  const lines = [message];
  for (const issue of issues) {
    // Where the one thing that is wrong is all there is to say, the server says it in both places.
    if (!message.includes(issue.message)) lines.push(`  ${fieldAsFlag(issue.path)}: ${issue.message}`);
  }
  if (hint !== null) lines.push(`  ${hint}`);
  if (requestId !== null) lines.push(`  request ${requestId}`);
  return lines.join("\n");
}

function codeOf(exitCode: ExitCode): string {
  if (exitCode === EXIT.usage) return "usage";
  return exitCode === EXIT.notFound ? "not-found" : "failed";
}

/** By the filters alone two routes would take the same message, or it cannot be told whether they would. */
function reportOverlap(error: FairlaneApiError, name: string): FailureReport {
  const { code, detail, issues, status, route, witness } = error;
  const shown = { exitCode: EXIT.failed, code, issues, status, requestId: null, route, witness };
  const other = route ?? "another one";
  if (code === "route-undecided") {
    const hint = "simpler conditions, or ones on the same header, can be told apart";
    return { ...shown, message: `whether route ${name} overlaps ${other} cannot be told: ${detail}`, hint };
  }
  const example = witness === null ? "" : `, for example ${witnessText(definedOf(witness))}`;
  return {
    ...shown,
    message: `route ${name} overlaps ${other}${example}`,
    hint: "no message may belong to two routes: ask for less",
  };
}

function definedOf({ headers, opaqueHeaders, key }: Witness): Parameters<typeof witnessText>[0] {
  return {
    headers,
    ...(opaqueHeaders === undefined ? {} : { opaqueHeaders }),
    ...(key === undefined ? {} : { key }),
  };
}

function reportRefusal(error: FairlaneApiError, target: Target | null, nowMs: number): FailureReport {
  const { code, detail, issues, status, requestId } = error;
  const shown = { code, issues, status, requestId };
  // First: a proxy's 401 or 404 says nothing of a token or a topic.
  if (code === "unexpected-reply") {
    const hint = "is that a Fairlane server? name another with --url";
    return { ...shown, exitCode: EXIT.unavailable, message: `${target?.url}: ${detail}`, hint };
  }
  if (status === 401) {
    return { ...shown, exitCode: EXIT.notAllowed, requestId: null, ...unauthorized(target, nowMs) };
  }
  if (status === 403)
    return { ...shown, exitCode: EXIT.notAllowed, requestId: null, ...forbidden(detail, target) };
  if (code === "unknown-tenant") {
    const message = `the server has no tenant ${target?.tenant} (named by ${target?.tenantFrom})`;
    return { ...shown, exitCode: EXIT.notFound, message, hint: "name another with --tenant" };
  }
  if (status === 404)
    return { ...shown, exitCode: EXIT.notFound, message: detail, hint: null, requestId: null };
  if (status === 429 || status === 503) {
    const hint = "it was tried several times; try again later";
    return {
      ...shown,
      exitCode: EXIT.unavailable,
      message: `the server cannot serve this now: ${detail}`,
      hint,
    };
  }
  return { ...shown, exitCode: EXIT.failed, message: `the server refused it: ${detail}`, hint: null };
}

function unauthorized(target: Target | null, nowMs: number): { message: string; hint: string } {
  const mint = `mint one with: fairlane token --tenant ${target?.tenant ?? "<name>"}`;
  if (target === null || target.token === null) {
    const withheld = target?.withheld;
    return {
      message: withheld
        ? `the server wants a token, and none was sent: ${withheld}`
        : "the server wants a token, and there is none",
      hint: `give one with --token or FAIRLANE_TOKEN, or keep it in a profile; ${mint}`,
    };
  }
  const expiresAtSeconds = tokenClaims(target.token)?.exp;
  const isOver = expiresAtSeconds !== undefined && expiresAtSeconds * 1000 <= nowMs;
  const why = isOver
    ? `it expired ${relativeText(expiresAtSeconds * 1000, nowMs)}`
    : "the server does not accept it";
  const isLocal = isLoopbackUrl(new URL(target.url));
  return {
    message: `the token from ${target.tokenFrom} is not valid: ${why}`,
    hint: isLocal ? `is it of the server at ${target.url}? ${mint}` : mint,
  };
}

function forbidden(detail: string, target: Target | null): { message: string; hint: string | null } {
  const claims = target?.token ? tokenClaims(target.token) : null;
  if (target && claims?.tenant !== undefined && claims.tenant !== "*" && claims.tenant !== target.tenant) {
    return {
      message: `the token from ${target.tokenFrom} is for tenant ${claims.tenant}, and this is tenant ${target.tenant}`,
      hint: `choose the tenant with --tenant ${claims.tenant}, or another token with --token`,
    };
  }
  const scope = claims?.scope;
  return {
    message: `not allowed: ${detail}`,
    hint:
      scope === undefined ? null : `the token from ${target?.tokenFrom} has the scope: ${scope || "none"}`,
  };
}

function unreachable(
  error: FairlaneNetworkError,
  target: Target | null,
  mayHaveChanged: boolean,
): { message: string; hint: string } {
  const url = target?.url ?? "the server";
  const from = `this one is from ${target?.urlFrom ?? "nowhere"}`;
  const named = `or name another with --url (${from})`;
  const untrusted = connectionProblem(error, url);
  // No request goes over a connection that was not agreed on.
  if (untrusted !== null) return { message: untrusted.message, hint: `${untrusted.hint} (${from})` };
  if (error.outcomeUnknown && mayHaveChanged) {
    return {
      message: error.message,
      hint: "what was asked for may have been done all the same: look before it is done once more",
    };
  }
  const isLocal = target !== null && isLoopbackUrl(new URL(target.url));
  if (error.outcomeUnknown) {
    // A TLS server hangs up on a request that is none.
    const tls = url.startsWith("http:") ? "; the URL of a TLS server begins with https://" : "";
    return { message: error.message, hint: `nothing was changed: try again, ${named}${tls}` };
  }
  return {
    message: `no server answers at ${url}: ${error.message}`,
    hint: isLocal ? `start one with npm start, ${named}` : `is the address right? ${named}`,
  };
}
