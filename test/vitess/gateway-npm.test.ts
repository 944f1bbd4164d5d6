import { spawn } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { startMariaDb } from "./mariadb.ts";

const DEADLINE_MS = 20_000;

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + DEADLINE_MS; !(await condition()); await pause(50)) {
    if (Date.now() > endMs) throw new Error("it did not come to pass in time");
  }
}

test.each(["SIGKILL", "SIGTERM"] as const)(
  "npm itself ends by %s: the gateway goes with it",
  async (signal) => {
    const database = await startMariaDb();
    try {
      await database.createDatabase("fairlane");
      const npm = spawn("npm", ["run", "--silent", "gateway", "--", "--port", "0", "--user", "u"], {
        env: { ...process.env, GATEWAY_DSN: database.dsn("fairlane"), GATEWAY_PASSWORD: "p" },
        stdio: ["ignore", "pipe", "ignore"],
      });
      let printed = "";
      npm.stdout.on("data", (chunk) => {
        printed += chunk;
      });
      await until(async () => printed.includes("DATABASE_URL="));
      const port = Number(/:(\d+)\s*$/.exec(printed)?.[1]);
      expect(await listens(port)).toBe(true);
      npm.kill(signal);
      await until(async () => !(await listens(port)));
    } finally {
      await database.stop();
    }
  },
);
