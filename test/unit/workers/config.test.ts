import { describe, expect, test } from "vitest";
import { readConfig } from "../../../src/workers/config.ts";

const AUTH_SECRET = "the-secret-of-this-test";
const good = { AUTH_SECRET, MQ_TENANTS: "a" };
const reasonOf = (env: Record<string, string>, bundled: unknown = []) => {
  const outcome = readConfig(env, bundled);
  if (outcome.ok) throw new Error("accepted");
  return outcome.reason;
};
const tenantsOf = (env: Record<string, string>, bundled: unknown) => {
  const outcome = readConfig(env, bundled);
  if (!outcome.ok) throw new Error(outcome.reason);
  return [...outcome.config.tenants];
};

describe("tenants", () => {
  test("from the variable, with white space around names", () => {
    expect(tenantsOf({ ...good, MQ_TENANTS: " demo, acme ,globex" }, ["other"])).toEqual([
      "demo",
      "acme",
      "globex",
    ]);
  });

  test("from the bundled list where the variable is not set", () => {
    expect(tenantsOf({ AUTH_SECRET }, ["x", "y"])).toEqual(["x", "y"]);
  });

  test.each(["", "a,,b", "a,", "A", "a b", "a,a", "*", `${"a".repeat(65)}`])(
    "MQ_TENANTS=%j is refused",
    (MQ_TENANTS) => {
      expect(reasonOf({ ...good, MQ_TENANTS })).toContain("MQ_TENANTS");
    },
  );

  test.each([[[]], [{}], [null], [["a", 1]], [["A"]], [["a", "a"]], ["a"]])(
    "a bundled %j is refused",
    (bundled) => {
      expect(reasonOf({ AUTH_SECRET }, bundled)).toContain("tenants.json");
    },
  );
});

describe("authorisation", () => {
  test("needs a secret", () => {
    expect(reasonOf({ MQ_TENANTS: "a" })).toContain("AUTH_SECRET");
    expect(reasonOf({ MQ_TENANTS: "a", AUTH_SECRET: "" })).toContain("AUTH_SECRET");
    expect(reasonOf({ MQ_TENANTS: "a", AUTH: "on" })).toContain("AUTH_SECRET");
  });

  test("can be off on loopback only", () => {
    expect(reasonOf({ ...good, AUTH: "off" })).toContain("loopback");
    expect(reasonOf({ ...good, AUTH: "off", FAIRLANE_LOOPBACK: "1" })).toContain("loopback");
    const off = readConfig({ ...good, AUTH: "off", FAIRLANE_LOOPBACK: "true" }, []);
    expect(off).toMatchObject({ ok: true, config: { authSecret: null } });
    expect(readConfig({ ...good, FAIRLANE_LOOPBACK: "true" }, [])).toMatchObject({
      config: { authSecret: AUTH_SECRET },
    });
  });
});

test.each([
  [{ AUTH: "OFF" }, "AUTH"],
  [{ AUTH: "" }, "AUTH"],
  [{ MESSAGE_LOG: "mysql" }, "MESSAGE_LOG"],
  [{ GC_INTERVAL_MS: "0" }, "GC_INTERVAL_MS"],
  [{ GC_INTERVAL_MS: "1m" }, "GC_INTERVAL_MS"],
])("%j is refused by its name, and no secret is repeated", (more, name) => {
  const reason = reasonOf({ ...good, ...more });
  expect(reason).toContain(name);
  expect(reason).not.toContain(AUTH_SECRET);
});

test("defaults", () => {
  expect(readConfig(good, [])).toMatchObject({ config: { gcIntervalMs: 600_000, log: { kind: "object" } } });
  expect(readConfig({ ...good, GC_INTERVAL_MS: "50" }, [])).toMatchObject({ config: { gcIntervalMs: 50 } });
});
