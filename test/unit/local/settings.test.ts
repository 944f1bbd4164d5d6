import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { hostInUrl, isLoopback, readSettings, urlOnThisMachine } from "../../../src/local/settings.ts";
import { StartRefusal } from "../../../src/local/start-refusal.ts";

function refusal(env: Record<string, string>): string {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof StartRefusal) return error.message;
    throw error;
  }
  return expect.fail(`accepted: ${JSON.stringify(env)}`);
}

describe("settings of the local server", () => {
  test("have defaults, also for empty variables", () => {
    const defaults = {
      host: "127.0.0.1",
      port: 8787,
      dataDir: resolve(".fairlane"),
      tenants: ["demo", "acme", "globex"],
      authSecret: null,
      authOff: false,
      log: { kind: "object" },
      logVariables: {},
    };
    expect(readSettings({})).toEqual(defaults);
    const empty = {
      HOST: "",
      PORT: "",
      FAIRLANE_DATA: "",
      MQ_TENANTS: "",
      AUTH_SECRET: "",
      AUTH: "",
      MESSAGE_LOG: "",
      DATABASE_URL: "",
    };
    expect(readSettings(empty)).toEqual(defaults);
  });

  test("come from the environment", () => {
    const env = {
      HOST: "0.0.0.0",
      PORT: "0",
      FAIRLANE_DATA: "kept",
      MQ_TENANTS: "a, b-2 ,c.d",
      AUTH_SECRET: "s",
    };
    expect(readSettings(env)).toEqual({
      host: "0.0.0.0",
      port: 0,
      dataDir: resolve("kept"),
      tenants: ["a", "b-2", "c.d"],
      authSecret: "s",
      authOff: false,
      log: { kind: "object" },
      logVariables: {},
    });
  });

  test.each(["-1", "65536", "80a", "1e3", "8787.5", " 80", "999999"])("refuse PORT %j", (port) => {
    expect(refusal({ PORT: port })).toContain(`PORT ${JSON.stringify(port)} must be`);
  });

  test("take PORT up to 65535", () => {
    expect(readSettings({ PORT: "65535" }).port).toBe(65535);
  });

  test.each([
    ["Acme", "must match"],
    ["a,,b", "must not be empty"],
    ["a,b,a", "is listed twice"],
    ["a b", "must match"],
    ["*", "must match"],
    ["__proto__", "must match"],
    ["a".repeat(65), "at most 64"],
  ])("refuse MQ_TENANTS %j", (tenants, why) => {
    expect(refusal({ MQ_TENANTS: tenants })).toContain(why);
    expect(refusal({ MQ_TENANTS: tenants })).toMatch(/^MQ_TENANTS: .*parted by commas/);
  });

  test.each(["example.com", "1.2.3", "999.0.0.1", "[::1]"])("refuse HOST %j", (host) => {
    expect(refusal({ HOST: host })).toContain(`HOST ${JSON.stringify(host)} must be`);
  });

  test("allow AUTH=off on loopback only, and no other word", () => {
    expect(readSettings({ AUTH: "off" }).authOff).toBe(true);
    expect(readSettings({ AUTH: "off", HOST: "::1" }).authOff).toBe(true);
    expect(refusal({ AUTH: "off", HOST: "0.0.0.0" })).toContain("loopback");
    expect(refusal({ AUTH: "off", HOST: "192.168.0.7" })).toContain("loopback");
    for (const word of ["OFF", "false", "no", "on"]) expect(refusal({ AUTH: word })).toContain("must be off");
  });

  test("choose the log, and hand its variables on", () => {
    const variables = {
      MESSAGE_LOG: "vitess",
      DATABASE_URL: "http://u:p@127.0.0.1:3900",
      COMMIT_HORIZON_MS: "5000",
    };
    expect(readSettings({ ...variables, DATABASE_HOST: "", PATH: "/bin" })).toMatchObject({
      log: { kind: "vitess", hostShown: "127.0.0.1:3900", commitHorizonMs: 5000 },
      logVariables: variables,
    });
    expect(Object.keys(readSettings({ ...variables, PATH: "/bin" }).logVariables)).toEqual(
      Object.keys(variables),
    );
  });

  test.each([
    [{ MESSAGE_LOG: "mysql" }, "MESSAGE_LOG"],
    [{ MESSAGE_LOG: "vitess" }, "DATABASE_URL"],
    [{ MESSAGE_LOG: "vitess", DATABASE_URL: "http://u:secret@db.example" }, "DATABASE_URL"],
    [
      { MESSAGE_LOG: "vitess", DATABASE_URL: "http://u:secret@127.0.0.1", COMMIT_HORIZON_MS: "1" },
      "COMMIT_HORIZON_MS",
    ],
  ])("refuse %j", (env, name) => {
    expect(refusal(env)).toContain(name);
    expect(refusal(env)).not.toContain("secret");
  });

  test("know a loopback host", () => {
    for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
      expect(isLoopback(host), host).toBe(true);
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "127.evil.example"])
      expect(isLoopback(host), host).toBe(false);
  });

  test("name a server on every address as this machine reaches it", () => {
    const urls = ["http://0.0.0.0:1", "http://[::]:1", "http://127.0.0.1:1", "http://192.168.0.7:1"];
    expect(urls.map(urlOnThisMachine)).toEqual(["http://127.0.0.1:1", "http://[::1]:1", ...urls.slice(2)]);
  });

  test("write an IPv6 host with brackets", () => {
    expect([hostInUrl("::1"), hostInUrl("127.0.0.1")]).toEqual(["[::1]", "127.0.0.1"]);
  });
});
