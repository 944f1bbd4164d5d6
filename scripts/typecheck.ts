import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

/** Checks the types of every part: the dashboard is for browsers, and the examples know the client as its users do. */
const ROOT = resolve(import.meta.dirname, "..");
const PROJECTS = [".", "src/dashboard", "examples"];

for (const project of PROJECTS) {
  const { status } = spawnSync(
    process.execPath,
    [resolve(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", resolve(ROOT, project)],
    { cwd: ROOT, stdio: "inherit" },
  );
  if (status !== 0) process.exitCode = 1;
}
