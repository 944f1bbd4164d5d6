import { DatabaseError, UnknownError } from "@planetscale/database";
import { type Failure, FairlaneError } from "../../core/failure.ts";

/** What went wrong with a statement, as far as it decides what to do next. Holds nothing that a user or operator wrote. */
export type DatabaseFailure =
  /** A row of this key exists. `unclear`: the message could be read either way. Nothing was stored. */
  | { kind: "duplicate"; key: "primary" | "id" | "unclear" }
  /** Rolled back by the database: nothing was stored. */
  | { kind: "deadlock" }
  | { kind: "lockWait" }
  /** Whether a write happened is unknown. */
  | { kind: "unavailable"; cause: "timeout" | "network" | "server" }
  /** The statement, its rows or its result are larger than the database takes. */
  | { kind: "tooLarge" }
  /** Wrong credentials. */
  | { kind: "refused" }
  /** A table or column is missing. */
  | { kind: "schema" }
  | { kind: "other"; errno: number | null };

/** An outage is usually over, or a failover through, within seconds. */
export const UNAVAILABLE_RETRY_MS = 1000;
/** Somebody has to change something first. */
const MISCONFIGURED_RETRY_MS = 30_000;

/** The one place that reads what the driver and the database say. `isTimeout`: our own deadline ended it. */
export function failureOf(thrown: unknown, isTimeout: boolean): DatabaseFailure {
  if (isTimeout) return { kind: "unavailable", cause: "timeout" };
  if (!(thrown instanceof DatabaseError)) return { kind: "unavailable", cause: "network" };
  const { code, message } = thrown.body;
  if (thrown.status === 401 || thrown.status === 403) return { kind: "refused" };
  if (thrown.status === 413) return { kind: "tooLarge" };
  // Not a reply of the database at all, but of something on the way.
  if (thrown instanceof UnknownError) return { kind: "unavailable", cause: "server" };
  return ofDatabase(code, message);
}

const ERRNO = /\(errno (\d{4})\)/;
const RPC_CODE = /\brpc error: code = (\w+) desc = /;
const DUPLICATE = "Duplicate entry '";

function ofDatabase(bodyCode: string, message: string): DatabaseFailure {
  const errnoAt = ERRNO.exec(message);
  const duplicateAt = message.indexOf(DUPLICATE);
  // What a user wrote stands behind these words, and may hold an error number of its own.
  if (duplicateAt >= 0 && duplicateAt < (errnoAt?.index ?? message.length)) {
    return { kind: "duplicate", key: collidedKey(message) };
  }
  const errno = errnoAt ? Number(errnoAt[1]) : null;
  // The body's own code is UNKNOWN for most of what a statement can do wrong; the message has the true one.
  const code = RPC_CODE.exec(message)?.[1] ?? bodyCode;
  return (errno === null ? null : ofErrno(errno)) ?? ofCode(plain(code), message, errno);
}

/** `DeadlineExceeded` and `DEADLINE_EXCEEDED` are one. */
function plain(code: string): string {
  return code.replaceAll("_", "").toLowerCase();
}

const KEY_NAMES = /for key '(?:queue_messages\.)?(PRIMARY|queue_messages_by_id)' \(errno 1062\)/g;

/**
 * The entry before the key's name, and the bind variables that Vitess may list behind, are users' text: whatever
 * they hold can only add a key's name. Two different ones leave it unclear.
 */
function collidedKey(message: string): "primary" | "id" | "unclear" {
  const names = new Set(Array.from(message.matchAll(KEY_NAMES), (match) => match[1]));
  if (names.size !== 1) return "unclear";
  return names.has("PRIMARY") ? "primary" : "id";
}

function ofErrno(errno: number): DatabaseFailure | null {
  switch (errno) {
    case 1062:
      return { kind: "duplicate", key: "unclear" };
    case 1213:
      return { kind: "deadlock" };
    case 1205:
      return { kind: "lockWait" };
    case 1153: // a packet over max_allowed_packet
    case 1301: // a result over max_allowed_packet
    case 1118: // a row over what a page takes
    case 1406: // a value longer than its column
      return { kind: "tooLarge" };
    case 1044:
    case 1045:
    case 1142:
      return { kind: "refused" };
    case 1049:
    case 1054:
    case 1146:
      return { kind: "schema" };
    case 1053: // the server is shutting down
    case 1290: // it became read-only: a failover
    case 1836:
    case 1317: // it ended the statement
    case 2006: // the router lost it
    case 2013:
      return { kind: "unavailable", cause: "server" };
    default:
      return null;
  }
}

const TOO_LARGE = /row count exceeded|larger than max/i;

function ofCode(code: string, message: string, errno: number | null): DatabaseFailure {
  switch (code) {
    case "unauthenticated":
    case "permissiondenied":
      return { kind: "refused" };
    case "alreadyexists":
      return { kind: "duplicate", key: "unclear" };
    case "aborted":
    case "resourceexhausted":
      return TOO_LARGE.test(message) ? { kind: "tooLarge" } : { kind: "unavailable", cause: "server" };
    case "unavailable":
    case "deadlineexceeded":
    case "canceled":
    case "clusterevent":
      return { kind: "unavailable", cause: "server" };
    default:
      return { kind: "other", errno };
  }
}

/** As the rest of the product sees it. Nothing of the original is kept: it may quote bodies. */
export function fairlaneErrorOf(failure: DatabaseFailure, statementName: string): FairlaneError {
  const error = new FairlaneError(productFailureOf(failure));
  const { kind, ...details } = failure;
  error.cause = new Error(`${statementName}: ${kind} ${JSON.stringify(details)}`);
  return error;
}

function productFailureOf(failure: DatabaseFailure): Failure {
  switch (failure.kind) {
    case "tooLarge":
      return { code: "payload-too-large", detail: "larger than the tenant's database takes" };
    case "refused":
      return unavailable("the tenant's database refused the credentials", MISCONFIGURED_RETRY_MS);
    case "schema":
      return unavailable("the tenant's database lacks a table of the schema", MISCONFIGURED_RETRY_MS);
    case "duplicate":
    case "deadlock":
    case "lockWait":
    case "unavailable":
      return unavailable("the tenant's database did not answer", UNAVAILABLE_RETRY_MS);
    case "other":
      return unavailable("the tenant's database refused the statement", UNAVAILABLE_RETRY_MS);
  }
}

function unavailable(detail: string, retryAfterMs: number): Failure {
  return { code: "store-unavailable", detail, retryAfterMs };
}
