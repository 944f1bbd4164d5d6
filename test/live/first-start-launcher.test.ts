import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type LocalServer, type LocalServerOptions, startLocalServer } from "../../src/local/local-server.ts";
import { StartRefusal } from "../../src/local/start-refusal.ts";

const STAND_IN = resolve(import.meta.dirname, "first-start-worker.ts");

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "fairlane-launcher-"));
  const servers: LocalServer[] = [];
  onTestFinished(async () => {
    for (const server of servers) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const start = async (options: Partial<LocalServerOptions> = {}) => {
    const server = await startLocalServer({ dataDir: join(folder, "data"), entry: STAND_IN, ...options });
    servers.push(server);
    return server;
  };
  /** The message of the refusal that the start ends in. */
  const refusal = async (options: Partial<LocalServerOptions>): Promise<string> => {
    const error = await start(options).then(
      () => null,
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(StartRefusal);
    expect(error.message).not.toContain("\n");
    return error.message;
  };
  return { folder, start, refusal };
}

async function getJson(server: LocalServer, path: string): Promise<unknown> {
  return (await fetch(server.url + path)).json();
}

describe("the launcher", () => {
  test("binds the documented variables, and any text given", async () => {
    const { start } = await setup();
    const odd = 'quote " backslash \\ line\nend é 😀';
    const server = await start({
      tenants: ["a", "b"],
      authSecret: "given",
      authOff: true,
      env: { ODD: odd },
    });
    expect(await getJson(server, "/variables")).toEqual({
      TENANT: null,
      GC_REGISTRY: null,
      SPLIT_MANAGER: null,
      MESSAGE_LOG: "object",
      MQ_TENANTS: "a,b",
      AUTH: "off",
      AUTH_SECRET: "given",
      FAIRLANE_LOOPBACK: "true",
      ODD: odd,
    });
  });

  test("says nothing of loopback or AUTH when neither holds", async () => {
    const { start } = await setup();
    const variables = await getJson(await start({ host: "0.0.0.0" }), "/variables");
    expect(variables).not.toHaveProperty("FAIRLANE_LOOPBACK");
    expect(variables).not.toHaveProperty("AUTH");
  });

  test("keeps secret and token private, and the secret from start to start", async () => {
    const { start } = await setup();
    const first = await start();
    const files = ["secret", "token", "worker/workerd.capnp"].map((name) => join(first.dataDir, name));
    for (const file of files) expect((await stat(file)).mode & 0o777, file).toBe(0o600);
    expect(await readFile(join(first.dataDir, "token"), "utf8")).toBe(first.token);
    const secret = await readFile(join(first.dataDir, "secret"), "utf8");
    expect(secret).toMatch(/^[\w-]{43}$/);
    await first.stop();
    const again = await start();
    expect(await getJson(again, "/variables")).toMatchObject({ AUTH_SECRET: secret });
  });

  test("a server killed outright is served again on the same data", async () => {
    const { start } = await setup();
    const first = await start();
    expect([await getJson(first, "/"), await getJson(first, "/")]).toEqual([1, 2]);
    expect(await first.kill()).toEqual({ code: null, signal: "SIGKILL" });
    const second = await start();
    expect(await getJson(second, "/")).toBe(3);
    expect(second.pid).not.toBe(first.pid);
    expect(await second.stop()).toEqual({ code: 0, signal: null });
  });

  test("fires cron when told, and gives the Worker's reason when it fails", async () => {
    const { start } = await setup();
    const good = await start();
    expect(await good.fireCron()).toEqual({ ok: true });
    expect(await getJson(good, "/")).toBe(2);
    expect(good.output()).toContain("scheduled by * * * * *");
    await good.stop();
    expect(await good.fireCron()).toMatchObject({ ok: false });
    const bad = await start({ env: { FAIL_CRON: "yes" } });
    expect(await bad.fireCron()).toEqual({ ok: false, reason: "acme: no log" });
  });

  test("refuses a folder that another server uses, and takes it when that one is gone", async () => {
    const { start, refusal } = await setup();
    const first = await start();
    expect(await refusal({})).toContain("another server is using");
    await first.stop();
    await start();
  });

  test("refuses a port in use", async () => {
    const { folder, start, refusal } = await setup();
    const port = Number(new URL((await start()).url).port);
    expect(await refusal({ port, dataDir: join(folder, "other") })).toContain(
      `port ${port} of 127.0.0.1 is in use`,
    );
  });

  test("refuses a data folder that cannot be one", async () => {
    const { folder, refusal } = await setup();
    await writeFile(join(folder, "file"), "");
    const message = await refusal({ dataDir: join(folder, "file", "data") });
    expect(message).toMatch(/cannot be written \(ENOTDIR\): set FAIRLANE_DATA/);
  });

  test("refuses an empty secret file rather than sign with nothing", async () => {
    const { start, refusal } = await setup();
    const server = await start();
    await server.stop();
    await writeFile(join(server.dataDir, "secret"), "\n");
    expect(await refusal({})).toContain("is empty");
  });

  test("refuses AUTH=off on a host that is not loopback", async () => {
    const { refusal } = await setup();
    expect(await refusal({ authOff: true, host: "0.0.0.0" })).toContain("loopback");
  });

  test("refuses a Worker that does not build, load or answer, and leaves the folder free", async () => {
    const { folder, start, refusal } = await setup();
    const broken = join(folder, "broken.ts");
    await writeFile(broken, "export default {");
    expect(await refusal({ entry: broken })).toContain("does not build");
    await writeFile(broken, "throw new Error('not today'); export default {}");
    expect(await refusal({ entry: broken })).toContain("not today");
    expect(await refusal({ env: { UNHEALTHY: "yes" } })).toContain("/healthz answers 500 health");
    await start();
  });
});
