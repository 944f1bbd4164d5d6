import { expect, test } from "vitest";
import { parseDsn } from "../../../src/gateway/dsn.ts";

test("a DSN is taken apart", () => {
  expect(parseDsn("mysql://app:s%40cr%3Aet@db.internal:3307/shop")).toEqual({
    host: "db.internal",
    port: 3307,
    user: "app",
    password: "s@cr:et",
    database: "shop",
  });
});

test("port and password may be absent, and a host may be an IPv6 address", () => {
  expect(parseDsn("mysql://app@[::1]/shop")).toMatchObject({ host: "::1", port: 3306, password: "" });
});

test.each([
  ["", "looks like"],
  ["not a url", "looks like"],
  ["postgres://a:hidden@h/d", "looks like"],
  ["mysql:///shop", "no host"],
  ["mysql://h/shop", "no user"],
  ["mysql://a:hidden@h", "database"],
  ["mysql://a:hidden@h/", "database"],
  ["mysql://a:hidden@h/x/y", "database"],
  ["mysql://a:hidden@h/x?ssl=1", "parameters"],
  ["mysql://a:hidden@h/x#y", "parameters"],
  ["mysql://a:hidden%zz@h/x", "password"],
])("%s is refused, without its password", (dsn, reason) => {
  let message = "";
  try {
    parseDsn(dsn);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    message = (error as Error).message;
  }
  expect(message).toContain(reason);
  expect(message).not.toContain("hidden");
});
