import type { z } from "zod";
import { type Failure, FairlaneError } from "../../core/failure.ts";
import { IssueList, issuesOf, joinPath } from "../../protocol/issues.ts";
import type { BodySpec } from "../../protocol/operation.ts";
import { pathParams } from "../../protocol/operations.ts";
import { decodeUtf8 } from "../../protocol/utf8.ts";

/** Each check throws `invalid-request` with the issues it found. */

export function invalidRequest(issues: NonNullable<Failure["issues"]>, detail: string): never {
  throw new FairlaneError({ code: "invalid-request", detail, issues });
}

/** All but the tenant, which is looked up and not judged by its shape. */
export function checkParams(params: Record<string, string>): void {
  const issues = new IssueList();
  for (const [name, value] of Object.entries(params)) {
    if (name === "tenant") continue;
    const read = pathParams[name]?.safeParse(value);
    if (read?.success === false) issues.add(name, read.error.issues[0]?.message ?? "is not valid");
  }
  if (!issues.isEmpty) invalidRequest(issues.issues, "a name in the path is not valid");
}

const MAX_QUERY_PARAMETERS = 50;

/**
 * Decoded by hand: the platform's own parser replaces what is not UTF-8 instead of refusing it, and
 * takes the first of repeated names.
 */
export function readQuery<Schema extends z.ZodType>(schema: Schema, search: string): z.output<Schema> {
  const issues = new IssueList();
  const found = new Map<string, string>();
  const pairs = search
    .replace(/^\?/, "")
    .split("&", MAX_QUERY_PARAMETERS + 1)
    .filter((pair) => pair !== "");
  if (pairs.length > MAX_QUERY_PARAMETERS) issues.add("", "must have fewer query parameters");
  for (const pair of pairs) {
    const split = pair.indexOf("=");
    const name = decodePart(split < 0 ? pair : pair.slice(0, split));
    const value = decodePart(split < 0 ? "" : pair.slice(split + 1));
    const path = joinPath("", name ?? pair);
    if (name === null || value === null) issues.add(path, "must be percent-encoded UTF-8");
    else if (found.has(name)) issues.add(path, "must be there only once");
    else found.set(name, value);
  }
  if (!issues.isEmpty) invalidRequest(issues.issues, "the query is not valid");
  // fromEntries defines __proto__ as a plain property, which the schema then refuses.
  const read = schema.safeParse(Object.fromEntries(found));
  return read.success ? read.data : invalidRequest(issuesOf(read.error), "the query is not valid");
}

function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/** A JSON body by its schema; or the check that there is none where none is expected. */
export function readJson(spec: Extract<BodySpec, { kind: "none" | "json" }>, bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text === "" && (spec.kind === "none" || spec.optional === true))
    return spec.kind === "none" ? null : {};
  let value: unknown;
  try {
    if (text === null) return notJson("must be UTF-8 without a byte order mark");
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof FairlaneError) throw error;
    return notJson("must be JSON");
  }
  if (spec.kind === "none") {
    const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
    return isEmpty
      ? null
      : invalidRequest([{ path: "", message: "must be empty" }], "this call takes no body");
  }
  const read = spec.schema.safeParse(value);
  return read.success ? read.data : invalidRequest(issuesOf(read.error), "the request body is not valid");
}

function notJson(message: string): never {
  invalidRequest([{ path: "", message }], "the request body cannot be read");
}
