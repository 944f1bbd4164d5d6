import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startLocalServer } from "../../src/local/local-server.ts";
import { runLine } from "../unit/cli/fake-shell.ts";
import { makePlace, type Place } from "./cli-program.ts";
import { type Live, SECRET, setup } from "./harness.ts";
import { inSeconds, signToken, tenantToken } from "./tokens.ts";

let live: Live;
let place: Place;
beforeAll(async () => {
  live = await setup();
  place = await makePlace(live);
});
afterAll(async () => {
  await place?.remove();
  await live?.close();
});

const run = (words: string, env: Record<string, string> = {}) =>
  runLine(words.split(" "), {
    cwd: place.folder,
    env: { FAIRLANE_URL: live.url, ...env },
    nowMs: Date.now(),
  });

describe("the token", () => {
  test("of the local server is found from a folder below, without any setting but the URL", async () => {
    await mkdir(join(place.folder, "a", "b"), { recursive: true });
    expect((await place.ok(["topics"], { cwd: "a/b" })).code).toBe(0);
  });

  test("and the URL of a local server are found where it wrote them, and a stale one is named", async () => {
    const data = join(place.folder, "moved");
    const server = await startLocalServer({ dataDir: data, authSecret: SECRET });
    try {
      expect(await readFile(join(data, "url"), "utf8")).toBe(`${server.url}\n`);
      expect((await stat(join(data, "url"))).mode & 0o077).toBe(0);
      const status = await run("status", { FAIRLANE_URL: "", FAIRLANE_DATA: data });
      expect(status.stdout).toContain(`${server.url} (${join(data, "url")})`);
      expect((await run("topics", { FAIRLANE_URL: "", FAIRLANE_DATA: data })).code).toBe(0);
    } finally {
      await server.stop();
    }
    const gone = await run("topics", { FAIRLANE_URL: "", FAIRLANE_DATA: data });
    expect(gone.code).toBe(5);
    expect(gone.stderr).toContain(`no server answers at ${server.url}`);
    expect(gone.stderr).toContain(`this one is from ${join(data, "url")}`);
  });

  test("of a profile is used for the profile's server", async () => {
    const env = {
      FAIRLANE_URL: "",
      FAIRLANE_DATA: "/nonexistent",
      XDG_CONFIG_HOME: join(place.folder, "config"),
    };
    const token = tenantToken(SECRET, "acme");
    const saved = await place.ok(["profile", "set", "live", "--url", live.url, "--token-stdin"], {
      env,
      stdin: token,
    });
    expect(saved.stdout + saved.stderr).not.toContain(token);
    const status = await place.ok(["status"], { env });
    expect(status.stdout).toMatch(/tenant +acme \(the token\)/);
    expect(status.stdout).toMatch(/token +from profile live/);
    expect((await place.ok(["topics"], { env })).stderr).toContain("tenant acme has no topic yet");
    expect(await readFile(join(place.folder, "config", "fairlane", "config.json"), "utf8")).toContain(token);
  });

  test.each<[string, () => string | null, string, number]>([
    ["that is none", () => "abc", "the server does not accept it", 4],
    [
      "that is signed by another secret",
      () => tenantToken("another", "demo"),
      "the server does not accept it",
      4,
    ],
    [
      "that is over",
      () => signToken(SECRET, { tenant: "demo", scope: "admin", exp: inSeconds(-7200) }),
      "it expired 2 h ago",
      4,
    ],
    [
      "for another tenant",
      () => tenantToken(SECRET, "acme"),
      "is for tenant acme, and this is tenant demo",
      4,
    ],
    [
      "without the scope",
      () => tenantToken(SECRET, "demo", "publish"),
      "lacks the scope consume or admin",
      4,
    ],
  ])("%s is exit code 4, with the reason", async (_what, makeToken, words, code) => {
    const token = makeToken() as string;
    const ended = await run(`topics --tenant demo --token ${token}`);
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toContain(token);
    expect(ended.code).toBe(code);
    const json = await run(`topics --tenant demo --token ${token} --json`);
    expect(JSON.parse(json.stderr).error).toMatchObject({ exitCode: 4 });
  });

  test("that is missing is exit code 4, and says how to get one", async () => {
    const ended = await run("topics", { FAIRLANE_DATA: "/nonexistent" });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("the server wants a token, and there is none");
    expect(ended.stderr).toContain("fairlane token --tenant demo");
  });

  test("of a data folder signs others", async () => {
    const folder = join(place.folder, "data");
    await mkdir(folder);
    await writeFile(join(folder, "secret"), SECRET);
    const { stdout, code } = await run("token --tenant demo", { FAIRLANE_DATA: folder });
    expect(code).toBe(0);
    expect((await live.api("demo", stdout.trim()).request("GET", "topics")).status).toBe(200);
    const none = await run("token --tenant demo", { FAIRLANE_DATA: "/nonexistent" });
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("there is no secret to sign with")]);
  });
});

