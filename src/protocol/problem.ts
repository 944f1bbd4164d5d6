import { z } from "zod";
import type { FailureCode } from "../core/failure.ts";

/** Each code with its status and title. The one map from a failure to HTTP. */
export const PROBLEMS: Record<FailureCode, { status: number; title: string }> = {
  "invalid-request": { status: 400, title: "The request is not valid" },
  unauthorized: { status: 401, title: "A valid token is needed" },
  forbidden: { status: 403, title: "The token does not allow this" },
  "unknown-tenant": { status: 404, title: "There is no such tenant" },
  "not-found": { status: 404, title: "There is no such thing" },
  "payload-too-large": { status: 413, title: "The request is too large" },
  "rate-limited": { status: 429, title: "Too much at a time" },
  conflict: { status: 409, title: "The state of things does not allow this" },
  "route-overlap": { status: 409, title: "Another route takes some of these messages" },
  "route-undecided": {
    status: 409,
    title: "It cannot be decided whether another route takes some of these messages",
  },
  "store-unavailable": { status: 503, title: "The store cannot be reached" },
  internal: { status: 500, title: "Something went wrong inside" },
};

export const PROBLEM_CONTENT_TYPE = "application/problem+json";

export function problemType(code: string): string {
  return `urn:fairlane:${code}`;
}

export const problem = z
  .strictObject({
    type: z
      .enum(Object.keys(PROBLEMS).map(problemType))
      .meta({ description: "What to tell errors apart by" }),
    title: z.string().meta({ description: "The same for each type" }),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: "Of this occurrence, for people" }),
    issues: z
      .array(z.strictObject({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: "Of an invalid request: which field, and what is wrong with it" }),
    route: z
      .string()
      .optional()
      .meta({ description: "Of route-overlap and route-undecided: the other route" }),
    witness: z
      .strictObject({
        headers: z.record(z.string(), z.string()),
        opaqueHeaders: z
          .array(z.string())
          .optional()
          .meta({ description: "On brokers: headers whose values are no text" }),
        key: z.string().optional(),
      })
      .optional()
      .meta({ description: "Of route-overlap: a message that both routes would take" }),
  })
  .meta({ id: "Problem", description: "What went wrong, by RFC 9457" });
export type Problem = z.infer<typeof problem>;
