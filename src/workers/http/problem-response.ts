import { type Failure, FairlaneError } from "../../core/failure.ts";
import { PROBLEM_CONTENT_TYPE, PROBLEMS, type Problem } from "../../protocol/problem.ts";
import { errorFields, logLine } from "../log-line.ts";

const DEFAULT_RETRY_AFTER_MS = 1000;

/** The one way from a failure to HTTP. */
export function problemResponse(failure: Failure, requestId: string): Response {
  const { status, title } = PROBLEMS[failure.code];
  const body: Problem = {
    type: `urn:fairlane:${failure.code}`,
    title,
    status,
    detail: failure.code === "internal" ? "the request could not be carried out" : failure.detail,
    ...(failure.issues === undefined ? {} : { issues: failure.issues }),
    ...(failure.route === undefined ? {} : { route: failure.route }),
    ...(failure.witness === undefined ? {} : { witness: failure.witness }),
  };
  const headers: Record<string, string> = { "content-type": PROBLEM_CONTENT_TYPE, "x-request-id": requestId };
  if (status === 401) headers["www-authenticate"] = "Bearer";
  if (status === 429 || status === 503) {
    const afterMs = failure.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS;
    headers["retry-after"] = String(Math.max(1, Math.ceil(afterMs / 1000)));
  }
  return new Response(JSON.stringify(body), { status, headers });
}

/** What was thrown, as a failure. Whatever is not one of ours is a fault of ours: logged, and not shown. */
export function failureOf(error: unknown, requestId: string): Failure {
  const failure: Failure =
    error instanceof FairlaneError ? error.failure : { code: "internal", detail: "an unexpected error" };
  if (failure.code === "internal") {
    logLine("error", "request-failed", { requestId, ...errorFields(error) });
  }
  // What the client is told does not say which statement failed, nor how.
  if (failure.code === "store-unavailable" && (error as Error).cause instanceof Error) {
    logLine("warn", "store-unavailable", { requestId, cause: ((error as Error).cause as Error).message });
  }
  return failure;
}