describe("a server that is none", () => {
  const withServer = async <T>(
    reply: [number, Record<string, string>, string],
    use: (url: string, seen: string[]) => Promise<T>,
  ) => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization ?? "");
      const [status, headers, text] = reply;
      response.writeHead(status, headers).end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  };

  test("is exit code 5", async () => {
    await withServer([404, { "content-type": "text/html" }, "<h1>\x1b[31mnot here</h1>"], async (url) => {
      const ended = await run(`topics --url ${url}`);
      expect(ended.code).toBe(5);
      expect(ended.stderr).toContain("is that a Fairlane server?");
      expect(ended.stderr).not.toContain("not here");
    });
  });

  test("named by more than its root says so", async () => {
    const page = await run(`topics --url ${live.url}/ui`);
    expect(page.code).toBe(3);
    expect(page.stderr).toContain(
      `the URL must be the server's root, like ${live.url}; ${live.url}/ui is from --url`,
    );
    const root = await run("inspect no-topic --offset 1");
    expect(root.stderr).not.toContain("root");
  });

  test("that speaks no TLS is told from one that failed", async () => {
    const ended = await run(`topics --url ${live.url.replace("http:", "https:")}`);
    expect(ended.code).toBe(5);
    expect(ended.stderr).toContain("does not speak TLS");
    expect(ended.stderr).toContain("its URL begins with http://");
  });

  test("whose answer breaks off leaves open only what changes something", async () => {
    const server = createServer((request) => request.socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const looked = await run(`topics --url ${url}`);
      expect([looked.code, looked.stderr]).toEqual([5, expect.stringContaining("nothing was changed")]);
      const changed = await run(`gc --url ${url}`);
      expect([changed.code, changed.stderr]).toEqual([5, expect.stringContaining("may have been done")]);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test("may not send a token on to another by a redirect", async () => {
    await withServer([200, { "content-type": "application/json" }, '{"topics":[]}'], (target, seen) =>
      withServer([307, { location: `${target}/elsewhere` }, ""], async (url) => {
        expect((await run(`topics --url ${url}`)).code).toBe(5);
        expect(seen).toEqual([]);
      }),
    );
  });

  test("that is too busy is exit code 5 after some tries", async () => {
    const problem = {
      type: "urn:fairlane:store-unavailable",
      title: "t",
      status: 503,
      detail: "the log is away",
    };
    const headers = { "content-type": "application/problem+json", "retry-after": "1" };
    await withServer([503, headers, JSON.stringify(problem)], async (url, seen) => {
      const ended = await run(`topics --url ${url}`);
      expect([ended.code, ended.stderr]).toEqual([5, expect.stringContaining("the log is away")]);
      expect(seen.length).toBeGreaterThan(1);
    });
  });

  test("nobody at all is exit code 5, as the process says", async () => {
    const ended = await place.run(["topics", "--url", "http://127.0.0.1:2", "--json"]);
    expect(ended.code).toBe(5);
    expect(ended.failure()).toMatchObject({ code: "unreachable", exitCode: 5 });
    expect(ended.failure().hint).toContain("start one with npm start");
  });
});

describe("a pipe", () => {
  test("that is closed early is no failure", async () => {
    const running = place.start(["--help"]);
    running.child.stdout?.destroy();
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
  });
});
