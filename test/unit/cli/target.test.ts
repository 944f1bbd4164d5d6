import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeProfiles } from "../../../src/cli/profiles.ts";
import { findTarget, type TargetFlags } from "../../../src/cli/target.ts";
import { fakeShell } from "./fake-shell.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlane-target-"));
  mkdirSync(join(folder, ".fairlane"));
  mkdirSync(join(folder, "deep", "er"), { recursive: true });
  writeFileSync(join(folder, ".fairlane", "token"), "local\n");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const PROFILES = new Map([
  ["prod", { url: "https://prod.example.com", tenant: "acme", token: "of-prod" }],
  ["bare", { tenant: "globex" }],
]);

function find(flags: TargetFlags = {}, env: Record<string, string> = {}, current: string | null = null) {
  writeProfiles(join(folder, "config", "fairlane", "config.json"), { current, profiles: PROFILES });
  const shell = fakeShell({
    cwd: join(folder, "deep", "er"),
    env: { XDG_CONFIG_HOME: join(folder, "config"), ...env },
  });
  return findTarget(shell, flags);
}

test("without any setting it is the server of npm start", () => {
  expect(find()).toMatchObject({
    url: "http://127.0.0.1:8787",
    tenant: "demo",
    token: "local",
    tokenFrom: join(folder, ".fairlane", "token"),
    profile: null,
    withheld: null,
    warnings: [],
  });
});

describe("each goes before the next: flag, variable, profile", () => {
  const env = { FAIRLANE_URL: "http://127.0.0.1:1", FAIRLANE_TENANT: "of-env", FAIRLANE_TOKEN: "env" };
  test("flags", () => {
    const flags = { url: "http://127.0.0.2:2/base/", tenant: "of-flag", token: "flag" };
    expect(find(flags, env, "prod")).toMatchObject({
      url: "http://127.0.0.2:2/base",
      tenant: "of-flag",
      token: "flag",
    });
  });
  test("variables", () => {
    expect(find({}, env, "prod")).toMatchObject({
      url: "http://127.0.0.1:1",
      tenant: "of-env",
      token: "env",
    });
  });
  test("the profile that is in use, or named", () => {
    const prod = { url: "https://prod.example.com", tenant: "acme", token: "of-prod", profile: "prod" };
    expect(find({}, {}, "prod")).toMatchObject(prod);
    expect(find({ profile: "prod" }, { FAIRLANE_PROFILE: "bare" })).toMatchObject(prod);
    expect(find({}, { FAIRLANE_PROFILE: "prod" }, "bare")).toMatchObject(prod);
  });
  test("an empty variable is none", () => {
    expect(find({}, { FAIRLANE_URL: "", FAIRLANE_TOKEN: "", FAIRLANE_TENANT: "" })).toMatchObject({
      token: "local",
    });
  });
});

describe("a token goes nowhere but to the server that it was named for", () => {
  test("a profile's not to another URL", () => {
    const found = find({ profile: "prod", url: "https://other.example.com" });
    expect(found.token).toBeNull();
    expect(found.withheld).toBe("the token of profile prod is for https://prod.example.com");
    expect(find({ profile: "prod" }, { FAIRLANE_URL: "https://other.example.com" }).token).toBeNull();
    expect(find({ profile: "prod", url: "http://prod.example.com" }).token).toBeNull();
    expect(find({ profile: "prod", url: "https://prod.example.com:444" }).token).toBeNull();
    expect(find({ profile: "prod", url: "https://prod.example.com/base" }).token).toBe("of-prod");
  });
  test("a variable's not to another URL than that of the variable beside it", () => {
    const env = { FAIRLANE_URL: "https://a.example.com", FAIRLANE_TOKEN: "env" };
    const found = find({ url: "https://b.example.com", tenant: "acme" }, env);
    expect([found.token, found.withheld]).toEqual([
      null,
      "FAIRLANE_TOKEN is for https://a.example.com, which FAIRLANE_URL names",
    ]);
    expect(find({ url: "https://b.example.com", tenant: "acme" }, { FAIRLANE_TOKEN: "env" }).token).toBe(
      "env",
    );
  });
  test("a local server's to this machine alone", () => {
    for (const url of ["http://localhost:1", "http://[::1]:1", "http://127.8.9.1:1"]) {
      expect(find({ url }).token, url).toBe("local");
    }
    for (const url of [
      "http://127.0.0.1.example.com",
      "http://10.0.0.1",
      "https://localhost.example.com",
      "http://[::2]",
    ]) {
      expect(find({ url, tenant: "acme" }).token, url).toBeNull();
    }
  });
  test("a local server's to the port that it listens on, as far as it has said so", () => {
    writeFileSync(join(folder, ".fairlane", "url"), "http://127.0.0.1:8871");
    expect(find({ url: "http://localhost:8871" }).token).toBe("local");
    const found = find({ url: "http://127.0.0.1:8890" });
    expect([found.token, found.withheld]).toEqual([
      null,
      expect.stringMatching(/^the token in .* is for http:\/\/127\.0\.0\.1:8871$/),
    ]);
  });
  test("one that is given with the run goes where the run goes", () => {
    expect(find({ url: "https://b.example.com", tenant: "acme", token: "flag" }, {}, "prod").token).toBe(
      "flag",
    );
  });
});

