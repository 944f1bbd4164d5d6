import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { makeClone, paste, type Running, takenPort } from "./first-start-clone.ts";
import { until } from "./harness.ts";

const LAST_WORDS = "Ctrl-C stops the server; the data stays.\n";
const INSTALLING = /^Installing .*\n/;

async function recorded(): Promise<string> {
  return readFile(join(import.meta.dirname, "first-start.txt"), "utf8");
}

function urlOf(server: Running): string {
  return /ready on (\S+)/.exec(server.stdout())?.[1] ?? expect.fail(server.stdout());
}

/** What was printed, with the recorded text's placeholders for what differs from start to start. */
async function withPlaceholders(server: Running, dataDir: string): Promise<string> {
  const token = await readFile(join(dataDir, "token"), "utf8");
  return server
    .stdout()
    .replaceAll(urlOf(server), "{url}")
    .replaceAll(token, "{token}")
    .replaceAll(dataDir, "{data}")
    .replace(`Fairlane ${manifest.version} `, "Fairlane {version} ");
}

/** The server's own process and the runtime's, found by their parents: script, server, runtime. */
function processesOf(script: Running): { server: number; runtime: number } {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
  const childOf = (parentPid: number | undefined, args: string) => {
    const words = rows.map((row) => row.trim().split(/\s+/));
    const found = words.find((row) => Number(row[1]) === parentPid && row.join(" ").includes(args));
    return Number(found?.[0] ?? expect.fail(`no ${args} in ${rows.join("\n")}`));
  };
  const server = childOf(script.child.pid, "start.ts");
  return { server, runtime: childOf(server, "workerd serve") };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("npm start", () => {
  test("prints the recorded text and nothing on stderr, and its lines work when pasted", async () => {
    const { dataDir, run } = await makeClone();
    const server = run(["start"]);
    await server.printed(LAST_WORDS);
    expect(await withPlaceholders(server, dataDir)).toBe(await recorded());

    const lines = server.stdout().match(/^curl .*$/gm) ?? [];
    expect(lines).toHaveLength(3);
    const pasted = await paste(lines.map((line) => `${line}; echo`).join("\n"));
    expect(pasted).toMatchObject({ code: 0, stderr: "" });
    const [published, received, settled] = pasted.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(published).toMatchObject({ messages: [{ partitionKey: "order-1", duplicate: false }] });
    expect(received).toMatchObject({
      deliveries: [{ id: published.messages[0].id, attempt: 1, body: { total: 42 } }],
      partitions: ["order-1"],
    });
    const { receipt } = received.deliveries[0];
    expect(settled).toEqual({ results: [{ receipt, status: "ok" }] });

    server.child.kill("SIGINT");
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("installs once only, and finds its data again", async () => {
    const { dataDir, run } = await makeClone();
    const first = run(["start"]);
    await first.printed(LAST_WORDS);
    const [publish = "", receive = "", settle = ""] = first.stdout().match(/^curl .*$/gm) ?? [];
    await paste(publish);
    first.child.kill("SIGTERM");
    expect(await first.ended).toMatchObject({ code: 0, stderr: "" });

    const second = run(["start"]);
    await second.printed(LAST_WORDS);
    expect(await withPlaceholders(second, dataDir)).toBe((await recorded()).replace(INSTALLING, ""));
    const moved = (line: string) => line.replaceAll(urlOf(first), urlOf(second));
    const reply = JSON.parse((await paste(moved(receive))).stdout);
    expect(reply.deliveries).toMatchObject([{ body: { total: 42 } }]);
    const settled = JSON.parse((await paste(moved(settle))).stdout);
    expect(settled.results).toMatchObject([{ status: "ok" }]);
  });

  test("shows what npm said when the install fails", async () => {
    const { run } = await makeClone();
    const { code, stderr } = await run(["start"], { FAIL_INSTALL: "yes" }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/npm warn this and that ci .*\nnpm ci failed/);
  });

  test("takes the runtime down with it, however it ends", async () => {
    const { run } = await makeClone();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"] as const) {
      const server = run(["start"]);
      await server.printed(LAST_WORDS);
      const { runtime } = processesOf(server);
      expect(isRunning(runtime)).toBe(true);
      server.child.kill(signal);
      await server.ended;
      await until(`the runtime ends after ${signal}`, async () => !isRunning(runtime));
    }
  });

  test("takes the runtime down with it when its inner process is killed outright", async () => {
    const { run } = await makeClone();
    const server = run(["start"]);
    await server.printed(LAST_WORDS);
    const { server: inner, runtime } = processesOf(server);
    process.kill(inner, "SIGKILL");
    expect((await server.ended).code).toBe(1);
    await until("the runtime ends", async () => !isRunning(runtime));
  });

  test("ends with 1 and says so when the runtime dies by itself", async () => {
    const { run } = await makeClone();
    const server = run(["start"]);
    await server.printed(LAST_WORDS);
    process.kill(processesOf(server).runtime, "SIGKILL");
    const { code, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(stderr).toBe("Fairlane: the runtime ended by itself (SIGKILL): start again; the data is kept\n");
  });

  test("warns loudly of AUTH=off, and then asks for no token", async () => {
    const { run } = await makeClone();
    const server = run(["start"], { AUTH: "off", MQ_TENANTS: "solo" });
    await server.printed(LAST_WORDS);
    expect(server.stderr()).toMatch(/^WARNING: AUTH=off.*\n$/);
    const reply = await fetch(`${urlOf(server)}/v1/tenants/solo/topics`);
    expect([reply.status, await reply.json()]).toEqual([200, { topics: [] }]);
  });

  test.each([
    ["a tenant that cannot be", { MQ_TENANTS: "demo,Not Good" }, /MQ_TENANTS: tenant "Not Good" must match/],
    ["a port that cannot be", { PORT: "eight" }, /PORT "eight" must be/],
    ["a host that cannot be", { HOST: "nowhere.example" }, /HOST "nowhere\.example" must be/],
    [
      "AUTH=off for the world",
      { AUTH: "off", HOST: "0.0.0.0" },
      /AUTH=off is allowed on a loopback host only/,
    ],
    ["another word for AUTH", { AUTH: "none" }, /AUTH "none" must be off/],
  ])("refuses %s in one line", async (_what, env, line) => {
    const { run } = await makeClone();
    const { code, stdout, stderr } = await run(["start"], env as Record<string, string>).ended;
    expect([code, stdout.replace(INSTALLING, "")]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`^Fairlane: ${line.source}.*\\n$`));
  });

  test("refuses a port in use and a data folder that is none, in one line", async () => {
    const { folder, run } = await makeClone();
    const port = await takenPort();
    const taken = await run(["start"], { PORT: String(port) }).ended;
    expect(taken).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Fairlane: port \d+ .* is in use: .*\n$/),
    });
    await writeFile(join(folder, "file"), "");
    const unwritable = await run(["start"], { FAIRLANE_DATA: join(folder, "file/data") }).ended;
    expect(unwritable).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Fairlane: the data folder .* cannot be written \(ENOTDIR\): .*\n$/),
    });
  });
});

