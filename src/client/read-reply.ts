import type { FailureCode } from "../core/failure.ts";
import { MAX_REPLY_BYTES } from "../core/limits.ts";
import { type ErrorCode, FairlaneApiError, FairlaneNetworkError, type RequestIssue } from "./errors.ts";
import type { Witness } from "./routes.ts";

/** The largest reply of the API, and room for what stands around a message of full size. */
const MAX_READ_BYTES = MAX_REPLY_BYTES + 1024 * 1024;
const MAX_RETRY_AFTER_MS = 3_600_000;
const MAX_ISSUES = 100;
/** Two filters of at most 256 conditions each. */
const MAX_WITNESS_HEADERS = 512;
const MAX_DETAIL_CHARS = 1000;
const TYPE_PREFIX = "urn:fairlane:";

const CODES: Record<FailureCode, true> = {
  "invalid-request": true,
  unauthorized: true,
  forbidden: true,
  "unknown-tenant": true,
  "not-found": true,
  "payload-too-large": true,
  "rate-limited": true,
  conflict: true,
  "route-overlap": true,
  "route-undecided": true,
  "store-unavailable": true,
  internal: true,
};

/** Reads the body, and no more than a reply may have. Throws `FairlaneNetworkError` where it breaks off. */
export async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_READ_BYTES) {
      await reader.cancel();
      throw unexpected(response, `the reply has over ${MAX_READ_BYTES} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** The value of a reply in JSON; undefined where there is no content. */
export function readValue(response: Response, text: string): unknown {
  if (response.status === 204) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The text is not repeated: it may be a message's.
    throw unexpected(response, "the reply is not JSON");
  }
}

/** The error that a reply with another status than 2xx stands for. */
export function apiError(response: Response, text: string, epochMs: number): FairlaneApiError {
  const problem = parsedObject(text);
  const type = typeof problem?.type === "string" ? problem.type : "";
  const code = type.startsWith(TYPE_PREFIX) ? type.slice(TYPE_PREFIX.length) : "";
  if (problem === null || !Object.hasOwn(CODES, code)) {
    return unexpected(response, `HTTP status ${response.status}, and not as this API answers`, epochMs);
  }
  const detail = typeof problem.detail === "string" ? problem.detail : String(problem.title);
  return new FairlaneApiError({
    code: code as ErrorCode,
    status: response.status,
    detail: detail.slice(0, MAX_DETAIL_CHARS),
    issues: issuesOf(problem.issues),
    route: typeof problem.route === "string" ? problem.route : null,
    witness: witnessOf(problem.witness),
    ...envelope(response, epochMs),
  });
}

/** What answered is no server of this API, or one that it cannot be. */
export function unexpected(response: Response, detail: string, epochMs = 0): FairlaneApiError {
  const { status } = response;
  return new FairlaneApiError({ code: "unexpected-reply", status, detail, ...envelope(response, epochMs) });
}

/** A connection that could not be made or broke; where Node names the reason, it is named. */
export function networkError(origin: string, cause: unknown): FairlaneNetworkError {
  if (cause instanceof FairlaneNetworkError) return cause;
  const code = systemCode(cause);
  const refused = code !== null && NEVER_CONNECTED.has(code);
  const because = code === null ? "" : ` (${code})`;
  const what = refused ? `no connection to ${origin}` : `the connection to ${origin} failed`;
  return new FairlaneNetworkError(what + because, !refused, cause);
}

/** Where one of these is the reason, no byte of the request was sent. */
const NEVER_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
const MAX_CAUSES = 5;

function systemCode(error: unknown): string | null {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof at === "object" && at !== null; depth++) {
    const { code, cause, errors } = at as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === "string") return code;
    // Several addresses were tried.
    at = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return null;
}

function envelope(response: Response, epochMs: number) {
  return {
    requestId: response.headers.get("x-request-id"),
    retryAfterMs: retryAfterMs(response.headers.get("retry-after"), epochMs),
  };
}

/** RFC 9110: seconds, or a date. null: neither. */
function retryAfterMs(header: string | null, epochMs: number): number | null {
  if (header === null) return null;
  const waitMs = /^[0-9]{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - epochMs;
  return Number.isFinite(waitMs) ? Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS) : null;
}

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // A proxy's page, or nothing: the caller says so.
    return null;
  }
}

function issuesOf(value: unknown): RequestIssue[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_ISSUES).flatMap((issue: { path?: unknown; message?: unknown } | null) => {
    const { path, message } = issue ?? {};
    return typeof path === "string" && typeof message === "string" ? [{ path, message }] : [];
  });
}

function witnessOf(value: unknown): Witness | null {
  const { headers, opaqueHeaders, key } = (value ?? {}) as Record<keyof Witness, unknown>;
  if (typeof headers !== "object" || headers === null || Array.isArray(headers)) return null;
  const texts = Object.entries(headers).slice(0, MAX_WITNESS_HEADERS);
  if (!texts.every((entry): entry is [string, string] => isText(entry[1]))) return null;
  const opaque = Array.isArray(opaqueHeaders)
    ? opaqueHeaders.slice(0, MAX_WITNESS_HEADERS).filter(isText)
    : [];
  return {
    // Own properties, also of a header that is called __proto__.
    headers: Object.fromEntries(texts),
    ...(opaque.length > 0 ? { opaqueHeaders: opaque } : {}),
    ...(isText(key) ? { key } : {}),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
