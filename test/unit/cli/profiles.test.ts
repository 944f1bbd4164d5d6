import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configPath, readableByOthers, readProfiles, writeProfiles } from "../../../src/cli/profiles.ts";
import { fakeShell, runLine } from "./fake-shell.ts";

let folder: string;
let env: Record<string, string>;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlane-profiles-"));
  env = { XDG_CONFIG_HOME: folder };
  path = join(folder, "fairlane", "config.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mode = (file: string) => statSync(file).mode & 0o777;
const line = (words: string, stdin = "") => runLine(words.split(" "), { env, stdin });

describe("the file", () => {
  test("is in XDG_CONFIG_HOME, or in .config", () => {
    expect(configPath(fakeShell({ env }))).toBe(path);
    expect(configPath(fakeShell({ env: { HOME: "/h" } }))).toBe("/h/.config/fairlane/config.json");
  });

  test("is for its owner alone, also where it was not, and is written whole", () => {
    writeProfiles(path, { current: "a", profiles: new Map([["a", { url: "https://h", token: "t" }]]) });
    expect([mode(path), mode(join(folder, "fairlane"))]).toEqual([0o600, 0o700]);
    chmodSync(path, 0o644);
    expect(readableByOthers(path)).toBe(true);
    writeProfiles(path, readProfiles(path));
    expect(mode(path)).toBe(0o600);
    expect(readableByOthers(path)).toBe(false);
    expect(readdirSync(join(folder, "fairlane"))).toEqual(["config.json"]);
  });

  test("that is not there holds nothing", () => {
    expect(readProfiles(path)).toEqual({ current: null, profiles: new Map() });
  });

  test.each([
    ["{", "is not JSON"],
    ["[]", "holds no profiles"],
    ['{"profiles":{"a":1}}', "profile a is not an object"],
    ['{"profiles":{"a":{"token":5}}}', "token of profile a is not a string"],
  ])("with %s is refused, not overwritten, and not quoted", async (text, words) => {
    writeProfiles(path, { current: null, profiles: new Map() });
    writeFileSync(path, `${text} secret-token`.slice(0, text === "{" ? undefined : text.length));
    const ended = await line("profile set a --tenant b");
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toContain("secret-token");
    expect(ended.code).toBe(1);
    expect(readFileSync(path, "utf8")).toContain(text);
  });
});

describe("profile", () => {
  test("set, list, show, use, remove; a token is never printed", async () => {
    const saved = await line(
      "profile set prod --url https://queue.example.com --tenant acme --token-stdin",
      "to.ke.n1\n",
    );
    expect(saved).toMatchObject({ code: 0, stdout: `saved profile prod in ${path}\n` });
    await line("profile set dev --url http://127.0.0.1:9000");
    expect(readProfiles(path)).toEqual({
      current: "prod",
      profiles: new Map([
        ["prod", { url: "https://queue.example.com", tenant: "acme", token: "to.ke.n1" }],
        ["dev", { url: "http://127.0.0.1:9000" }],
      ]),
    });
    expect((await line("profile")).stdout).toBe(
      "*\tprod\thttps://queue.example.com\tacme\t••••••\n\tdev\thttp://127.0.0.1:9000\t\t\n",
    );
    const shown = await line("profile show prod --json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ name: "prod", token: "••••••", current: true });
    const claims = Buffer.from('{"tenant":"acme","scope":"publish","exp":5}').toString("base64url");
    await line("profile set claims --url https://queue.example.com --token-stdin", `e30.${claims}.c2ln\n`);
    expect(JSON.parse((await line("profile show claims --json")).stdout)).toMatchObject({
      tokenTenant: "acme",
      scope: "publish",
      expiresAt: 5000,
    });
    expect((await line("profile remove claims")).code).toBe(0);
    expect((await line("profile show --profile dev")).stdout).toContain("http://127.0.0.1:9000");
    expect((await line("profile use dev")).code).toBe(0);
    expect(readProfiles(path).current).toBe("dev");
    expect((await line("profile remove dev")).code).toBe(0);
    expect(readProfiles(path)).toMatchObject({ current: null });
    for (const command of ["profile show nope", "profile use nope", "profile remove nope", "profile show"]) {
      expect((await line(command)).code, command).toBe(3);
    }
    expect((await line("profile list")).stdout + (await line("profile show prod")).stdout).not.toContain(
      "to.ke.n1",
    );
  });

  test("set with another URL forgets the token, which was for the first one", async () => {
    await line("profile set prod --url https://a.example.com --token abc");
    expect((await line("profile set prod --url https://a.example.com/path")).stderr).toBe("");
    expect(readProfiles(path).profiles.get("prod")?.token).toBe("abc");
    const moved = await line("profile set prod --url https://b.example.com");
    expect(moved.stderr).toContain("the token was for https://a.example.com and is forgotten");
    expect(readProfiles(path).profiles.get("prod")).toEqual({ url: "https://b.example.com" });
  });

  test("that cannot be written says so", async () => {
    writeFileSync(join(folder, "fairlane"), "a file in the way");
    const ended = await line("profile set prod --tenant acme");
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("cannot be written");
    expect(existsSync(path)).toBe(false);
  });
});
