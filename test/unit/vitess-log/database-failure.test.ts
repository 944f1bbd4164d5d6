import { DatabaseError } from "@planetscale/database";
import { expect, test } from "vitest";
import {
  type DatabaseFailure,
  failureOf,
  fairlaneErrorOf,
} from "../../../src/log/vitess/database-failure.ts";
import { failureOfMessage, tabletMessage } from "./scripted-database.ts";

const duplicate = (entry: string, key: string, behind = "") =>
  failureOfMessage(
    tabletMessage(1062, `Duplicate entry '${entry}' for key '${key}'`, "AlreadyExists") + behind,
  );

test.each([
  ["PRIMARY", "primary"],
  ["queue_messages.PRIMARY", "primary"],
  ["queue_messages_by_id", "id"],
  ["queue_messages.queue_messages_by_id", "id"],
  ["another_key", "unclear"],
])("a duplicate of %s", (name, key) => {
  expect(duplicate("acme-orders-1", name)).toEqual({ kind: "duplicate", key });
});

test.each([
  ["x' for key 'PRIMARY' (errno 1062)", "queue_messages_by_id", ""],
  ["x' for key 'queue_messages_by_id' (errno 1062)", "PRIMARY", ""],
  ["x", "PRIMARY", `: Sql: "…", BindVars: {b: "' for key 'queue_messages_by_id' (errno 1062)"}`],
])("a user's text cannot pass for the other key: %j", (entry, name, behind) => {
  expect(duplicate(entry, name, behind)).toEqual({ kind: "duplicate", key: "unclear" });
});

test.each(["(errno 1213)", "rpc error: code = Unavailable desc = "])(
  "a user's text in a duplicate entry cannot pass for another failure: %s",
  (entry) => {
    expect(duplicate(entry, "PRIMARY")).toMatchObject({ kind: "duplicate" });
  },
);

test.each<[number, string, DatabaseFailure]>([
  [1213, "Aborted", { kind: "deadlock" }],
  [1205, "DeadlineExceeded", { kind: "lockWait" }],
  [1062, "AlreadyExists", { kind: "duplicate", key: "unclear" }],
  [1153, "ResourceExhausted", { kind: "tooLarge" }],
  [1406, "InvalidArgument", { kind: "tooLarge" }],
  [1045, "PermissionDenied", { kind: "refused" }],
  [1146, "NotFound", { kind: "schema" }],
  [1317, "Canceled", { kind: "unavailable", cause: "server" }],
  [1290, "FailedPrecondition", { kind: "unavailable", cause: "server" }],
  [2013, "Canceled", { kind: "unavailable", cause: "server" }],
  [2002, "Unavailable", { kind: "unavailable", cause: "server" }],
  [1040, "ResourceExhausted", { kind: "unavailable", cause: "server" }],
  [1064, "InvalidArgument", { kind: "other", errno: 1064 }],
])("errno %i", (errno, rpcCode, expected) => {
  expect(failureOfMessage(tabletMessage(errno, "words", rpcCode))).toEqual(expected);
});

test.each<[string, string, DatabaseFailure]>([
  ["ABORTED", "Row count exceeded 100000", { kind: "tooLarge" }],
  ["RESOURCE_EXHAUSTED", "trying to send message larger than max (9 vs. 8)", { kind: "tooLarge" }],
  ["RESOURCE_EXHAUSTED", "pool timed out", { kind: "unavailable", cause: "server" }],
  ["UNAVAILABLE", "no healthy tablet", { kind: "unavailable", cause: "server" }],
  ["DEADLINE_EXCEEDED", "context deadline exceeded", { kind: "unavailable", cause: "server" }],
  ["unauthenticated", "invalid user", { kind: "refused" }],
  ["UNKNOWN", "something", { kind: "other", errno: null }],
])("without a number: %s, %s", (code, message, expected) => {
  expect(failureOfMessage(message, code)).toEqual(expected);
});

test("by the status of the reply", () => {
  const ofStatus = (status: number) => {
    const body = { code: "internal", message: "m" };
    return failureOf(new DatabaseError("m", status, body), false);
  };
  expect(ofStatus(401)).toEqual({ kind: "refused" });
  expect(ofStatus(403)).toEqual({ kind: "refused" });
  expect(ofStatus(413)).toEqual({ kind: "tooLarge" });
  expect(ofStatus(500)).toEqual({ kind: "other", errno: null });
});

test("what breaks below the protocol leaves the outcome open", () => {
  expect(failureOf(new TypeError("fetch failed"), false)).toEqual({ kind: "unavailable", cause: "network" });
  expect(failureOf(new SyntaxError("no JSON"), false)).toEqual({ kind: "unavailable", cause: "network" });
  expect(failureOf(new TypeError("fetch failed"), true)).toEqual({ kind: "unavailable", cause: "timeout" });
});

test.each<[DatabaseFailure, string]>([
  [{ kind: "unavailable", cause: "network" }, "store-unavailable"],
  [{ kind: "deadlock" }, "store-unavailable"],
  [{ kind: "lockWait" }, "store-unavailable"],
  [{ kind: "refused" }, "store-unavailable"],
  [{ kind: "schema" }, "store-unavailable"],
  [{ kind: "other", errno: 1064 }, "store-unavailable"],
  [{ kind: "duplicate", key: "id" }, "store-unavailable"],
  [{ kind: "tooLarge" }, "payload-too-large"],
])("%j as the product says it", (failure, code) => {
  const error = fairlaneErrorOf(failure, "append");
  expect(error.failure.code).toBe(code);
  if (code === "store-unavailable") expect(error.failure.retryAfterMs).toBeGreaterThan(0);
  expect(String(error.cause)).toContain("append");
});