describe("npm run token", () => {
  test("mints what the server accepts, for one tenant only", async () => {
    const { run } = await makeClone();
    const server = run(["start"]);
    await server.printed(LAST_WORDS);
    const { code, stdout, stderr } = await run(["token", "--tenant", "acme", "--scope", "consume"]).ended;
    expect([code, stderr]).toEqual([0, ""]);
    const list = (tenant: string) =>
      fetch(`${urlOf(server)}/v1/tenants/${tenant}/topics`, {
        headers: { authorization: `Bearer ${stdout.trim()}` },
      });
    expect([(await list("acme")).status, (await list("demo")).status]).toEqual([200, 403]);
  });

  test.each([
    [[], /--tenant is missing/],
    [["--tenant", "acme", "--scope", "write"], /scope "write" must be some of/],
    [["--tenant", "acme", "--ttl", "soon"], /ttl "soon" must be like/],
    [["--tenant", "acme", "--colour", "red"], /Unknown option '--colour'/],
    [["--tenant", "acme"], /holds no secret yet: run npm start once, or set AUTH_SECRET/],
  ])("refuses %j in one line", async (args, line) => {
    const { run } = await makeClone();
    const { code, stderr } = await run(["token", ...args]).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^Fairlane: .*${line.source}.*\\n$`));
  });
});
