import type { Rule } from "../../../../src/splitting/config/issue.ts";
import type { Given } from "./manifest.ts";

export interface BadWorkload {
  rule: Rule;
  what: string;
  given: Given;
  path: string;
  suggestion?: string;
  /** What follows of it. */
  also?: readonly Rule[];
}

/** A case of one rule; a text alone is the only manifest. */
export function bad(
  rule: Rule,
  what: string,
  given: Given | string,
  path: string,
  suggestion?: string,
): BadWorkload {
  return {
    rule,
    what,
    given: typeof given === "string" ? { manifests: [given] } : given,
    path,
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}