describe("the token of the local server", () => {
  test("is that of FAIRLANE_DATA, and of no other folder then", () => {
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data", "token"), "of-data");
    expect(find({}, { FAIRLANE_DATA: join(folder, "data") }).token).toBe("of-data");
    expect(find({}, { FAIRLANE_DATA: "../../data" }).token).toBe("of-data");
    expect(find({}, { FAIRLANE_DATA: join(folder, "missing") }).token).toBeNull();
  });
});

describe("the URL of the local server", () => {
  const wrote = (text: string) => writeFileSync(join(folder, ".fairlane", "url"), text);
  test("is what it wrote beside the token, after flag, variable and profile", () => {
    wrote("http://127.0.0.1:8871\n");
    expect(find()).toMatchObject({
      url: "http://127.0.0.1:8871",
      urlFrom: join(folder, ".fairlane", "url"),
      token: "local",
      tenant: "demo",
    });
    expect(find({}, { FAIRLANE_URL: "http://127.0.0.1:1" }).url).toBe("http://127.0.0.1:1");
    expect(find({ url: "http://127.0.0.1:2" }, { FAIRLANE_URL: "http://127.0.0.1:1" }).url).toBe(
      "http://127.0.0.1:2",
    );
    expect(find({ profile: "prod" }).url).toBe("https://prod.example.com");
    expect(find({ profile: "bare" })).toMatchObject({ url: "http://127.0.0.1:8871", tenant: "globex" });
    wrote("http://[::1]:8872");
    expect(find().url).toBe("http://[::1]:8872");
  });
  test.each([
    "https://queue.example.com",
    "http://10.0.0.1:8787",
    "http://127.0.0.1.example.com",
    "https://127.0.0.1:8871",
    "http://me:secret@127.0.0.1:8871",
    "http://127.0.0.1:8871/elsewhere",
    "http://127.0.0.1:8871/?a=b",
    "file:///etc/passwd",
    "not a URL",
    "",
  ])("%j is none of this machine, and is ignored", (text) => {
    wrote(text);
    expect(find()).toMatchObject({ url: "http://127.0.0.1:8787", urlFrom: "the default" });
  });
  test("is that of FAIRLANE_DATA, and of no other folder then", () => {
    wrote("http://127.0.0.1:8871");
    expect(find({}, { FAIRLANE_DATA: join(folder, "missing") }).url).toBe("http://127.0.0.1:8787");
  });
});

describe("the tenant, where none is named", () => {
  const tokenFor = (tenant: string) =>
    `e30.${Buffer.from(JSON.stringify({ tenant })).toString("base64url")}.c2ln`;
  test("is the token's own", () => {
    expect(find({ token: tokenFor("acme") })).toMatchObject({ tenant: "acme", tenantFrom: "the token" });
    expect(find({ token: tokenFor("acme"), tenant: "globex" }).tenant).toBe("globex");
  });
  test("must be named for a token of every tenant, but for a local server", () => {
    expect(find({ token: tokenFor("*") }).tenant).toBe("demo");
    expect(() => find({ token: tokenFor("*"), url: "https://a.example.com" })).toThrow("no tenant is named");
  });
  test("that a token claims must be a name", () => {
    expect(() => find({ token: tokenFor("../x") })).toThrow("the tenant's name (the token) must match");
  });
});

test("warns of a token that others can read on its way", () => {
  expect(find({ url: "http://10.0.0.1", tenant: "acme", token: "t" }).warnings).toEqual([
    "http://10.0.0.1 is not https: whoever is on the way can read the token",
  ]);
});
