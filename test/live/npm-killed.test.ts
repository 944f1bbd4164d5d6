import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";

const DEADLINE_MS = 20_000;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/healthz`)).ok;
  } catch {
    return false;
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + DEADLINE_MS; !(await condition()); await pause(50)) {
    if (Date.now() > endMs) throw new Error("it did not come to pass in time");
  }
}

test.each(["SIGKILL", "SIGTERM"] as const)(
  "npm itself ends by %s: the server goes with it, and the next start is on the same data",
  async (signal) => {
    const dataDir = mkdtempSync(join(tmpdir(), "fairlane-npm-"));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const start = () => {
      const npm = spawn("npm", ["start"], {
        env: { ...process.env, PORT: `${port}`, FAIRLANE_DATA: dataDir },
        stdio: ["ignore", "pipe", "ignore"],
      });
      let printed = "";
      npm.stdout.on("data", (chunk) => {
        printed += chunk;
      });
      return { npm, isReady: async () => printed.includes("is ready on") };
    };
    const first = start();
    await until(() => answers(url));
    // The token is there before the server answers.
    const token = readFileSync(join(dataDir, "token"), "utf8");
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const topic = `${url}/v1/tenants/demo/topics/t`;
    const body = JSON.stringify({ messages: [{ id: "kept", partitionKey: "k", body: 1 }] });
    expect((await fetch(`${topic}/messages`, { method: "POST", headers, body })).status).toBe(200);
    first.npm.kill(signal);
    // Started before the port is free: it waits a moment instead of refusing.
    const second = start();
    await until(second.isReady);
    expect((await fetch(`${topic}/message?id=kept&partitionKey=k`, { headers })).status).toBe(200);
    second.npm.kill("SIGTERM");
    await until(async () => !(await answers(url)));
    rmSync(dataDir, { recursive: true, force: true });
  },
  90_000,
);
