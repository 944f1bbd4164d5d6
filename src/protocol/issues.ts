import type { z } from "zod";
import type { Issue } from "../core/failure.ts";

/** A reply lists no more than this: a request of a million wrong fields must not make a reply as large. */
export const MAX_ISSUES = 20;
/** Of anything that a request wrote itself and an issue repeats. */
const MAX_QUOTED_CHARS = 80;

export class IssueList {
  readonly issues: Issue[] = [];

  add(path: string, message: string): void {
    if (this.issues.length < MAX_ISSUES) this.issues.push({ path, message });
  }

  get isEmpty(): boolean {
    return this.issues.length === 0;
  }
}

/** A name from the request, safe to repeat: bounded and well-formed. */
export function quoted(name: string): string {
  const cut = name.length > MAX_QUOTED_CHARS ? `${name.slice(0, MAX_QUOTED_CHARS)}…` : name;
  return cut.toWellFormed();
}

/** `a.b[3].c`; a name that is no identifier is written in brackets, as JavaScript would. */
export function joinPath(parent: string, part: PropertyKey): string {
  if (typeof part === "number") return `${parent}[${part}]`;
  const name = quoted(String(part));
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${parent}[${JSON.stringify(name)}]`;
  return parent === "" ? name : `${parent}.${name}`;
}

export function pathOf(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>(joinPath, "");
}

/** What a schema found, in the API's words. An unknown field is an issue at its own path. */
export function issuesOf(error: z.core.$ZodError): Issue[] {
  const list = new IssueList();
  for (const issue of error.issues) {
    const path = pathOf(issue.path);
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys.slice(0, MAX_ISSUES))
        list.add(joinPath(path, key), "is not a known field");
    } else {
      list.add(path, issue.message);
    }
  }
  return list.issues;
}
