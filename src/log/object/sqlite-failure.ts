import { AssertionFailure } from "../../core/assert.ts";
import { type Failure, FairlaneError } from "../../core/failure.ts";

/** When a full log is worth another try: collection comes by every ten minutes, or an admin purges. */
export const STORAGE_FULL_RETRY_MS = 60_000;
/** A busy or interrupted database is usually back within a second. */
const UNAVAILABLE_RETRY_MS = 1000;

export function storageFull(): Failure {
  return { code: "rate-limited", detail: "tenant storage full", retryAfterMs: STORAGE_FULL_RETRY_MS };
}

/** Primary result codes of SQLite by number (as node:sqlite tells them) and by name (as workerd does). */
const CODES: Record<number, string> = {
  4: "SQLITE_ABORT",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  9: "SQLITE_INTERRUPT",
  10: "SQLITE_IOERR",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  18: "SQLITE_TOOBIG",
};

/**
 * The one place that reads what SQLite throws. Failures of ours and assertions pass unchanged; what is
 * not known here is a defect and becomes `internal`, with the original as `cause`.
 */
export function classifySqliteFailure(thrown: unknown): Error {
  if (thrown instanceof FairlaneError || thrown instanceof AssertionFailure) return thrown;
  const failure = new FairlaneError(failureOf(sqliteCode(thrown)));
  failure.cause = thrown;
  return failure;
}

function sqliteCode(thrown: unknown): string | null {
  if (!(thrown instanceof Error)) return null;
  const errcode = (thrown as { errcode?: unknown }).errcode;
  // The low byte of an extended result code is the primary one.
  if (typeof errcode === "number") return CODES[errcode & 0xff] ?? null;
  return /\bSQLITE_[A-Z]+/.exec(thrown.message)?.[0] ?? null;
}

function failureOf(code: string | null): Failure {
  switch (code) {
    case "SQLITE_TOOBIG":
      return { code: "payload-too-large", detail: "a message is larger than a row may be" };
    // Not `storageFull`: that is said before anything was written, this may come in the middle.
    case "SQLITE_FULL":
    case "SQLITE_ABORT":
    case "SQLITE_BUSY":
    case "SQLITE_LOCKED":
    case "SQLITE_NOMEM":
    case "SQLITE_INTERRUPT":
    case "SQLITE_IOERR":
    case "SQLITE_CANTOPEN":
      return {
        code: "store-unavailable",
        detail: "the tenant's storage did not answer",
        retryAfterMs: UNAVAILABLE_RETRY_MS,
      };
    default:
      return { code: "internal", detail: "the tenant's storage failed" };
  }
}
