import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("the demo tells its story, and every check of its summary holds", async () => {
  // A port where nothing listens, so that it starts a server of its own.
  const env = { ...process.env, PORT: "1" };
  const { stdout, stderr } = await run(process.execPath, ["scripts/demo.ts", "--quick"], { env });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/== Summary: 11 checks, 0 failed/);
  expect(stdout).not.toContain("NOT OK");
  for (const told of ["two workers", "dies", "cannot read", "redriven", "fails for every message"]) {
    expect(stdout).toContain(told);
  }
}, 120_000);
