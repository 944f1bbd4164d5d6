import { describe, expect, test } from "vitest";
import { mysqlError, tabletError } from "../../../src/gateway/wire-error.ts";

const origin = { database: "shop", user: "app" };

describe("a failed statement", () => {
  test("is worded as PlanetScale words it", () => {
    const failure = { errno: 1062, sqlState: "23000", message: "Duplicate entry 'a' for key 't.PRIMARY'" };
    expect(mysqlError(origin, failure)).toEqual({
      code: "UNKNOWN",
      message:
        "target: shop.-.primary: vttablet: rpc error: code = AlreadyExists desc = Duplicate entry 'a' for key 't.PRIMARY' (errno 1062) (sqlstate 23000) (CallerID: app)",
    });
  });

  test.each([
    [1213, "Aborted"],
    [1205, "DeadlineExceeded"],
    [1317, "Canceled"],
    [2013, "Canceled"],
    [2002, "Unavailable"],
    [1053, "Unavailable"],
    [1146, "NotFound"],
    [1054, "NotFound"],
    [1045, "PermissionDenied"],
    [1064, "InvalidArgument"],
    [1406, "InvalidArgument"],
    [1153, "ResourceExhausted"],
    [1290, "FailedPrecondition"],
    [4242, "Unknown"],
  ])("with error number %i has Vitess's code %s", (errno, code) => {
    const { message } = mysqlError(origin, { errno, sqlState: "HY000", message: "m" });
    expect(message).toContain(`rpc error: code = ${code} desc = m (errno ${errno}) (sqlstate HY000)`);
  });
});

test("a limit of the tablet has no error number", () => {
  expect(tabletError(origin, "Aborted", "Row count exceeded 100000").message).toBe(
    "target: shop.-.primary: vttablet: rpc error: code = Aborted desc = Row count exceeded 100000 (CallerID: app)",
  );
});
