import { expect, test } from "vitest";
import { readCommandLine, UsageError } from "../../../src/gateway/command-line.ts";

const GOOD = ["--dsn", "mysql://a:hidden@127.0.0.1:1/d", "--user", "app", "--password", "hidden"];

test.each([
  ["no DSN", ["--user", "app", "--password", "hidden"], "--dsn is missing"],
  ["no user", ["--dsn", "mysql://a@h/d", "--password", "hidden"], "--user is missing"],
  ["no password", ["--dsn", "mysql://a@h/d", "--user", "app"], "--password is missing"],
  ["another DSN", ["--dsn", "http://h", "--user", "app", "--password", "hidden"], "a DSN looks like"],
  ["a user with a colon", [...GOOD, "--user", "a:b"], "--user must be of letters"],
  ["a password with a space", [...GOOD, "--password", "hidden x"], "--password must be of letters"],
  ["a port that is no number", [...GOOD, "--port", "x"], "--port must be a number"],
  ["a port too high", [...GOOD, "--port", "65536"], "--port must be a number"],
  ["an empty port", [...GOOD, "--port="], "--port must be a number"],
  ["an empty host", [...GOOD, "--host="], "--host is empty"],
  ["an unknown flag", [...GOOD, "--tls"], "Unknown option '--tls'"],
  ["a flag without its value", ["--dsn"], "argument missing"],
  ["a flag as the value of another", ["--dsn", "--user", "app"], "argument is ambiguous"],
  ["a word too many", [...GOOD, "extra"], "Unexpected argument 'extra'"],
])("%s is one line, without a secret", (_name, args, reason) => {
  let refusal: unknown;
  try {
    readCommandLine(args, {});
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(UsageError);
  const { message } = refusal as UsageError;
  expect(message).toContain(reason);
  expect(message).not.toMatch(/\n|hidden/);
});

test("the rest is loopback and a free port", () => {
  expect(readCommandLine(GOOD, {})).toEqual({
    dsn: "mysql://a:hidden@127.0.0.1:1/d",
    user: "app",
    password: "hidden",
    host: "127.0.0.1",
    port: 0,
  });
  expect(readCommandLine([...GOOD, "--host", "0.0.0.0", "--port", "65535"], {})).toMatchObject({
    host: "0.0.0.0",
    port: 65535,
  });
});

test("secrets may come from the environment; a flag wins", () => {
  const env = { GATEWAY_DSN: "mysql://b@h/e", GATEWAY_PASSWORD: "other" };
  expect(readCommandLine(["--user", "app"], env)).toMatchObject({ dsn: "mysql://b@h/e", password: "other" });
  expect(readCommandLine(GOOD, env)).toMatchObject({ password: "hidden" });
});

test("--help asks for help whatever else is missing", () => {
  expect(readCommandLine(["--help"], {})).toBeNull();
});
