import { describe, expect, test } from "vitest";
import { type LogVariables, readLogConfig } from "../../../src/log/log-config.ts";
import { readConfig } from "../../../src/workers/config.ts";

const PASSWORD = "pw-that-nobody-may-see";
const vitess: LogVariables = { MESSAGE_LOG: "vitess" };
const url = (DATABASE_URL: string): LogVariables => ({ ...vitess, DATABASE_URL });
const parts: LogVariables = {
  ...vitess,
  DATABASE_HOST: "db.example",
  DATABASE_USERNAME: "u",
  DATABASE_PASSWORD: PASSWORD,
};

const logOf = (variables: LogVariables) => {
  const outcome = readLogConfig(variables);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.log;
};
const reasonOf = (variables: LogVariables) => {
  const outcome = readLogConfig(variables);
  if (outcome.ok) throw new Error("accepted");
  expect(outcome.reason).not.toContain(PASSWORD);
  return outcome.reason;
};

describe("which log", () => {
  test("the embedded one if nothing is said, whatever is said of a database", () => {
    expect(logOf({})).toEqual({ kind: "object" });
    expect(logOf({ MESSAGE_LOG: "object", DATABASE_URL: "nonsense", COMMIT_HORIZON_MS: "0" })).toEqual({
      kind: "object",
    });
  });

  test.each(["", "Vitess", "mysql", "object "])("MESSAGE_LOG=%j is refused", (MESSAGE_LOG) => {
    expect(reasonOf({ MESSAGE_LOG })).toBe("MESSAGE_LOG must be object or vitess");
  });

  test("the Worker's own configuration says the same, and its reason", () => {
    const env = { AUTH_SECRET: "s", MQ_TENANTS: "a" };
    expect(readConfig({ ...env, ...parts }, [])).toMatchObject({ config: { log: logOf(parts) } });
    expect(readConfig({ ...env, ...vitess }, [])).toEqual({ ok: false, reason: reasonOf(vitess) });
  });
});

describe("the database", () => {
  test.each([
    [`https://u:${PASSWORD}@db.example`, "db.example", false],
    [`https://u:${PASSWORD}@db.example:8443/ignored`, "db.example:8443", false],
    [`mysql://u:${PASSWORD}@db.example/fairlane?sslaccept=strict`, "db.example", false],
    [`http://u:${PASSWORD}@127.0.0.1:3900`, "127.0.0.1:3900", true],
    [`http://u:${PASSWORD}@127.1:3900`, "127.0.0.1:3900", true],
    [`http://u:${PASSWORD}@LOCALHOST:3900`, "localhost:3900", true],
    [`http://u:${PASSWORD}@[::1]:3900`, "[::1]:3900", true],
    [`https://u:a%40b%2f@db.example`, "db.example", false],
  ])("DATABASE_URL=%s", (text, hostShown, isLoopback) => {
    expect(logOf(url(text))).toEqual({
      kind: "vitess",
      credentials: { url: text },
      hostShown,
      isLoopback,
      commitHorizonMs: 120_000,
    });
  });

  test("in three parts", () => {
    expect(logOf(parts)).toMatchObject({
      credentials: { host: "db.example", username: "u", password: PASSWORD },
      hostShown: "db.example",
      isLoopback: false,
    });
    expect(logOf({ ...parts, DATABASE_HOST: "127.0.0.1:3900", DATABASE_URL: "" })).toMatchObject({
      hostShown: "127.0.0.1:3900",
      isLoopback: true,
    });
  });

  test.each([
    [`http://u:${PASSWORD}@db.example`, "loopback"],
    [`http://u:${PASSWORD}@127.0.0.1.example`, "loopback"],
    [`http://u:${PASSWORD}@localhost.example`, "loopback"],
    [`http://u:${PASSWORD}@10.0.0.1`, "loopback"],
    [`http://u:${PASSWORD}@0.0.0.0`, "loopback"],
    [`postgres://u:${PASSWORD}@db.example`, "like https://"],
    [`u:${PASSWORD}@db.example`, "like https://"],
    [`//u:${PASSWORD}@db.example`, "like https://"],
    [`https://u:${PASSWORD}@db.example:99999`, "like https://"],
    ["https://db.example", "user name and a password"],
    ["https://u@db.example", "user name and a password"],
    [`https://:${PASSWORD}@db.example`, "user name and a password"],
    [`https://u:${PASSWORD}%zz@db.example`, "user name and a password"],
    [`https://u%3Av:${PASSWORD}@db.example`, "colon"],
  ])("DATABASE_URL=%s is refused", (text, why) => {
    const reason = reasonOf(url(text));
    expect(reason).toContain("DATABASE_URL");
    expect(reason).toContain(why);
    expect(reason).not.toContain("db.example");
  });

  test("neither, both, or only some of the parts", () => {
    expect(reasonOf(vitess)).toContain(
      "DATABASE_URL, or DATABASE_HOST, DATABASE_USERNAME and DATABASE_PASSWORD",
    );
    expect(reasonOf({ ...parts, DATABASE_URL: `https://u:${PASSWORD}@h` })).toContain("not both");
    expect(reasonOf({ ...parts, DATABASE_PASSWORD: "" })).toBe("DATABASE_PASSWORD must be set too");
    expect(reasonOf({ ...vitess, DATABASE_USERNAME: "u" })).toBe(
      "DATABASE_HOST and DATABASE_PASSWORD must be set too",
    );
  });

  test.each(["https://db.example", "u@db.example", "db.example/x", "db example", "db.example:99999", "db:"])(
    "DATABASE_HOST=%s is refused",
    (DATABASE_HOST) => {
      const reason = reasonOf({ ...parts, DATABASE_HOST });
      expect(reason).toContain("DATABASE_HOST must be a host name");
      expect(reason).not.toContain(DATABASE_HOST);
    },
  );

  test("a user name with a colon would end too early", () => {
    expect(reasonOf({ ...parts, DATABASE_USERNAME: "a:b" })).toContain("DATABASE_USERNAME");
  });
});

describe("the commit horizon", () => {
  test.each(["1000", "5000", "120000", "3600000"])("COMMIT_HORIZON_MS=%s", (COMMIT_HORIZON_MS) => {
    expect(logOf({ ...parts, COMMIT_HORIZON_MS })).toMatchObject({
      commitHorizonMs: Number(COMMIT_HORIZON_MS),
    });
  });

  test.each(["", "999", "0", "-5000", "1e4", "5000.5", " 5000", "5s", "3600001", "99999999999999999999"])(
    "COMMIT_HORIZON_MS=%j is refused",
    (COMMIT_HORIZON_MS) => {
      expect(reasonOf({ ...parts, COMMIT_HORIZON_MS })).toBe(
        "COMMIT_HORIZON_MS must be a whole number of milliseconds from 1000 to 3600000",
      );
    },
  );
});
