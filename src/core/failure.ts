/** The error codes of the HTTP API. `workers/http` maps each to its status; nothing else does. */
export type FailureCode =
  | "invalid-request"
  | "unauthorized"
  | "forbidden"
  | "unknown-tenant"
  | "not-found"
  | "payload-too-large"
  | "rate-limited"
  | "conflict"
  | "route-overlap"
  | "route-undecided"
  | "store-unavailable"
  | "internal";

export interface Issue {
  /** Where in the request, e.g. `messages[3].partitionKey`. */
  path: string;
  message: string;
}

/** A failure as a plain value: it crosses from the tenant object to a Worker, where classes do not. */
export interface Failure {
  code: FailureCode;
  detail: string;
  retryAfterMs?: number;
  issues?: Issue[];
  /** The other route that a new one would overlap, or cannot be told apart from. */
  route?: string;
  /** A message that both would take. */
  witness?: { headers: Record<string, string>; opaqueHeaders?: string[]; key?: string };
}

/** A failure on its way up the stack inside one isolate. */
export class FairlaneError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`${failure.code}: ${failure.detail}`);
    this.name = "FairlaneError";
    this.failure = failure;
  }
}

export function fail(code: FailureCode, detail: string, more: Omit<Failure, "code" | "detail"> = {}): never {
  throw new FairlaneError({ code, detail, ...more });
}
