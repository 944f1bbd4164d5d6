import { expect } from "vitest";
import type { Reply } from "./api.ts";
import type { Problem } from "./wire.ts";

const STATUS_OF = {
  "invalid-request": 400,
  unauthorized: 401,
  forbidden: 403,
  "unknown-tenant": 404,
  "not-found": 404,
  "payload-too-large": 413,
  "rate-limited": 429,
  conflict: 409,
  "route-overlap": 409,
  "route-undecided": 409,
  "store-unavailable": 503,
  internal: 500,
} as const;

/** Asserts every pinned part of an error reply; `path` is the field that must be named. */
export function expectProblem(reply: Reply<unknown>, code: keyof typeof STATUS_OF, path?: string): Problem {
  const problem = reply.json as Problem;
  const shown = reply.text.slice(0, 600);
  expect(reply.status, shown).toBe(STATUS_OF[code]);
  expect(reply.headers.get("content-type"), shown).toMatch(/^application\/problem\+json(;|$)/);
  expect(problem.type, shown).toBe(`urn:fairlane:${code}`);
  expect(problem.status, shown).toBe(STATUS_OF[code]);
  expect(problem.title, shown).toEqual(expect.stringMatching(/\S/));
  expect(problem.detail, shown).toEqual(expect.stringMatching(/\S/));
  if (STATUS_OF[code] === 429 || STATUS_OF[code] === 503) {
    expect(reply.headers.get("retry-after"), shown).toMatch(/^[1-9]\d*$/);
  }
  for (const issue of problem.issues ?? []) {
    expect(issue, shown).toEqual({ path: expect.any(String), message: expect.stringMatching(/\S/) });
  }
  if (path !== undefined) {
    expect(
      problem.issues?.map((issue) => issue.path),
      shown,
    ).toContain(path);
  }
  return problem;
}
